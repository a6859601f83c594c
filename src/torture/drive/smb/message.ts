// Messages of an SMB2 client, from [MS-SMB2] 2.2. Comments name the sections that define the offsets and numbers. It shares no
// code with the server that it checks.

export const COMMANDS = {
  NEGOTIATE: 0, SESSION_SETUP: 1, TREE_CONNECT: 3, CREATE: 5, CLOSE: 6, READ: 8, WRITE: 9, SET_INFO: 17,
} as const // prettier-ignore

/** [MS-ERREF] 2.3.1: those that say that an operation had no effect, and why. */
const REFUSALS: ReadonlyMap<number, string> = new Map([
  [0xc000_0034, 'OBJECT_NAME_NOT_FOUND'],
  [0xc000_0035, 'OBJECT_NAME_COLLISION'],
  [0xc000_0043, 'SHARING_VIOLATION'],
  [0xc000_0056, 'DELETE_PENDING'],
])

/** INSUFFICIENT_RESOURCES, IO_TIMEOUT, NETWORK_NAME_DELETED, INTERNAL_ERROR, USER_SESSION_DELETED: whether it had one is not said. */
export const UNKNOWN: ReadonlySet<number> = new Set([0xc000_009a, 0xc000_00b5, 0xc000_00c9, 0xc000_00e5, 0xc000_0203]) // prettier-ignore

export const SUCCESS = 0
export const PENDING = 0x103
export const MORE_PROCESSING_REQUIRED = 0xc000_0016
export const END_OF_FILE = 0xc000_0011

export function refusalName(status: number): string {
  return REFUSALS.get(status) ?? `0x${status.toString(16)}`
}

export const HEADER_BYTES = 64

export type RequestHeader = {
  readonly command: number
  readonly messageId: bigint
  readonly sessionId: bigint
  readonly treeId: number
}

/** 2.2.1.2 */
export function encodeRequest(header: RequestHeader, body: Buffer): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES)
  bytes.writeUInt32BE(0xfe53_4d42, 0)
  bytes.writeUInt16LE(64, 4)
  bytes.writeUInt16LE(1, 6)
  bytes.writeUInt16LE(header.command, 12)
  bytes.writeUInt16LE(64, 14)
  bytes.writeBigUInt64LE(header.messageId, 24)
  bytes.writeUInt32LE(header.treeId, 36)
  bytes.writeBigUInt64LE(header.sessionId, 40)
  return Buffer.concat([bytes, body])
}

const utf16 = (text: string): Buffer => Buffer.from(text, 'utf16le')

/** 2.2.3: dialect 3.1.1, with SHA-512 for its hash and AES-GMAC for signatures. */
export function negotiateBody(clientGuid: Buffer): Buffer {
  const body = Buffer.alloc(40)
  body.writeUInt16LE(36, 0)
  body.writeUInt16LE(1, 2)
  body.writeUInt16LE(1, 4)
  clientGuid.copy(body, 12)
  body.writeUInt32LE(HEADER_BYTES + body.length, 28)
  body.writeUInt16LE(2, 32)
  body.writeUInt16LE(0x0311, 36)
  const hash = Buffer.alloc(6 + 32)
  hash.writeUInt16LE(1, 0)
  hash.writeUInt16LE(32, 2)
  hash.writeUInt16LE(1, 4)
  return Buffer.concat([body, negotiateContext(1, hash), negotiateContext(8, Buffer.of(1, 0, 2, 0))]) // prettier-ignore
}

/** 2.2.3.1 */
function negotiateContext(type: number, content: Buffer): Buffer {
  const bytes = Buffer.alloc(8 + Math.ceil(content.length / 8) * 8)
  bytes.writeUInt16LE(type, 0)
  bytes.writeUInt16LE(content.length, 2)
  content.copy(bytes, 8)
  return bytes
}

/** 2.2.5 */
export function sessionSetupBody(token: Buffer): Buffer {
  const body = Buffer.alloc(24)
  body.writeUInt16LE(25, 0)
  body.writeUInt8(1, 3)
  body.writeUInt16LE(HEADER_BYTES + 24, 12)
  body.writeUInt16LE(token.length, 14)
  return Buffer.concat([body, token])
}

/** 2.2.6 */
export function securityTokenOf(message: Buffer): Buffer {
  const offset = message.readUInt16LE(HEADER_BYTES + 4)
  return message.subarray(offset, offset + message.readUInt16LE(HEADER_BYTES + 6))
}

/** 2.2.9 */
export function treeConnectBody(host: string, share: string): Buffer {
  const path = utf16(`\\\\${host}\\${share}`)
  const body = Buffer.alloc(8)
  body.writeUInt16LE(9, 0)
  body.writeUInt16LE(HEADER_BYTES + 8, 4)
  body.writeUInt16LE(path.length, 6)
  return Buffer.concat([body, path])
}

/** 2.2.13.1.1: FILE_READ_DATA, FILE_WRITE_DATA and DELETE, with FILE_READ_ATTRIBUTES. */
const ACCESS: Readonly<Record<string, number>> = { R: 0x1, W: 0x2, D: 0x1_0000 }
/** 2.2.13 */
const SHARE: Readonly<Record<string, number>> = { R: 1, W: 2, D: 4 }
const DISPOSITION = { open: 1, create: 2 } as const

export type Opening = {
  /** Letters: read, write, delete. */
  readonly access: string
  readonly share: string
  readonly disposition: keyof typeof DISPOSITION
}

const flags = (letters: string, of: Readonly<Record<string, number>>): number =>
  [...letters].reduce((sum, letter) => sum | (of[letter] ?? 0), 0)

/** 2.2.13: a file, not a directory, without an oplock. */
export function createBody(name: string, { access, share, disposition }: Opening): Buffer {
  const text = utf16(name)
  const body = Buffer.alloc(56)
  body.writeUInt16LE(57, 0)
  body.writeUInt32LE(2, 4)
  body.writeUInt32LE(flags(access, ACCESS) | 0x80, 24)
  body.writeUInt32LE(flags(share, SHARE), 32)
  body.writeUInt32LE(DISPOSITION[disposition], 36)
  body.writeUInt32LE(0x40, 40)
  body.writeUInt16LE(HEADER_BYTES + 56, 44)
  body.writeUInt16LE(text.length, 46)
  return Buffer.concat([body, text])
}

/** 2.2.14 */
export function fileIdOf(message: Buffer): Buffer {
  return Buffer.from(message.subarray(HEADER_BYTES + 64, HEADER_BYTES + 80))
}

/** 2.2.15 */
export function closeBody(fileId: Buffer): Buffer {
  const body = Buffer.alloc(24)
  body.writeUInt16LE(24, 0)
  fileId.copy(body, 8)
  return body
}

/** 2.2.19 */
export function readBody(fileId: Buffer, lengthBytes: number): Buffer {
  const body = Buffer.alloc(49)
  body.writeUInt16LE(49, 0)
  body.writeUInt32LE(lengthBytes, 4)
  fileId.copy(body, 16)
  return body
}

/** 2.2.20 */
export function contentIn(message: Buffer): Buffer {
  const offset = message.readUInt8(HEADER_BYTES + 2)
  return Buffer.from(message.subarray(offset, offset + message.readUInt32LE(HEADER_BYTES + 4)))
}

/** 2.2.21 */
export function writeBody(fileId: Buffer, offset: number, content: Uint8Array): Buffer {
  const body = Buffer.alloc(48)
  body.writeUInt16LE(49, 0)
  body.writeUInt16LE(HEADER_BYTES + 48, 2)
  body.writeUInt32LE(content.length, 4)
  body.writeBigUInt64LE(BigInt(offset), 8)
  fileId.copy(body, 16)
  return Buffer.concat([body, content])
}

/** 2.2.39, with FileRenameInformation ([MS-FSCC] 2.4.42): the target must not exist. */
export function renameBody(fileId: Buffer, to: string): Buffer {
  const [text, bytes] = [utf16(to), Buffer.alloc(20)]
  bytes.writeUInt32LE(text.length, 16)
  return setInfoBody(fileId, 10, Buffer.concat([bytes, text]))
}

/** 2.2.39, with FileDispositionInformation ([MS-FSCC] 2.4.11): deleted when it is closed. */
export function deleteBody(fileId: Buffer): Buffer {
  return setInfoBody(fileId, 13, Buffer.of(1))
}

function setInfoBody(fileId: Buffer, informationClass: number, content: Buffer): Buffer {
  const body = Buffer.alloc(32)
  body.writeUInt16LE(33, 0)
  body.writeUInt8(1, 2)
  body.writeUInt8(informationClass, 3)
  body.writeUInt32LE(content.length, 4)
  body.writeUInt16LE(HEADER_BYTES + 32, 8)
  fileId.copy(body, 16)
  return Buffer.concat([body, content])
}
