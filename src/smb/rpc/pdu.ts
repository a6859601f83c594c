// The packets of connection-oriented DCE/RPC (C706 12.6.4, [MS-RPCE] 2.2.2): decodes those of clients and encodes those
// of servers. There are no security trailers, since SMB has already signed the messages.
import { FAULT } from './rpc-fault.ts'

// prettier-ignore
const TYPE = {
  request: 0, response: 2, fault: 3, bind: 11, bindAck: 12, bindNak: 13,
  alterContext: 14, alterContextResponse: 15, auth3: 16, cancel: 18, orphaned: 19,
} as const

const FLAG = { first: 0x01, last: 0x02, didNotExecute: 0x20, objectUuid: 0x80 } as const

/** The largest fragment that we send and announce to receive ([MS-RPCE] 3.3.1.5.7: the same as in Windows). */
export const FRAGMENT_BYTES_MAX = 4280
/** The largest fragment that we accept: older clients send 5,840 bytes before they have our answer. */
const FRAGMENT_RECEIVED_BYTES_MAX = 5840
/** C706 12.6.3.1: MustRecvFragSize. */
const FRAGMENT_BYTES_MIN = 1432
const HEADER_BYTES = 16
const RESPONSE_HEADER_BYTES = 24

/** An interface or a transfer syntax: the 16 bytes of its UUID in hex, and `minor << 16 | major`. */
export type Syntax = { readonly uuid: string; readonly version: number }

export type ContextOffer = {
  readonly id: number
  readonly abstract: Syntax
  readonly transfers: readonly Syntax[]
}

export type Bind = {
  readonly kind: 'bind' | 'alterContext'
  readonly callId: number
  readonly fragmentBytesMax: number
  readonly contexts: readonly ContextOffer[]
}

export type RpcRequest = {
  readonly kind: 'request'
  readonly callId: number
  readonly contextId: number
  readonly operation: number
  readonly isFirst: boolean
  readonly isLast: boolean
  readonly stub: Uint8Array
}

export type Pdu =
  | Bind
  | RpcRequest
  /** There is nothing to cancel and nothing to authenticate. */
  | { readonly kind: 'ignored' }
  /** A bind that requests security or another version; the answer is a bind_nak. */
  | { readonly kind: 'refusedBind'; readonly callId: number; readonly reason: number }
  | { readonly kind: 'broken'; readonly callId: number }

/** The length of the packet that starts here: undefined if not known yet, 0 if it is invalid. */
export function pduLengthBytes(bytes: Uint8Array): number | undefined {
  if (bytes.length < 10) return undefined
  const lengthBytes = view(bytes).readUInt16LE(8)
  return lengthBytes < HEADER_BYTES || lengthBytes > FRAGMENT_RECEIVED_BYTES_MAX ? 0 : lengthBytes
}

export const BIND_NAK = { unspecified: 0, version: 4, authentication: 8 } as const

/** Decodes a whole packet, of the length of `pduLengthBytes`. */
export function decodePdu(bytes: Uint8Array): Pdu {
  const packet = view(bytes)
  const [type, callId] = [packet.readUInt8(2), packet.readUInt32LE(12)]
  const isBind = type === TYPE.bind || type === TYPE.alterContext
  // Version 5.0 or 5.1, integers little-endian, characters ASCII.
  if (packet.readUInt8(0) !== 5 || packet.readUInt8(1) > 1 || packet.readUInt8(4) !== 0x10) {
    return isBind ? { kind: 'refusedBind', callId, reason: BIND_NAK.version } : broken(callId)
  }
  if (type === TYPE.auth3 || type === TYPE.cancel || type === TYPE.orphaned) {
    return { kind: 'ignored' }
  }
  if (packet.readUInt16LE(10) !== 0) {
    return isBind
      ? { kind: 'refusedBind', callId, reason: BIND_NAK.authentication }
      : broken(callId)
  }
  if (isBind) return decodeBind(packet, type === TYPE.bind ? 'bind' : 'alterContext')
  return type === TYPE.request ? decodeRequest(packet) : broken(callId)
}

const broken = (callId: number): Pdu => ({ kind: 'broken', callId })

const view = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

function decodeRequest(packet: Buffer): Pdu {
  const flags = packet.readUInt8(3)
  const stubOffset = RESPONSE_HEADER_BYTES + ((flags & FLAG.objectUuid) === 0 ? 0 : 16)
  if (packet.length < stubOffset) return broken(packet.readUInt32LE(12))
  return {
    kind: 'request',
    callId: packet.readUInt32LE(12),
    contextId: packet.readUInt16LE(20),
    operation: packet.readUInt16LE(22),
    isFirst: (flags & FLAG.first) !== 0,
    isLast: (flags & FLAG.last) !== 0,
    stub: packet.subarray(stubOffset),
  }
}

function decodeBind(packet: Buffer, kind: Bind['kind']): Pdu {
  const callId = packet.readUInt32LE(12)
  if (packet.length < 28) return broken(callId)
  const contexts: ContextOffer[] = []
  let offset = 28
  for (let left = packet.readUInt8(24); left > 0; left -= 1) {
    if (offset + 24 > packet.length) return broken(callId)
    const end = offset + 24 + 20 * packet.readUInt8(offset + 2)
    if (end > packet.length) return broken(callId)
    contexts.push(decodeContext(packet.subarray(offset, end)))
    offset = end
  }
  // We send no fragments larger than the client receives.
  const receivedMax = packet.readUInt16LE(18)
  const fragmentBytesMax = Math.min(Math.max(receivedMax, FRAGMENT_BYTES_MIN), FRAGMENT_BYTES_MAX)
  return { kind, callId, fragmentBytesMax, contexts }
}

function decodeContext(bytes: Buffer): ContextOffer {
  const count = bytes.readUInt8(2)
  return {
    id: bytes.readUInt16LE(0),
    abstract: decodeSyntax(bytes.subarray(4, 24)),
    transfers: Array.from({ length: count }, (_, i) =>
      decodeSyntax(bytes.subarray(24 + 20 * i, 44 + 20 * i)),
    ),
  }
}

const decodeSyntax = (bytes: Buffer): Syntax => ({
  uuid: bytes.toString('hex', 0, 16),
  version: bytes.readUInt32LE(16),
})

export type ContextResult = {
  readonly result: number
  readonly reason: number
  readonly transfer: Syntax | undefined
}

export function encodeBindAck(
  bind: Bind,
  secondaryAddress: string,
  results: readonly ContextResult[],
): Uint8Array {
  const fixed = Buffer.alloc(10)
  fixed.writeUInt16LE(bind.fragmentBytesMax, 0)
  fixed.writeUInt16LE(FRAGMENT_BYTES_MAX, 2)
  fixed.writeUInt32LE(ASSOCIATION_GROUP, 4)
  // C706 12.6.4.4: only the answer to a bind names the endpoint.
  const address =
    bind.kind === 'bind' ? Buffer.from(`${secondaryAddress}\0`, 'latin1') : Buffer.alloc(0)
  fixed.writeUInt16LE(address.length, 8)
  const padding = Buffer.alloc(-(HEADER_BYTES + fixed.length + address.length) & 3)
  const count = Buffer.from([results.length, 0, 0, 0])
  const body = Buffer.concat([fixed, address, padding, count, ...results.map(encodeResult)])
  const type = bind.kind === 'bind' ? TYPE.bindAck : TYPE.alterContextResponse
  return encodePdu(type, FLAG.first | FLAG.last, bind.callId, body)
}

// Any nonzero number: no context handle outlives its connection.
const ASSOCIATION_GROUP = 0x00005a4c

function encodeResult({ result, reason, transfer }: ContextResult): Uint8Array {
  const bytes = Buffer.alloc(24)
  bytes.writeUInt16LE(result, 0)
  bytes.writeUInt16LE(reason, 2)
  if (transfer !== undefined) {
    bytes.set(Buffer.from(transfer.uuid, 'hex'), 4)
    bytes.writeUInt32LE(transfer.version, 20)
  }
  return bytes
}

export function encodeBindNak(callId: number, reason: number): Uint8Array {
  // The reason, and the only supported version: 5.0.
  const body = Buffer.from([reason, 0, 1, 5, 0, 0, 0, 0])
  return encodePdu(TYPE.bindNak, FLAG.first | FLAG.last, callId, body)
}

type Call = { readonly callId: number; readonly contextId: number }

/** One packet per fragment. All except the last contain a multiple of 8 bytes of the stub. */
export function encodeResponse(
  { callId, contextId }: Call,
  stub: Uint8Array,
  fragmentBytesMax: number,
): readonly Uint8Array[] {
  const stepBytes = (fragmentBytesMax - RESPONSE_HEADER_BYTES) & ~7
  const count = Math.max(1, Math.ceil(stub.length / stepBytes))
  return Array.from({ length: count }, (_, i) => {
    const part = stub.subarray(i * stepBytes, (i + 1) * stepBytes)
    const head = Buffer.alloc(8)
    head.writeUInt32LE(stub.length - i * stepBytes, 0)
    head.writeUInt16LE(contextId, 4)
    const flags = (i === 0 ? FLAG.first : 0) | (i === count - 1 ? FLAG.last : 0)
    return encodePdu(TYPE.response, flags, callId, Buffer.concat([head, part]))
  })
}

export function encodeFault({ callId, contextId }: Call, status: number): Uint8Array {
  const body = Buffer.alloc(16)
  body.writeUInt32LE(32, 0)
  body.writeUInt16LE(contextId, 4)
  body.writeUInt32LE(status, 8)
  const unstarted = status === FAULT.operationRange || status === FAULT.unknownInterface
  const flags = FLAG.first | FLAG.last | (unstarted ? FLAG.didNotExecute : 0)
  return encodePdu(TYPE.fault, flags, callId, body)
}

function encodePdu(type: number, flags: number, callId: number, body: Uint8Array): Uint8Array {
  const head = Buffer.from([5, 0, type, flags, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
  head.writeUInt16LE(HEADER_BYTES + body.length, 8)
  head.writeUInt32LE(callId, 12)
  return Buffer.concat([head, body])
}
