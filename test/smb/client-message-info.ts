// More messages of an SMB2 client, from [MS-SMB2] 2.2 and [MS-FSCC]: locks, properties, directories, changes,
// breaks and snapshots.
import { utf16 } from './client-message.ts'

const HEADER_BYTES = 64

/** LOCK_* flags, [MS-SMB2] 2.2.26.1; except for `waiting`, an unavailable lock is refused at once. */
export const LOCK = { shared: 0x11, exclusive: 0x12, unlock: 0x4, waiting: 0x2 } as const

/** 2.2.26 */
export function lockBody(
  fileId: Buffer,
  offset: number,
  lengthBytes: number,
  flags: number,
): Buffer {
  const body = Buffer.alloc(48)
  body.writeUInt16LE(48, 0)
  body.writeUInt16LE(1, 2)
  fileId.copy(body, 8)
  body.writeBigUInt64LE(BigInt(offset), 24)
  body.writeBigUInt64LE(BigInt(lengthBytes), 32)
  body.writeUInt32LE(flags, 40)
  return body
}

export const INFO_TYPE = { file: 1, fileSystem: 2, security: 3 } as const
/** [MS-FSCC] 2.4 and 2.5 */
export const FILE_CLASS = {
  basic: 4,
  standard: 5,
  rename: 10,
  disposition: 13,
  allocation: 19,
  endOfFile: 20,
} as const
export const VOLUME_CLASS = { fullSize: 7 } as const

/** 2.2.39 */
export function setInfoBody(
  fileId: Buffer,
  type: number,
  informationClass: number,
  content: Buffer,
  additional = 0,
): Buffer {
  const body = Buffer.alloc(32)
  body.writeUInt16LE(33, 0)
  body.writeUInt8(type, 2)
  body.writeUInt8(informationClass, 3)
  body.writeUInt32LE(content.length, 4)
  body.writeUInt16LE(HEADER_BYTES + 32, 8)
  body.writeUInt32LE(additional, 12)
  fileId.copy(body, 16)
  return Buffer.concat([body, content])
}

/** 2.2.37 */
export function queryInfoBody(
  fileId: Buffer,
  type: number,
  informationClass: number,
  additional = 0,
): Buffer {
  const body = Buffer.alloc(41)
  body.writeUInt16LE(41, 0)
  body.writeUInt8(type, 2)
  body.writeUInt8(informationClass, 3)
  body.writeUInt32LE(0xffff, 4)
  body.writeUInt32LE(additional, 16)
  fileId.copy(body, 24)
  return body
}

/** 2.2.34, 2.2.36, 2.2.38, which have the same format. */
export function decodeOutput(message: Buffer): Buffer {
  const offset = message.readUInt16LE(HEADER_BYTES + 2)
  return message.subarray(offset, offset + message.readUInt32LE(HEADER_BYTES + 4))
}

/** [MS-FSCC] 2.4.42.2 */
export function renameBytes(name: string, replaces: boolean): Buffer {
  const text = utf16(name)
  const bytes = Buffer.alloc(20)
  bytes.writeUInt8(replaces ? 1 : 0, 0)
  bytes.writeUInt32LE(text.length, 16)
  return Buffer.concat([bytes, text])
}

export type Basic = {
  readonly creationMs?: number
  readonly lastWriteMs?: number
  readonly attributes?: number
}

const MS_TO_1970 = 11_644_473_600_000

function filetimeOf(ms: number | undefined): bigint {
  return ms === undefined ? 0n : BigInt(ms + MS_TO_1970) * 10_000n
}

function msOf(filetime: bigint): number {
  return Number(filetime / 10_000n) - MS_TO_1970
}

/** [MS-FSCC] 2.4.7; zeros change nothing. */
export function basicBytes({ creationMs, lastWriteMs, attributes = 0 }: Basic): Buffer {
  const bytes = Buffer.alloc(40)
  bytes.writeBigUInt64LE(filetimeOf(creationMs), 0)
  bytes.writeBigUInt64LE(filetimeOf(lastWriteMs), 16)
  bytes.writeUInt32LE(attributes, 32)
  return bytes
}

export function decodeBasic(bytes: Buffer): Required<Basic> {
  return {
    creationMs: msOf(bytes.readBigUInt64LE(0)),
    lastWriteMs: msOf(bytes.readBigUInt64LE(16)),
    attributes: bytes.readUInt32LE(32),
  }
}

/** 2.2.33, with FILE_NAMES_INFORMATION; can restart from the beginning. */
export function queryDirectoryBody(fileId: Buffer, pattern: string, restarts: boolean): Buffer {
  const text = utf16(pattern)
  const body = Buffer.alloc(32)
  body.writeUInt16LE(33, 0)
  body.writeUInt8(12, 2)
  body.writeUInt8(restarts ? 1 : 0, 3)
  fileId.copy(body, 8)
  body.writeUInt16LE(HEADER_BYTES + 32, 24)
  body.writeUInt16LE(text.length, 26)
  body.writeUInt32LE(0xffff, 28)
  return Buffer.concat([body, text])
}

/** [MS-FSCC] 2.4.33: the offset of the next entry, an index, and the name. */
export function decodeNames(bytes: Buffer): string[] {
  return chain(bytes, (entry) => entry.toString('utf16le', 12, 12 + entry.readUInt32LE(8)))
}

/** 2.2.35 */
export function changeNotifyBody(fileId: Buffer, filter: number, watchesTree: boolean): Buffer {
  const body = Buffer.alloc(32)
  body.writeUInt16LE(32, 0)
  body.writeUInt16LE(watchesTree ? 1 : 0, 2)
  body.writeUInt32LE(0xffff, 4)
  fileId.copy(body, 8)
  body.writeUInt32LE(filter, 24)
  return body
}

const ACTIONS = ['', 'added', 'removed', 'modified', 'from', 'to'] as const

/** [MS-FSCC] 2.7.1: `added name`, … */
export function decodeChanges(bytes: Buffer): string[] {
  return chain(bytes, (entry) => {
    const name = entry.toString('utf16le', 12, 12 + entry.readUInt32LE(8))
    return `${ACTIONS[entry.readUInt32LE(4)]} ${name}`
  })
}

function chain<T>(bytes: Buffer, decode: (entry: Buffer) => T): T[] {
  const all: T[] = []
  for (let at = 0; at < bytes.length;) {
    const entry = bytes.subarray(at)
    all.push(decode(entry))
    const next = entry.readUInt32LE(0)
    if (next === 0) break
    at += next
  }
  return all
}

/** A break of an oplock or lease. */
export type CacheBreak =
  | { readonly kind: 'oplock'; readonly fileId: Buffer; readonly to: number }
  | {
      readonly kind: 'lease'
      readonly key: Buffer
      readonly from: number
      readonly to: number
      readonly isAcknowledged: boolean
    }

/** 2.2.23.1 and 2.2.23.2 */
export function decodeBreak(message: Buffer): CacheBreak {
  const at = HEADER_BYTES
  if (message.readUInt16LE(at) === 24) {
    const fileId = Buffer.from(message.subarray(at + 8, at + 24))
    return { kind: 'oplock', fileId, to: message.readUInt8(at + 2) }
  }
  return {
    kind: 'lease',
    isAcknowledged: (message.readUInt32LE(at + 4) & 1) !== 0,
    key: Buffer.from(message.subarray(at + 8, at + 24)),
    from: message.readUInt32LE(at + 24),
    to: message.readUInt32LE(at + 28),
  }
}

/** 2.2.24.1 and 2.2.24.2: acknowledges the state of the break, or another one. */
export function acknowledgeBody(broken: CacheBreak, to: number = broken.to): Buffer {
  if (broken.kind === 'oplock') {
    const body = Buffer.alloc(24)
    body.writeUInt16LE(24, 0)
    body.writeUInt8(to, 2)
    broken.fileId.copy(body, 8)
    return body
  }
  const body = Buffer.alloc(36)
  body.writeUInt16LE(36, 0)
  broken.key.copy(body, 8)
  body.writeUInt32LE(to, 24)
  return body
}

/** FSCTLs, 2.2.31 and [MS-FSCC] 2.3 */
export const FSCTL = {
  enumerateSnapshots: 0x14_4064,
  requestResumeKey: 0x14_0078,
  copyChunkWrite: 0x14_80f2,
  setZero: 0x9_80c8,
} as const

/** 2.2.31 */
export function ioctlBody(fileId: Buffer, code: number, input: Buffer = Buffer.alloc(0)): Buffer {
  const body = Buffer.alloc(56)
  body.writeUInt16LE(57, 0)
  body.writeUInt32LE(code, 4)
  fileId.copy(body, 8)
  body.writeUInt32LE(HEADER_BYTES + 56, 24)
  body.writeUInt32LE(input.length, 28)
  body.writeUInt32LE(0xffff, 44)
  body.writeUInt32LE(1, 48)
  return Buffer.concat([body, input.length === 0 ? Buffer.alloc(1) : input])
}

export function enumerateSnapshotsBody(fileId: Buffer): Buffer {
  return ioctlBody(fileId, FSCTL.enumerateSnapshots)
}

/** 2.2.31.1: one chunk, from the start of the source to the start of the target. */
export function copyChunkBytes(resumeKey: Buffer, lengthBytes: number): Buffer {
  const bytes = Buffer.alloc(32 + 24)
  resumeKey.copy(bytes, 0, 0, 24)
  bytes.writeUInt32LE(1, 24)
  bytes.writeUInt32LE(lengthBytes, 32 + 16)
  return bytes
}

/** 2.2.32.2: counts, a length, and zero-terminated texts. */
export function decodeSnapshots(message: Buffer): string[] {
  const offset = message.readUInt32LE(HEADER_BYTES + 32)
  const output = message.subarray(offset, offset + message.readUInt32LE(HEADER_BYTES + 36))
  const text = output.toString('utf16le', 12, 12 + output.readUInt32LE(8))
  return text.split('\0').filter((label) => label !== '')
}
