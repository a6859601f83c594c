// Direct TCP framing, [MS-SMB2] 2.1: a zero byte, a 24-bit big-endian length, the message. A message within one chunk is
// a view of it. One that spans chunks is copied into a growing buffer, so that neither many small chunks nor a large
// announced length cost more than the bytes that were received.
import { WireError } from './error.ts'

const FRAME_PREFIX_BYTES = 4
const LENGTH_MAX = 0xffffff
/** At least a protocol id. */
const MESSAGE_MIN_BYTES = 4
const FIRST_CAPACITY_BYTES = 1024 * 1024

export type FrameReader = {
  /** The messages that this chunk completes. Throws a WireError if the connection must be closed. */
  readonly push: (chunk: Buffer) => readonly Buffer[]
  /** The memory of the incomplete message. */
  readonly heldBytes: () => number
}

/**
 * `messageMaxBytes` is called for each message, since the limit grows when the client logs in. `take` gives a buffer of
 * at least that length from a pool, if there is one.
 */
export function frameReader(
  messageMaxBytes: () => number,
  take: (lengthBytes: number) => Buffer<ArrayBuffer> | undefined = () => undefined,
): FrameReader {
  let pending = Buffer.alloc(0)
  let pendingBytes = 0

  const append = (bytes: Buffer, expectedBytes: number) => {
    const needed = pendingBytes + bytes.length
    if (needed > pending.length) {
      const doubled = Math.max(FIRST_CAPACITY_BYTES, 2 * pending.length, needed)
      const capacity = Math.max(Math.min(doubled, expectedBytes), needed)
      const grown = take(expectedBytes) ?? Buffer.allocUnsafeSlow(capacity)
      pending.copy(grown, 0, 0, pendingBytes)
      pending = grown
    }
    bytes.copy(pending, pendingBytes)
    pendingBytes = needed
  }

  /** Adds to the incomplete message the bytes that belong to it, and returns their number. */
  const complete = (chunk: Buffer, messages: Buffer[]): number => {
    let consumed = 0
    if (pendingBytes < FRAME_PREFIX_BYTES) {
      consumed = Math.min(FRAME_PREFIX_BYTES - pendingBytes, chunk.length)
      append(chunk.subarray(0, consumed), FRAME_PREFIX_BYTES)
      if (pendingBytes < FRAME_PREFIX_BYTES) return consumed
    }
    const frameBytes = FRAME_PREFIX_BYTES + decodePrefix(pending, 0, messageMaxBytes())
    const rest = chunk.subarray(consumed, consumed + frameBytes - pendingBytes)
    append(rest, frameBytes)
    if (pendingBytes === frameBytes) {
      messages.push(pending.subarray(FRAME_PREFIX_BYTES, frameBytes))
      pending = Buffer.alloc(0)
      pendingBytes = 0
    }
    return consumed + rest.length
  }

  const push = (chunk: Buffer): readonly Buffer[] => {
    const messages: Buffer[] = []
    let at = pendingBytes > 0 ? complete(chunk, messages) : 0
    while (chunk.length - at >= FRAME_PREFIX_BYTES) {
      const start = at + FRAME_PREFIX_BYTES
      const end = start + decodePrefix(chunk, at, messageMaxBytes())
      if (end > chunk.length) break
      messages.push(chunk.subarray(start, end))
      at = end
    }
    if (at < chunk.length) complete(chunk.subarray(at), messages)
    return messages
  }
  return { push, heldBytes: () => pending.length }
}

function decodePrefix(buffer: Buffer, at: number, messageMaxBytes: number): number {
  const prefix = buffer.readUInt32BE(at)
  // A nonzero first byte is a NetBIOS session service packet, which port 445 does not support.
  if (prefix > LENGTH_MAX) throw new WireError('INVALID_PARAMETER')
  if (prefix < MESSAGE_MIN_BYTES || prefix > messageMaxBytes)
    throw new WireError('INVALID_PARAMETER')
  return prefix
}

export function encodeFramePrefix(messageBytes: number): Buffer {
  if (messageBytes > LENGTH_MAX) throw new RangeError(`a frame of ${messageBytes} bytes`)
  const prefix = Buffer.alloc(FRAME_PREFIX_BYTES)
  prefix.writeUInt32BE(messageBytes, 0)
  return prefix
}
