// Messages of an SMB2 client, written from [MS-SMB2] 2.2 and not from src/smb/wire, so that a mistake in one of them
// shows. Comments name the sections that define the offsets and numbers.

export const COMMANDS = {
  NEGOTIATE: 0,
  SESSION_SETUP: 1,
  TREE_CONNECT: 3,
  CREATE: 5,
  CLOSE: 6,
  READ: 8,
  WRITE: 9,
  LOCK: 10,
  IOCTL: 11,
  QUERY_DIRECTORY: 14,
  CHANGE_NOTIFY: 15,
  QUERY_INFO: 16,
  SET_INFO: 17,
  OPLOCK_BREAK: 18,
} as const

/** [MS-ERREF] 2.3.1: the statuses that tests use. */
const STATUSES: ReadonlyMap<number, string> = new Map([
  [0x0, 'SUCCESS'],
  [0x103, 'PENDING'],
  [0x10b, 'NOTIFY_CLEANUP'],
  [0x10c, 'NOTIFY_ENUM_DIR'],
  [0x8000_0006, 'NO_MORE_FILES'],
  [0xc000_000d, 'INVALID_PARAMETER'],
  [0xc000_000f, 'NO_SUCH_FILE'],
  [0xc000_0011, 'END_OF_FILE'],
  [0xc000_0016, 'MORE_PROCESSING_REQUIRED'],
  [0xc000_0022, 'ACCESS_DENIED'],
  [0xc000_0033, 'OBJECT_NAME_INVALID'],
  [0xc000_0034, 'OBJECT_NAME_NOT_FOUND'],
  [0xc000_0035, 'OBJECT_NAME_COLLISION'],
  [0xc000_003a, 'OBJECT_PATH_NOT_FOUND'],
  [0xc000_0043, 'SHARING_VIOLATION'],
  [0xc000_0054, 'FILE_LOCK_CONFLICT'],
  [0xc000_0055, 'LOCK_NOT_GRANTED'],
  [0xc000_0056, 'DELETE_PENDING'],
  [0xc000_007e, 'RANGE_NOT_LOCKED'],
  [0xc000_007f, 'DISK_FULL'],
  [0xc000_009a, 'INSUFFICIENT_RESOURCES'],
  [0xc000_00a2, 'MEDIA_WRITE_PROTECTED'],
  [0xc000_00b5, 'IO_TIMEOUT'],
  [0xc000_00c9, 'NETWORK_NAME_DELETED'],
  [0xc000_00cc, 'BAD_NETWORK_NAME'],
  [0xc000_00e5, 'INTERNAL_ERROR'],
  [0xc000_0101, 'DIRECTORY_NOT_EMPTY'],
  [0xc000_0120, 'CANCELLED'],
  [0xc000_0121, 'CANNOT_DELETE'],
  [0xc000_0128, 'FILE_CLOSED'],
])

export function statusName(status: number): string {
  return STATUSES.get(status) ?? `0x${status.toString(16)}`
}

/** DesiredAccess, 2.2.13.1.1 */
export const ACCESS = {
  read: 0x1,
  write: 0x2,
  append: 0x4,
  readAttributes: 0x80,
  writeAttributes: 0x100,
  delete: 0x1_0000,
  readControl: 0x2_0000,
  writeDac: 0x4_0000,
  synchronize: 0x10_0000,
  all: 0x1f_01ff,
} as const

/** ShareAccess, 2.2.13 */
export const SHARE = { none: 0, R: 1, W: 2, D: 4, RW: 3, RD: 5, WD: 6, RWD: 7 } as const

export const DISPOSITION = { supersede: 0, open: 1, create: 2, openIf: 3, overwrite: 4 } as const
export const OPTION = { directory: 0x1, nonDirectory: 0x40, deleteOnClose: 0x1000 } as const
export const OPLOCK = { none: 0, ii: 1, exclusive: 8, batch: 9, lease: 0xff } as const
/** LeaseState, 2.2.13.2.8 */
export const LEASE = { none: 0, R: 1, RH: 3, RW: 5, RWH: 7 } as const
export const ATTRIBUTE = { readOnly: 0x1, hidden: 0x2, archive: 0x20, normal: 0x80 } as const
/** CompletionFilter, 2.2.35 */
export const NOTIFY = { fileName: 0x1, directoryName: 0x2, size: 0x8, lastWrite: 0x10 } as const

const HEADER_BYTES = 64

export type RequestHeader = {
  readonly command: number
  readonly messageId: bigint
  readonly sessionId: bigint
  readonly treeId: number
  readonly creditCharge: number
}

/** 2.2.1.2; with enough credits for everything that a test sends at once. */
export function encodeRequest(header: RequestHeader, body: Buffer): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES)
  bytes.writeUInt32BE(0xfe53_4d42, 0)
  bytes.writeUInt16LE(64, 4)
  bytes.writeUInt16LE(header.creditCharge, 6)
  bytes.writeUInt16LE(header.command, 12)
  bytes.writeUInt16LE(256, 14)
  bytes.writeBigUInt64LE(header.messageId, 24)
  bytes.writeUInt32LE(header.treeId, 36)
  bytes.writeBigUInt64LE(header.sessionId, 40)
  return Buffer.concat([bytes, body])
}

export const utf16 = (text: string): Buffer => Buffer.from(text, 'utf16le')

/** 2.2.3; 3.1.1 has contexts for the hash (SHA-512) and the signature (AES-GMAC). */
export function negotiateBody(dialect: number, clientGuid: Buffer): Buffer {
  const body = Buffer.alloc(40)
  body.writeUInt16LE(36, 0)
  body.writeUInt16LE(1, 2)
  body.writeUInt16LE(1, 4)
  // SMB2_GLOBAL_CAP_LEASING and LARGE_MTU
  body.writeUInt32LE(0x6, 8)
  clientGuid.copy(body, 12)
  body.writeUInt16LE(dialect, 36)
  if (dialect !== 0x0311) return body.subarray(0, 38)
  body.writeUInt32LE(HEADER_BYTES + body.length, 28)
  body.writeUInt16LE(2, 32)
  const hash = Buffer.alloc(6 + 32)
  hash.writeUInt16LE(1, 0)
  hash.writeUInt16LE(32, 2)
  hash.writeUInt16LE(1, 4)
  return Buffer.concat([
    body,
    negotiateContext(1, hash),
    negotiateContext(8, Buffer.of(1, 0, 2, 0)),
  ])
}

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
export function treeConnectBody(share: string): Buffer {
  const path = utf16(`\\\\127.0.0.1\\${share}`)
  const body = Buffer.alloc(8)
  body.writeUInt16LE(9, 0)
  body.writeUInt16LE(HEADER_BYTES + 8, 4)
  body.writeUInt16LE(path.length, 6)
  return Buffer.concat([body, path])
}

export type OpenTerms = {
  readonly access?: number
  readonly share?: number
  readonly disposition?: number
  readonly options?: number
  readonly attributes?: number
  readonly oplock?: number
  /** Requests a lease instead of an oplock. */
  readonly lease?: { readonly key: Buffer; readonly state: number }
  /** Requests a handle that survives its connection. */
  readonly durable?: boolean
}

/** 2.2.13; by default for reading and with full sharing. */
export function createBody(name: string, terms: OpenTerms): Buffer {
  const { lease } = terms
  const text = utf16(name)
  const body = Buffer.alloc(56)
  body.writeUInt16LE(57, 0)
  body.writeUInt8(lease === undefined ? (terms.oplock ?? OPLOCK.none) : OPLOCK.lease, 3)
  body.writeUInt32LE(2, 4)
  body.writeUInt32LE(terms.access ?? ACCESS.read, 24)
  body.writeUInt32LE(terms.attributes ?? 0, 28)
  body.writeUInt32LE(terms.share ?? SHARE.RWD, 32)
  body.writeUInt32LE(terms.disposition ?? DISPOSITION.open, 36)
  body.writeUInt32LE(terms.options ?? 0, 40)
  body.writeUInt16LE(HEADER_BYTES + 56, 44)
  body.writeUInt16LE(text.length, 46)
  const padded = Buffer.alloc(Math.max(8, Math.ceil(text.length / 8) * 8))
  text.copy(padded)
  const contexts = contextsOf(terms)
  if (contexts.length === 0) return Buffer.concat([body, padded])
  body.writeUInt32LE(HEADER_BYTES + 56 + padded.length, 48)
  body.writeUInt32LE(contexts.length, 52)
  return Buffer.concat([body, padded, contexts])
}

function contextsOf({ lease, durable = false }: OpenTerms): Buffer {
  const contexts = [
    ...(lease === undefined ? [] : [createContext('RqLs', leaseBytes(lease.key, lease.state))]),
    // 2.2.13.2.3: only zeros.
    ...(durable ? [createContext('DHnQ', Buffer.alloc(16))] : []),
  ]
  for (const context of contexts.slice(0, -1)) context.writeUInt32LE(context.length, 0)
  return Buffer.concat(contexts)
}

/** 2.2.13.2 */
function createContext(name: string, content: Buffer): Buffer {
  const bytes = Buffer.alloc(24)
  bytes.writeUInt16LE(16, 4)
  bytes.writeUInt16LE(4, 6)
  bytes.writeUInt16LE(24, 10)
  bytes.writeUInt32LE(content.length, 12)
  bytes.write(name, 16, 'latin1')
  return Buffer.concat([bytes, content])
}

/** 2.2.13.2.8 */
function leaseBytes(key: Buffer, state: number): Buffer {
  const bytes = Buffer.alloc(32)
  key.copy(bytes)
  bytes.writeUInt32LE(state, 16)
  return bytes
}

export type OpenAnswer = {
  readonly fileId: Buffer
  readonly oplock: number
  readonly leaseState: number | undefined
  readonly isDurable: boolean
  readonly lengthBytes: number
  readonly attributes: number
}

/** 2.2.14 */
export function decodeCreated(message: Buffer): OpenAnswer {
  const at = HEADER_BYTES
  const contexts = message.readUInt32LE(at + 80)
  const granted = message.subarray(contexts, contexts + message.readUInt32LE(at + 84))
  const lease = granted.indexOf('RqLs', 0, 'latin1')
  return {
    oplock: message.readUInt8(at + 2),
    lengthBytes: Number(message.readBigUInt64LE(at + 48)),
    attributes: message.readUInt32LE(at + 56),
    fileId: Buffer.from(message.subarray(at + 64, at + 80)),
    // The data starts 8 bytes after the name.
    leaseState: lease < 0 ? undefined : granted.readUInt32LE(lease + 8 + 16),
    isDurable: granted.includes('DHnQ', 0, 'latin1'),
  }
}

/** 2.2.15 */
export function closeBody(fileId: Buffer): Buffer {
  const body = Buffer.alloc(24)
  body.writeUInt16LE(24, 0)
  fileId.copy(body, 8)
  return body
}

/** 2.2.19 */
export function readBody(fileId: Buffer, offset: number, lengthBytes: number): Buffer {
  const body = Buffer.alloc(49)
  body.writeUInt16LE(49, 0)
  body.writeUInt32LE(lengthBytes, 4)
  body.writeBigUInt64LE(BigInt(offset), 8)
  fileId.copy(body, 16)
  return body
}

/** 2.2.20 */
export function decodeRead(message: Buffer): Buffer {
  const offset = message.readUInt8(HEADER_BYTES + 2)
  return Buffer.from(message.subarray(offset, offset + message.readUInt32LE(HEADER_BYTES + 4)))
}

/** 2.2.21 */
export function writeBody(fileId: Buffer, offset: number, content: Buffer): Buffer {
  const body = Buffer.alloc(48)
  body.writeUInt16LE(49, 0)
  body.writeUInt16LE(HEADER_BYTES + 48, 2)
  body.writeUInt32LE(content.length, 4)
  body.writeBigUInt64LE(BigInt(offset), 8)
  fileId.copy(body, 16)
  return Buffer.concat([body, content])
}
