// MD4 (RFC 1320). NTLM hashes passwords with it, and OpenSSL 3 no longer offers it by default. Security does not
// rest on MD4: the password of an account is a key of 64 random bytes.

type Round = {
  readonly mix: (b: number, c: number, d: number) => number
  readonly addend: number
  readonly order: readonly number[]
  readonly shifts: readonly number[]
}

/** RFC 1320, 3.4: the three rounds of sixteen steps. */
const ROUNDS: readonly Round[] = [
  {
    mix: (b, c, d) => (b & c) | (~b & d),
    addend: 0,
    order: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    shifts: [3, 7, 11, 19],
  },
  {
    mix: (b, c, d) => (b & c) | (b & d) | (c & d),
    addend: 0x5a827999,
    order: [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15],
    shifts: [3, 5, 9, 13],
  },
  {
    mix: (b, c, d) => b ^ c ^ d,
    addend: 0x6ed9eba1,
    order: [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15],
    shifts: [3, 9, 11, 15],
  },
]

const BLOCK_BYTES = 64

export function md4(bytes: Uint8Array): Buffer {
  const padded = pad(bytes)
  const state = Int32Array.of(0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476)
  for (let offset = 0; offset < padded.length; offset += BLOCK_BYTES) {
    compress(state, padded.subarray(offset, offset + BLOCK_BYTES))
  }
  const digest = Buffer.alloc(16)
  for (const [index, word] of state.entries()) digest.writeInt32LE(word, index * 4)
  return digest
}

/** A bit 1, zeros, and the length in bits as 64 bits: RFC 1320, 3.1 and 3.2. */
function pad(bytes: Uint8Array): Buffer {
  const blocks = Math.ceil((bytes.length + 9) / BLOCK_BYTES)
  const padded = Buffer.alloc(blocks * BLOCK_BYTES)
  padded.set(bytes)
  padded[bytes.length] = 0x80
  padded.writeBigUInt64LE(BigInt(bytes.length) * 8n, padded.length - 8)
  return padded
}

function compress(state: Int32Array, block: Buffer): void {
  let [a = 0, b = 0, c = 0, d = 0] = state
  for (const { mix, addend, order, shifts } of ROUNDS) {
    for (const [step, word] of order.entries()) {
      const sum = (a + mix(b, c, d) + block.readInt32LE(word * 4) + addend) | 0
      const shift = shifts[step % 4] ?? 0
      ;[a, b, c, d] = [d, (sum << shift) | (sum >>> (32 - shift)), b, c]
    }
  }
  for (const [index, word] of [a, b, c, d].entries()) state[index] = (state[index] ?? 0) + word
}
