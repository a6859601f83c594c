// The 64-byte SMB2 header, [MS-SMB2] 2.2.1, and compounds, 3.3.5.2.7. The asynchronous form has an AsyncId where the
// synchronous one has Reserved and TreeId. Status and ChannelSequence are the same field.
import { alignTo, HEADER_BYTES, paddingTo } from './body.ts'
import { WireError } from './error.ts'

export const PROTOCOL_ID = {
  smb1: 0x424d53ff,
  smb2: 0x424d53fe,
  transform: 0x424d53fd,
  compressed: 0x424d53fc,
}

export const COMMAND = {
  NEGOTIATE: 0,
  SESSION_SETUP: 1,
  LOGOFF: 2,
  TREE_CONNECT: 3,
  TREE_DISCONNECT: 4,
  CREATE: 5,
  CLOSE: 6,
  FLUSH: 7,
  READ: 8,
  WRITE: 9,
  LOCK: 10,
  IOCTL: 11,
  CANCEL: 12,
  ECHO: 13,
  QUERY_DIRECTORY: 14,
  CHANGE_NOTIFY: 15,
  QUERY_INFO: 16,
  SET_INFO: 17,
  OPLOCK_BREAK: 18,
} as const

export const HEADER_FLAG = {
  serverToRedir: 0x00000001,
  async: 0x00000002,
  related: 0x00000004,
  signed: 0x00000008,
  priorityMask: 0x00000070,
  dfs: 0x10000000,
  replay: 0x20000000,
} as const

export const SIGNATURE_OFFSET = 48

export type Smb2Header = {
  readonly creditCharge: number
  /** In a request of 3.x, the low half is the ChannelSequence. */
  readonly status: number
  readonly command: number
  /** Requested in a request, granted in a response. */
  readonly credits: number
  readonly flags: number
  readonly nextCommand: number
  readonly messageId: bigint
  /** Zero in the asynchronous form, which has no room for it. */
  readonly treeId: number
  /** Present if and only if the ASYNC flag is set. */
  readonly asyncId: bigint | undefined
  readonly sessionId: bigint
  readonly signature: Buffer
}

/** The protocol that the first four bytes name; undefined if unknown. */
export function protocolOf(message: Buffer): keyof typeof PROTOCOL_ID | undefined {
  if (message.length < 4) return undefined
  const id = message.readUInt32LE(0)
  if (id === PROTOCOL_ID.smb2) return 'smb2'
  if (id === PROTOCOL_ID.transform) return 'transform'
  if (id === PROTOCOL_ID.smb1) return 'smb1'
  return id === PROTOCOL_ID.compressed ? 'compressed' : undefined
}

export function decodeHeader(message: Buffer): Smb2Header {
  checkHeader(message)
  const flags = message.readUInt32LE(16)
  const isAsync = (flags & HEADER_FLAG.async) !== 0
  return {
    creditCharge: message.readUInt16LE(6),
    status: message.readUInt32LE(8),
    command: message.readUInt16LE(12),
    credits: message.readUInt16LE(14),
    flags,
    nextCommand: message.readUInt32LE(20),
    messageId: message.readBigUInt64LE(24),
    treeId: isAsync ? 0 : message.readUInt32LE(36),
    asyncId: isAsync ? message.readBigUInt64LE(32) : undefined,
    sessionId: message.readBigUInt64LE(40),
    signature: message.subarray(SIGNATURE_OFFSET, HEADER_BYTES),
  }
}

/** The ChannelSequence of a 3.x request. */
export function channelSequence(header: Pick<Smb2Header, 'status'>): number {
  return header.status & 0xffff
}

function checkHeader(message: Buffer): void {
  const whole = message.length >= HEADER_BYTES && message.readUInt32LE(0) === PROTOCOL_ID.smb2
  if (!whole || message.readUInt16LE(4) !== HEADER_BYTES) throw new WireError('INVALID_PARAMETER')
}

/** The signature is zero. It is written in place once the whole message is encoded. */
export function encodeHeader(header: Omit<Smb2Header, 'signature'>): Buffer {
  const isAsync = header.asyncId !== undefined
  const bytes = Buffer.alloc(HEADER_BYTES)
  bytes.writeUInt32LE(PROTOCOL_ID.smb2, 0)
  bytes.writeUInt16LE(HEADER_BYTES, 4)
  bytes.writeUInt16LE(header.creditCharge, 6)
  bytes.writeUInt32LE(header.status, 8)
  bytes.writeUInt16LE(header.command, 12)
  bytes.writeUInt16LE(header.credits, 14)
  const flags = isAsync ? header.flags | HEADER_FLAG.async : header.flags & ~HEADER_FLAG.async
  bytes.writeUInt32LE(flags >>> 0, 16)
  bytes.writeUInt32LE(header.nextCommand, 20)
  bytes.writeBigUInt64LE(header.messageId, 24)
  if (header.asyncId !== undefined) bytes.writeBigUInt64LE(header.asyncId, 32)
  else bytes.writeUInt32LE(header.treeId, 36)
  bytes.writeBigUInt64LE(header.sessionId, 40)
  return bytes
}

/**
 * The messages of a compound, each with its padding, which is signed too. NextCommand must be 8-aligned and point to
 * another whole header inside the frame.
 */
export function splitCompound(frame: Buffer): readonly Buffer[] {
  const messages: Buffer[] = []
  let rest = frame
  for (;;) {
    checkHeader(rest)
    const next = rest.readUInt32LE(20)
    if (next === 0) break
    if (next % 8 !== 0 || next < HEADER_BYTES || next > rest.length - HEADER_BYTES) {
      throw new WireError('INVALID_PARAMETER')
    }
    messages.push(rest.subarray(0, next))
    rest = rest.subarray(next)
  }
  messages.push(rest)
  return messages
}

/** One message to send, in pieces so that a READ's bytes are not copied; the first one starts with the header. */
export type MessagePieces = readonly [Buffer, ...Buffer[]]

/** Pads every message except the last to 8 bytes and writes NextCommand into the headers. Sign afterwards. */
export function joinCompound(messages: readonly MessagePieces[]): readonly MessagePieces[] {
  return messages.map((pieces, index) => {
    const lengthBytes = pieces.reduce((sum, piece) => sum + piece.length, 0)
    const isLast = index === messages.length - 1
    pieces[0].writeUInt32LE(isLast ? 0 : alignTo(lengthBytes, 8), 20)
    if (isLast || lengthBytes % 8 === 0) return pieces
    return [...pieces, paddingTo(lengthBytes, 8)] as const
  })
}
