// Arrays in PostgreSQL's binary format. The driver would send them as text, with bytes as hexadecimal digits.
//
//   i32 dimensions (0 if empty, else 1)   i32 whether there are nulls   u32 type of the elements
//   i32 count   i32 lower bound           then for each element: i32 length (-1 for null), its bytes

/** https://www.postgresql.org/docs/15/catalog-pg-type.html: the types' fixed object ids. */
const BYTEA = 17
const INT8 = 20
const INT4 = 23

const HEAD_BYTES = 20

function begin(type: number, count: number, bodyBytes: number): Buffer {
  const array = Buffer.allocUnsafe(HEAD_BYTES + bodyBytes)
  array.writeInt32BE(count === 0 ? 0 : 1, 0)
  array.writeInt32BE(1, 4)
  array.writeUInt32BE(type, 8)
  array.writeInt32BE(count, 12)
  array.writeInt32BE(1, 16)
  return count === 0 ? array.subarray(0, 12) : array
}

export function byteaArray(values: readonly (Uint8Array | undefined)[]): Buffer {
  let bodyBytes = 4 * values.length
  for (const value of values) bodyBytes += value?.length ?? 0
  const array = begin(BYTEA, values.length, bodyBytes)
  let at = HEAD_BYTES
  for (const value of values) {
    at = array.writeInt32BE(value?.length ?? -1, at)
    if (value === undefined) continue
    array.set(value, at)
    at += value.length
  }
  return array
}

/** Integers up to 2^53. */
export function bigintArray(values: readonly (number | undefined)[]): Buffer {
  let bodyBytes = 0
  for (const value of values) bodyBytes += value === undefined ? 4 : 12
  const array = begin(INT8, values.length, bodyBytes)
  let at = HEAD_BYTES
  for (const value of values) {
    at = array.writeInt32BE(value === undefined ? -1 : 8, at)
    if (value === undefined) continue
    at = array.writeInt32BE(Math.floor(value / 2 ** 32), at)
    at = array.writeUInt32BE(value >>> 0, at)
  }
  return array
}

export function integerArray(values: readonly number[]): Buffer {
  const array = begin(INT4, values.length, 8 * values.length)
  let at = HEAD_BYTES
  for (const value of values) {
    at = array.writeInt32BE(4, at)
    at = array.writeInt32BE(value, at)
  }
  return array
}

/** Bytes as the server sends them in text format. */
export function byteaOf(text: string): Buffer {
  return Buffer.from(text.slice(2), 'hex')
}
