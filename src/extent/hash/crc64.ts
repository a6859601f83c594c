// CRC-64/NVME, the checksum of x-ms-content-crc64: reflected polynomial 9A6C9329AC4BC9B5, initial value and final XOR
// all ones. JavaScript has no fast 64-bit integers, so a value is two halves of 32 bits. Eight bytes are folded at a
// time with eight tables (slicing-by-8).

const POLYNOMIAL_HIGH = 0x9a6c9329
const POLYNOMIAL_LOW = 0xac4bc9b5
const STRIDE = 8

/** Table k, entry b: the CRC of byte b followed by k zero bytes. Eight tables of 256 entries. */
const LOW = new Int32Array(STRIDE * 256)
const HIGH = new Int32Array(STRIDE * 256)
for (let byte = 0; byte < 256; byte += 1) fillTables(byte)

export type Crc64 = {
  update(chunk: Uint8Array): void
  /** Eight bytes, little-endian, as Azure writes them in base64. */
  digest(): Buffer
}

export function createCrc64(): Crc64 {
  const state = { low: -1, high: -1 }
  return { update: (chunk) => update(state, chunk), digest: () => digest(state) }
}

export function crc64(bytes: Uint8Array): Buffer {
  const state = { low: -1, high: -1 }
  update(state, bytes)
  return digest(state)
}

type State = { low: number; high: number }

function update(state: State, bytes: Uint8Array): void {
  let { low, high } = state
  const end = bytes.length - (bytes.length % STRIDE)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  for (let at = 0; at < end; at += STRIDE) {
    const a = low ^ view.getInt32(at, true)
    const b = high ^ view.getInt32(at + 4, true)
    low = fold(LOW, a, b)
    high = fold(HIGH, a, b)
  }
  for (let at = end; at < bytes.length; at += 1) {
    const index = (low ^ view.getUint8(at)) & 0xff
    low = ((low >>> 8) | (high << 24)) ^ (LOW[index] ?? 0)
    high = (high >>> 8) ^ (HIGH[index] ?? 0)
  }
  state.low = low
  state.high = high
}

function digest({ low, high }: State): Buffer {
  const bytes = Buffer.allocUnsafe(8)
  bytes.writeInt32LE(~low, 0)
  bytes.writeInt32LE(~high, 4)
  return bytes
}

/** One half of the XOR of eight table entries; the first byte is followed by the most zeros. */
function fold(table: Int32Array, a: number, b: number): number {
  return (
    (table[0x700 | (a & 0xff)] ?? 0) ^
    (table[0x600 | ((a >>> 8) & 0xff)] ?? 0) ^
    (table[0x500 | ((a >>> 16) & 0xff)] ?? 0) ^
    (table[0x400 | (a >>> 24)] ?? 0) ^
    (table[0x300 | (b & 0xff)] ?? 0) ^
    (table[0x200 | ((b >>> 8) & 0xff)] ?? 0) ^
    (table[0x100 | ((b >>> 16) & 0xff)] ?? 0) ^
    (table[b >>> 24] ?? 0)
  )
}

function fillTables(byte: number): void {
  const state = { low: byte, high: 0 }
  for (let table = 0; table < STRIDE; table += 1) {
    shiftByte(state)
    LOW[table * 256 + byte] = state.low
    HIGH[table * 256 + byte] = state.high
  }
}

/** Shifts in one byte bit by bit, as CRCs are defined. */
function shiftByte(state: State): void {
  for (let bit = 0; bit < 8; bit += 1) {
    const carry = -(state.low & 1)
    state.low = ((state.low >>> 1) | (state.high << 31)) ^ (POLYNOMIAL_LOW & carry)
    state.high = (state.high >>> 1) ^ (POLYNOMIAL_HIGH & carry)
  }
}
