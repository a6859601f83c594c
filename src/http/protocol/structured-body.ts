// Structured messages (x-ms-structured-body): content in numbered segments, each with its CRC-64, and the CRC-64 of
// all content at the end. Encoding and decoding both stream and buffer no more than one chunk.
//   message: version u8 = 1, length u64, flags u16 (1: CRC-64), segment count u16, segments, CRC-64
//   segment: number u16 from 1, length of the content u64, content, CRC-64. Everything is little-endian.
import assert from 'node:assert/strict'
import { crc64Hasher } from '../../extent/hash/hash.ts'
import { invalidHeader, StorageError } from '../../storage/shared/error.ts'
import { optionalHeader, requiredInt, type HeaderFields } from './header.ts'

export const STRUCTURED_BODY = 'XSM/1.0; properties=crc64'

const VERSION = 1
const FLAG_CRC64 = 1
const HEADER_BYTES = 13
const SEGMENT_HEADER_BYTES = 10
const CRC64_BYTES = 8
/** The count is a u16. */
const SEGMENT_COUNT_MAX = 0xffff
/** As in the SDKs' uploads. */
const SEGMENT_BYTES = 4 * 1024 * 1024

/** Whether the client wants a download as a structured message. */
export function wantsStructuredBody(headers: HeaderFields): boolean {
  const text = optionalHeader(headers, 'x-ms-structured-body')
  if (text === undefined) return false
  if (!/^XSM\/1\.0;\s*properties=crc64$/i.test(text)) {
    throw invalidHeader('x-ms-structured-body', text)
  }
  return true
}

/** The length of the content inside an uploaded message; undefined if the body is plain. */
export function parseStructuredBodyHeader(
  headers: HeaderFields,
): { readonly contentBytes: number } | undefined {
  if (!wantsStructuredBody(headers)) return undefined
  return { contentBytes: requiredInt(headers, 'x-ms-structured-content-length') }
}

type StructuredLengths = {
  /** Content-Length: all bytes on the wire. */
  readonly messageBytes: number
  /** x-ms-structured-content-length. */
  readonly contentBytes: number
}

/**
 * Streams the content of a message. A wrong CRC-64 is only found after the content it covers, so callers must
 * not use any of it before the stream has ended without an error.
 */
export async function* decodeStructuredBody(
  source: AsyncIterable<Uint8Array>,
  expected: StructuredLengths,
): AsyncGenerator<Uint8Array> {
  const cursor = new ByteCursor(source)
  try {
    const segmentCount = decodeHeader(await take(cursor, HEADER_BYTES), expected)
    const message = crc64Hasher()
    let contentBytes = expected.contentBytes
    for (let number = 1; number <= segmentCount; number += 1) {
      const header = await take(cursor, SEGMENT_HEADER_BYTES)
      let segmentBytes = decodeSegmentHeader(header, number, contentBytes)
      contentBytes -= segmentBytes
      const segment = crc64Hasher()
      while (segmentBytes > 0) {
        const chunk = await cursor.some(segmentBytes)
        if (chunk === undefined) throw endsEarly()
        segmentBytes -= chunk.length
        segment.update(chunk)
        message.update(chunk)
        yield chunk
      }
      checkCrc64(await take(cursor, CRC64_BYTES), segment.digest())
    }
    if (contentBytes !== 0) throw malformed('Its segments are shorter than its content.')
    checkCrc64(await take(cursor, CRC64_BYTES), message.digest())
    if (!(await cursor.isAtEnd())) throw malformed('It is longer than it says.')
  } finally {
    await cursor.close()
  }
}

/** The length of `encodeStructuredBody`'s output: the Content-Length of the answer. */
export function structuredBodyLength(contentBytes: number, segmentBytes = SEGMENT_BYTES): number {
  return messageLength(contentBytes, segmentation(contentBytes, segmentBytes).segmentCount)
}

/**
 * Encodes a source of exactly `contentBytes` as a structured message. Chunks may come out in pieces, so the
 * output must not be used to recycle their memory.
 */
export async function* encodeStructuredBody(
  source: AsyncIterable<Uint8Array>,
  contentBytes: number,
  segmentBytes = SEGMENT_BYTES,
): AsyncGenerator<Uint8Array> {
  const cut = segmentation(contentBytes, segmentBytes)
  const cursor = new ByteCursor(source)
  try {
    const message = crc64Hasher()
    let leftBytes = contentBytes
    // The bytes between the contents of two segments are sent in one piece.
    let between = encodeHeader(contentBytes, cut.segmentCount)
    for (let number = 1; number <= cut.segmentCount; number += 1) {
      let lengthBytes = Math.min(cut.segmentBytes, leftBytes)
      leftBytes -= lengthBytes
      yield Buffer.concat([between, encodeSegmentHeader(number, lengthBytes)])
      const segment = crc64Hasher()
      while (lengthBytes > 0) {
        const chunk = await cursor.some(lengthBytes)
        assert(chunk !== undefined, 'the source is shorter than its length')
        lengthBytes -= chunk.length
        segment.update(chunk)
        message.update(chunk)
        yield chunk
      }
      between = segment.digest()
    }
    assert(await cursor.isAtEnd(), 'the source is longer than its length')
    yield Buffer.concat([between, message.digest()])
  } finally {
    await cursor.close()
  }
}

/**
 * Segments are longer if a u16 could not count them otherwise. Empty content is one empty segment: the SDKs'
 * decoders expect a segment header after the message header.
 */
function segmentation(
  contentBytes: number,
  segmentBytes: number,
): { readonly segmentCount: number; readonly segmentBytes: number } {
  assert(segmentBytes > 0)
  const longerBytes = Math.max(segmentBytes, Math.ceil(contentBytes / SEGMENT_COUNT_MAX))
  const segmentCount = Math.max(1, Math.ceil(contentBytes / longerBytes))
  return { segmentCount, segmentBytes: longerBytes }
}

function messageLength(contentBytes: number, segmentCount: number): number {
  const framesBytes = segmentCount * (SEGMENT_HEADER_BYTES + CRC64_BYTES)
  return HEADER_BYTES + framesBytes + contentBytes + CRC64_BYTES
}

function encodeHeader(contentBytes: number, segmentCount: number): Buffer {
  const header = Buffer.allocUnsafe(HEADER_BYTES)
  header.writeUInt8(VERSION, 0)
  header.writeBigUInt64LE(BigInt(messageLength(contentBytes, segmentCount)), 1)
  header.writeUInt16LE(FLAG_CRC64, 9)
  header.writeUInt16LE(segmentCount, 11)
  return header
}

function encodeSegmentHeader(number: number, lengthBytes: number): Buffer {
  const header = Buffer.allocUnsafe(SEGMENT_HEADER_BYTES)
  header.writeUInt16LE(number, 0)
  header.writeBigUInt64LE(BigInt(lengthBytes), 2)
  return header
}

/** Returns the number of segments. */
function decodeHeader(header: Buffer, { messageBytes, contentBytes }: StructuredLengths): number {
  if (header.readUInt8(0) !== VERSION) throw malformed('Its version is not known.')
  // The request's header says properties=crc64.
  if (header.readUInt16LE(9) !== FLAG_CRC64) throw malformed('Its flags are not those of crc64.')
  if (header.readBigUInt64LE(1) !== BigInt(messageBytes)) {
    throw malformed('Its length is not the Content-Length.')
  }
  const segmentCount = header.readUInt16LE(11)
  if (messageLength(contentBytes, segmentCount) !== messageBytes) {
    throw malformed('Its length is not that of its content and segments.')
  }
  return segmentCount
}

/** Returns the length of the segment. */
function decodeSegmentHeader(header: Buffer, number: number, contentBytesMax: number): number {
  if (header.readUInt16LE(0) !== number) throw malformed('A segment is out of order.')
  const lengthBytes = header.readBigUInt64LE(2)
  if (lengthBytes > BigInt(contentBytesMax))
    throw malformed('A segment is longer than the content.')
  return Number(lengthBytes)
}

function checkCrc64(sent: Buffer, computed: Buffer): void {
  if (sent.equals(computed)) return
  throw new StorageError('Crc64Mismatch', {
    UserSpecifiedCrc: sent.toString('base64'),
    ServerCalculatedCrc: computed.toString('base64'),
  })
}

async function take(cursor: ByteCursor, lengthBytes: number): Promise<Buffer> {
  const bytes = await cursor.take(lengthBytes)
  if (bytes === undefined) throw endsEarly()
  return bytes
}

function endsEarly(): StorageError {
  return malformed('It ends early.')
}

function malformed(reason: string): StorageError {
  return new StorageError('InvalidInput', {}, `The structured message is not valid. ${reason}`)
}

/** Reads a source in pieces of chosen length. `close` closes the source. */
class ByteCursor {
  readonly #chunks: AsyncIterator<Uint8Array>
  #chunk: Uint8Array = new Uint8Array(0)
  #isDone = false

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#chunks = source[Symbol.asyncIterator]()
  }

  /** The next bytes, at least one and at most `bytesMax`; undefined at the end. */
  async some(bytesMax: number): Promise<Uint8Array | undefined> {
    if (await this.isAtEnd()) return undefined
    const bytes = this.#chunk.subarray(0, bytesMax)
    this.#chunk = this.#chunk.subarray(bytes.length)
    return bytes
  }

  /** Exactly `lengthBytes` in one piece; undefined if the source ends before. */
  async take(lengthBytes: number): Promise<Buffer | undefined> {
    const bytes = Buffer.allocUnsafe(lengthBytes)
    let filledBytes = 0
    while (filledBytes < lengthBytes) {
      const more = await this.some(lengthBytes - filledBytes)
      if (more === undefined) return undefined
      bytes.set(more, filledBytes)
      filledBytes += more.length
    }
    return bytes
  }

  async isAtEnd(): Promise<boolean> {
    while (this.#chunk.length === 0 && !this.#isDone) {
      // A source that throws is done as well.
      this.#isDone = true
      const next = await this.#chunks.next()
      if (next.done === true) break
      this.#isDone = false
      this.#chunk = next.value
    }
    return this.#chunk.length === 0
  }

  async close(): Promise<void> {
    if (this.#isDone) return
    this.#isDone = true
    await this.#chunks.return?.()
  }
}
