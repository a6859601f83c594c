// Common to all bodies: the StructureSize rule, the bounds of the variable part, text and file offsets. Offsets count
// from the start of the message's 64-byte header. Every length and offset is checked before use.
import { WireError } from './error.ts'

export const HEADER_BYTES = 64

/** Stands for any file offset from here on, which is beyond any file (the largest is 4 TiB). */
export const BEYOND_ANY_FILE = Number.MAX_SAFE_INTEGER

/**
 * Checks StructureSize and that the fixed part is complete. An odd size includes the first byte of the variable part,
 * which may be missing if that part is empty.
 */
export function checkBody(message: Buffer, structureSize: number): void {
  checkRoom(message, HEADER_BYTES + fixedBytes(structureSize))
  if (message.readUInt16LE(HEADER_BYTES) !== structureSize) throw new WireError('INVALID_PARAMETER')
}

function fixedBytes(structureSize: number): number {
  return structureSize - (structureSize % 2)
}

export function checkRoom(buffer: Buffer, lengthBytes: number): void {
  if (buffer.length < lengthBytes) throw new WireError('INVALID_PARAMETER')
}

type Part = { readonly offset: number; readonly lengthBytes: number }

/** A view of the variable part. The offset of an empty part means nothing: clients send any value. */
export function variablePart(message: Buffer, structureSize: number, part: Part): Buffer {
  if (part.lengthBytes === 0) return message.subarray(0, 0)
  return boundedPart(message, HEADER_BYTES + fixedBytes(structureSize), part)
}

export function boundedPart(buffer: Buffer, offsetMin: number, part: Part): Buffer {
  const end = part.offset + part.lengthBytes
  if (part.offset < offsetMin || end > buffer.length) throw new WireError('INVALID_PARAMETER')
  return buffer.subarray(part.offset, end)
}

/** UTF-16LE as received, including lone surrogates: names are UTF-16 code units, not characters. */
export function decodeText(bytes: Buffer): string {
  if (bytes.length % 2 !== 0) throw new WireError('INVALID_PARAMETER')
  return bytes.toString('utf16le')
}

export function encodeText(text: string): Buffer {
  return Buffer.from(text, 'utf16le')
}

/** A LARGE_INTEGER that must not be negative: 2^63 and above are INVALID_PARAMETER. */
export function decodePositive(buffer: Buffer, at: number): bigint {
  const value = buffer.readBigInt64LE(at)
  if (value < 0n) throw new WireError('INVALID_PARAMETER')
  return value
}

export function clampToNumber(value: bigint): number {
  return value > BigInt(BEYOND_ANY_FILE) ? BEYOND_ANY_FILE : Number(value)
}

export function decodeU16List(buffer: Buffer, at: number, count: number): readonly number[] {
  checkRoom(buffer, at + 2 * count)
  return Array.from({ length: count }, (_, index) => buffer.readUInt16LE(at + 2 * index))
}

export function alignTo(lengthBytes: number, alignment: number): number {
  return Math.ceil(lengthBytes / alignment) * alignment
}

/** Zeros that pad a length to the alignment. */
export function paddingTo(lengthBytes: number, alignment: number): Buffer {
  return Buffer.alloc(alignTo(lengthBytes, alignment) - lengthBytes)
}

/** The response body of QUERY_DIRECTORY, CHANGE_NOTIFY and QUERY_INFO: {9, offset u16, length u32}. */
export function encodeOutputBuffer(output: Buffer): Buffer {
  const body = Buffer.alloc(8 + output.length)
  body.writeUInt16LE(9, 0)
  body.writeUInt16LE(HEADER_BYTES + 8, 2)
  body.writeUInt32LE(output.length, 4)
  output.copy(body, 8)
  return body
}
