// A file or directory that the tests' SMB client has open.
import {
  closeBody,
  COMMANDS,
  decodeRead,
  readBody,
  writeBody,
  type OpenAnswer,
} from './client-message.ts'
import {
  basicBytes,
  changeNotifyBody,
  decodeBasic,
  decodeChanges,
  decodeNames,
  decodeOutput,
  decodeSnapshots,
  enumerateSnapshotsBody,
  FILE_CLASS,
  INFO_TYPE,
  LOCK,
  lockBody,
  queryDirectoryBody,
  queryInfoBody,
  renameBytes,
  setInfoBody,
  VOLUME_CLASS,
  type Basic,
} from './client-message-info.ts'
import type { SmbClient } from './smb-client.ts'

const CREDIT_BYTES = 65_536
/** OWNER, GROUP and DACL_SECURITY_INFORMATION */
const DESCRIPTOR = 0x7

type Client = Pick<SmbClient, 'ask' | 'begin'>

export class SmbFile {
  readonly #client: Client
  readonly opened: OpenAnswer

  constructor(client: Client, opened: OpenAnswer) {
    this.#client = client
    this.opened = opened
  }

  get #id(): Buffer {
    return this.opened.fileId
  }

  async close(): Promise<void> {
    await this.#client.ask(COMMANDS.CLOSE, closeBody(this.#id))
  }

  async read(offset: number, lengthBytes: number): Promise<Buffer> {
    const charge = creditsOf(lengthBytes)
    const body = readBody(this.#id, offset, lengthBytes)
    return decodeRead(await this.#client.ask(COMMANDS.READ, body, charge))
  }

  async write(offset: number, content: string | Buffer): Promise<void> {
    const bytes = Buffer.from(content)
    const body = writeBody(this.#id, offset, bytes)
    await this.#client.ask(COMMANDS.WRITE, body, creditsOf(bytes.length))
  }

  async lock(offset: number, lengthBytes: number, flags: number = LOCK.exclusive): Promise<void> {
    await this.#client.ask(COMMANDS.LOCK, lockBody(this.#id, offset, lengthBytes, flags))
  }

  async unlock(offset: number, lengthBytes: number): Promise<void> {
    await this.lock(offset, lengthBytes, LOCK.unlock)
  }

  async rename(name: string, replaces = false): Promise<void> {
    await this.#set(FILE_CLASS.rename, renameBytes(name, replaces))
  }

  /** Marks it for deletion with its last handle, or removes the mark. */
  async setDisposition(isDeletePending: boolean): Promise<void> {
    await this.#set(FILE_CLASS.disposition, Buffer.of(isDeletePending ? 1 : 0))
  }

  async setBasic(basic: Basic): Promise<void> {
    await this.#set(FILE_CLASS.basic, basicBytes(basic))
  }

  async setLength(lengthBytes: number): Promise<void> {
    const bytes = Buffer.alloc(8)
    bytes.writeBigUInt64LE(BigInt(lengthBytes))
    await this.#set(FILE_CLASS.endOfFile, bytes)
  }

  async basic(): Promise<Required<Basic>> {
    return decodeBasic(await this.#query(INFO_TYPE.file, FILE_CLASS.basic))
  }

  /** FILE_STANDARD_INFORMATION.EndOfFile */
  async lengthBytes(): Promise<number> {
    const bytes = await this.#query(INFO_TYPE.file, FILE_CLASS.standard)
    return Number(bytes.readBigUInt64LE(8))
  }

  /** FILE_FS_FULL_SIZE_INFORMATION in bytes ([MS-FSCC] 2.5.4). */
  async volume(): Promise<{ readonly totalBytes: number; readonly freeBytes: number }> {
    const bytes = await this.#query(INFO_TYPE.fileSystem, VOLUME_CLASS.fullSize)
    const unitBytes = bytes.readUInt32LE(24) * bytes.readUInt32LE(28)
    return {
      totalBytes: Number(bytes.readBigUInt64LE(0)) * unitBytes,
      freeBytes: Number(bytes.readBigUInt64LE(8)) * unitBytes,
    }
  }

  /** Self-relative, [MS-DTYP] 2.4.6. */
  async descriptor(): Promise<Buffer> {
    return await this.#query(INFO_TYPE.security, 0, DESCRIPTOR)
  }

  async setDescriptor(bytes: Buffer): Promise<void> {
    const body = setInfoBody(this.#id, INFO_TYPE.security, 0, bytes, DESCRIPTOR)
    await this.#client.ask(COMMANDS.SET_INFO, body)
  }

  /** All names except `.` and `..`. */
  async names(): Promise<string[]> {
    const body = queryDirectoryBody(this.#id, '*', true)
    const found = decodeNames(decodeOutput(await this.#client.ask(COMMANDS.QUERY_DIRECTORY, body)))
    return found.filter((name) => name !== '.' && name !== '..')
  }

  /** `pending` resolves when the server watches. */
  watch(filter: number, watchesTree = false) {
    const body = changeNotifyBody(this.#id, filter, watchesTree)
    const { answer, pending } = this.#client.begin(COMMANDS.CHANGE_NOTIFY, body)
    return { pending, changes: answer.then((message) => decodeChanges(decodeOutput(message))) }
  }

  /** The names of the snapshots, `@GMT-…`. */
  async snapshots(): Promise<string[]> {
    const body = enumerateSnapshotsBody(this.#id)
    return decodeSnapshots(await this.#client.ask(COMMANDS.IOCTL, body))
  }

  async #set(informationClass: number, bytes: Buffer): Promise<void> {
    const body = setInfoBody(this.#id, INFO_TYPE.file, informationClass, bytes)
    await this.#client.ask(COMMANDS.SET_INFO, body)
  }

  async #query(type: number, informationClass: number, additional = 0): Promise<Buffer> {
    const body = queryInfoBody(this.#id, type, informationClass, additional)
    return Buffer.from(decodeOutput(await this.#client.ask(COMMANDS.QUERY_INFO, body)))
  }
}

/** [MS-SMB2] 3.1.5.2 */
function creditsOf(lengthBytes: number): number {
  return Math.max(1, Math.ceil(lengthBytes / CREDIT_BYTES))
}
