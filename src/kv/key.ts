// Tuple keys: a key is a list of strings and whole numbers, and keys sort like their parts. Strings
// sort by UTF-16 code unit, as JavaScript's `<` and Azure's ordinal order do.
//
//   number  0x01, 7 bytes big-endian                     0 … 2^53-1
//   string  0x02, its bytes with 00 as 00 FF, then 00    CESU-8
//
// CESU-8 is UTF-8, except that code points above U+FFFF are written as two surrogates of three bytes
// each. That makes byte order the order of UTF-16 code units, and 1,024 units at most 3,072 bytes.
//
//   [1]            01 00000000000001
//   ['a', 2]       02 61 00 01 00000000000002
//   ['a\0b']       02 61 00 ff 62 00
import assert from 'node:assert/strict'
import type { Key } from './kv.ts'

export type KeyPart = string | number

const NUMBER = 0x01
const STRING = 0x02
const TERMINATOR = 0x00
const ESCAPED = 0xff

/** LMDB pages of 8 KiB allow keys of 4,026 bytes. The longest key that valid names produce is well below that. */
export const KEY_LENGTH_MAX = 4_000

// Keys are views of a slab that they are written into one after another. A request makes a dozen, and allocating a
// buffer takes longer than filling it (180 → 136 ns).
const SLAB_BYTES = 1 << 18
/** More than any key needs before it is refused as too long. */
const ROOM_BYTES = 1 << 16
let slab = Buffer.allocUnsafeSlow(SLAB_BYTES)
let slabEnd = 0

/** Where the next key begins. */
function begin(): number {
  if (slabEnd > SLAB_BYTES - ROOM_BYTES) {
    slab = Buffer.allocUnsafeSlow(SLAB_BYTES)
    slabEnd = 0
  }
  return slabEnd
}

function take(start: number, end: number): Key {
  if (end - start > KEY_LENGTH_MAX) assert.fail(`a key of ${end - start} bytes`)
  slabEnd = end
  return slab.subarray(start, end)
}

export function encodeKey(...parts: readonly KeyPart[]): Key {
  const start = begin()
  return take(start, writeParts(parts, start))
}

function writeParts(parts: readonly KeyPart[], start: number): number {
  let end = start
  for (const part of parts) {
    if (typeof part === 'number') {
      end = writeNumber(part, end)
    } else {
      end = writeString(part, end)
      slab[end++] = TERMINATOR
    }
  }
  return end
}

/** The prefix of every key that consists of `parts` and a string that starts with `start`. */
export function encodeKeyPrefix(parts: readonly KeyPart[], start: string): Key {
  const from = begin()
  return take(from, writeString(start, writeParts(parts, from)))
}

/** A string as it appears inside a key. */
export function encodeString(text: string): Uint8Array {
  return encodeKeyPrefix([], text).subarray(1)
}

export function decodeKey(key: Key): KeyPart[] {
  const bytes = asBuffer(key)
  const parts: KeyPart[] = []
  let at = 0
  while (at < bytes.length) {
    const code = bytes[at]
    assert(code === NUMBER || code === STRING, 'a key part is a number or a string')
    at += 1
    if (code === NUMBER) {
      parts.push(bytes.readUInt8(at) * 2 ** 48 + bytes.readUIntBE(at + 1, 6))
      at += 7
    } else {
      const end = stringEnd(bytes, at)
      parts.push(readString(bytes.subarray(at, end)))
      at = end + 1
    }
  }
  return parts
}

/** The last part of a key, a string that begins at byte `at`. */
export function lastKeyString(key: Key, at: number): string {
  const bytes = asBuffer(key)
  assert(bytes[at] === STRING, 'a string part begins here')
  const [start, end] = [at + 1, bytes.length - 1]
  const text = bytes.toString('latin1', start, end)
  return isPlain(text) ? text : readString(bytes.subarray(start, end))
}

/** ASCII without controls: each byte is its character. */
function isPlain(text: string): boolean {
  return /^[ -~]*$/.test(text)
}

export function compareKeys(a: Key, b: Key): number {
  return Buffer.compare(a, b)
}

/** A key as text, for maps. Names are in the order of their keys, and quicker to compare. */
export function keyName(key: Key): string {
  if (key !== lastNamed) {
    // Not `Buffer.from(key.buffer)` for what is a Buffer already: `buffer` of a small array takes microseconds.
    const bytes = Buffer.isBuffer(key) ? key : Buffer.from(key)
    lastName = bytes.toString('latin1')
    lastNamed = key
  }
  return lastName
}

// A transaction looks for the same key in several places in turn.
let lastNamed: Key | undefined
let lastName = ''

export function laterKey(a: Key, b: Key): Key {
  return compareKeys(a, b) < 0 ? b : a
}

export function earlierKey(a: Key, b: Key): Key {
  return compareKeys(a, b) < 0 ? a : b
}

function asBuffer(key: Key): Buffer {
  return Buffer.isBuffer(key) ? key : Buffer.from(key.buffer, key.byteOffset, key.byteLength)
}

function writeNumber(value: number, at: number): number {
  if (!Number.isSafeInteger(value) || value < 0) assert.fail(`${value} as a key part`)
  const high = Math.floor(value / 2 ** 32)
  slab[at] = NUMBER
  slab[at + 1] = high >>> 16
  slab[at + 2] = high >>> 8
  slab[at + 3] = high
  slab[at + 4] = value >>> 24
  slab[at + 5] = value >>> 16
  slab[at + 6] = value >>> 8
  slab[at + 7] = value
  return at + 8
}

function writeString(text: string, at: number): number {
  assert(text.length <= 4_096, 'a string in a key is short')
  slab[at] = STRING
  const start = at + 1
  const plainEnd = writePlain(text, start)
  if (plainEnd !== undefined) return plainEnd
  let end = start + slab.write(text, start, 'utf8')
  if (end - start !== text.length && /[\ud800-\udfff]/.test(text)) end = writeCesu8(text, start)
  return text.includes('\0') ? escapeZeros(start, end) : end
}

/** Fast path: for short ASCII strings a loop is cheaper than a call into the runtime. */
function writePlain(text: string, start: number): number | undefined {
  if (text.length > PLAIN_LENGTH_MAX) return undefined
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i)
    if (unit === 0 || unit >= 0x80) return undefined
    slab[start + i] = unit
  }
  return start + text.length
}

const PLAIN_LENGTH_MAX = 64

function writeCesu8(text: string, start: number): number {
  let end = start
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i)
    if (unit < 0x80) {
      slab[end++] = unit
    } else if (unit < 0x800) {
      slab[end++] = 0xc0 | (unit >> 6)
      slab[end++] = 0x80 | (unit & 0x3f)
    } else {
      slab[end++] = 0xe0 | (unit >> 12)
      slab[end++] = 0x80 | ((unit >> 6) & 0x3f)
      slab[end++] = 0x80 | (unit & 0x3f)
    }
  }
  return end
}

function escapeZeros(start: number, end: number): number {
  const plain = Buffer.from(slab.subarray(start, end))
  let at = start
  for (const byte of plain) {
    slab[at++] = byte
    if (byte === TERMINATOR) slab[at++] = ESCAPED
  }
  return at
}

function stringEnd(bytes: Buffer, start: number): number {
  let end = bytes.indexOf(TERMINATOR, start)
  while (end >= 0 && bytes[end + 1] === ESCAPED) end = bytes.indexOf(TERMINATOR, end + 2)
  assert(end >= 0, 'a string part has an end')
  return end
}

function readString(bytes: Buffer): string {
  let plain = bytes
  if (bytes.includes(TERMINATOR)) {
    plain = Buffer.from(
      bytes.filter((_, i) => i === 0 || bytes[i - 1] !== TERMINATOR || bytes[i] !== ESCAPED),
    )
  }
  // 0xED 0xA0.. begins a surrogate, which UTF-8 does not have.
  return plain.includes(0xed) ? readCesu8(plain) : plain.toString('utf8')
}

function readCesu8(bytes: Buffer): string {
  const units: number[] = []
  for (let i = 0; i < bytes.length;) {
    const a = bytes[i] ?? 0
    const b = (bytes[i + 1] ?? 0) & 0x3f
    if (a < 0x80) {
      units.push(a)
      i += 1
    } else if (a < 0xe0) {
      units.push(((a & 0x1f) << 6) | b)
      i += 2
    } else {
      units.push(((a & 0x0f) << 12) | (b << 6) | ((bytes[i + 2] ?? 0) & 0x3f))
      i += 3
    }
  }
  return String.fromCharCode(...units)
}
