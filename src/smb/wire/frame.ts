// Direct TCP framing, [MS-SMB2] 2.1: a zero byte, a 24-bit big-endian length, the message. A message that
// lies in one chunk is a view of it; one that straddles chunks is copied once into a buffer that grows, so
// that neither many small chunks nor a large announced length cost more than what really came.
import { WireError } from './error.ts'

export const FRAME_PREFIX_BYTES = 4
const LENGTH_MAX = 0xffffff
/** A protocol id at the least; what is shorter can't be any message. */
const MESSAGE_MIN_BYTES = 4
const FIRST_CAPACITY_BYTES = 1024 * 1024

export type FrameReader = {
  /** The whole messages that this chunk completes. It throws WireError when the connection must be cut. */
  readonly push: (chunk: Buffer) => readonly Buffer[]
  /** What the message that has begun and is not whole takes. */
  readonly heldBytes: () => number
}

/**
 * `messageMaxBytes` is asked for each message, for it may grow when the client has logged in. `take`: memory that was used before, if there is any with so much room.
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

  /** Adds to the straddling message what belongs to it, and says how many bytes of the chunk that took. */
  const complete = (chunk: Buffer, messages: Buffer[]): number => {
    let taken = 0
    if (pendingBytes < FRAME_PREFIX_BYTES) {
      taken = Math.min(FRAME_PREFIX_BYTES - pendingBytes, chunk.length)
      append(chunk.subarray(0, taken), FRAME_PREFIX_BYTES)
      if (pendingBytes < FRAME_PREFIX_BYTES) return taken
    }
    const frameBytes = FRAME_PREFIX_BYTES + decodePrefix(pending, 0, messageMaxBytes())
    const rest = chunk.subarray(taken, taken + frameBytes - pendingBytes)
    append(rest, frameBytes)
    if (pendingBytes === frameBytes) {
      messages.push(pending.subarray(FRAME_PREFIX_BYTES, frameBytes))
      pending = Buffer.alloc(0)
      pendingBytes = 0
    }
    return taken + rest.length
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
  // A nonzero first byte is a NetBIOS session service packet, which port 445 does not speak.
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
