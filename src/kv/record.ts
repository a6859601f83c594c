// How a value is written: a JSON object, and behind it raw bytes (a small body that lives in its
// record). The object comes first, so that a list reads it without touching the bytes.
//
//   u32 little-endian   length of the JSON
//   JSON, UTF-8
//   bytes to the end
import type { Value } from './kv.ts'

const NO_BYTES = new Uint8Array(0)

export function encodeRecord(fields: object, bytes: Uint8Array = NO_BYTES): Value {
  const json = JSON.stringify(fields)
  const jsonBytes = Buffer.byteLength(json)
  const value = Buffer.allocUnsafe(4 + jsonBytes + bytes.length)
  value.writeUInt32LE(jsonBytes, 0)
  // Where each character is a byte, they are copied as they are.
  value.write(json, 4, jsonBytes === json.length ? 'latin1' : 'utf8')
  value.set(bytes, 4 + jsonBytes)
  return value
}

/** The caller names the type that it wrote under this key; `lazuli fsck` checks what is there. */
export function decodeRecord<T>(value: Value): T {
  const buffer = asBuffer(value)
  return JSON.parse(buffer.toString('utf8', 4, 4 + buffer.readUInt32LE(0))) as T
}

/** Of the JSON alone; of what is no record, at most all of it. */
export function recordJsonBytes(value: Value): number {
  const { length } = value
  return length < 4 ? length : Math.min(asBuffer(value).readUInt32LE(0), length)
}

export function recordBytes(value: Value): Uint8Array {
  const buffer = asBuffer(value)
  // With its end: the store's own views are longer than what they show.
  return buffer.subarray(4 + buffer.readUInt32LE(0), buffer.length)
}

function asBuffer(value: Value): Buffer {
  if (Buffer.isBuffer(value)) return value
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
}
