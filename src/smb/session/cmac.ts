// AES-128-CMAC (RFC 4493), which node:crypto lacks, built on its AES-CBC. One cipher serves all messages of a key:
// instead of starting with a new IV, it XORs the last block of the previous message into the first block, which cancels
// the chaining. That is three times as fast for small messages.
import { createCipheriv, createSecretKey } from 'node:crypto'

const BLOCK_BYTES = 16
/** Bounds the output of AES-CBC, which is discarded, for messages of several MiB. */
const CHUNK_BYTES = 64 * 1024

/** Shared by all keys, because a MAC is computed synchronously. */
const chunk = Buffer.alloc(CHUNK_BYTES)

/** The MAC of the concatenated parts. Does not change them. */
export function createCmac(key: Uint8Array): (parts: readonly Uint8Array[]) => Buffer {
  const zero = Buffer.alloc(BLOCK_BYTES)
  const cipher = createCipheriv('aes-128-cbc', createSecretKey(key), zero).setAutoPadding(false)
  const last = cipher.update(zero)
  const subkey1 = double(last)
  const subkey2 = double(subkey1)
  return (parts) => {
    let filled = 0
    let isFirst = true
    const encryptChunk = () => {
      if (isFirst) xor(chunk, 0, last)
      isFirst = false
      cipher.update(chunk.subarray(0, filled)).copy(last, 0, filled - BLOCK_BYTES)
      filled = 0
    }
    for (const part of parts) {
      for (let at = 0; at < part.length;) {
        // Only when more follows: the very last block is treated differently.
        if (filled === CHUNK_BYTES) encryptChunk()
        const piece = part.subarray(at, at + CHUNK_BYTES - filled)
        chunk.set(piece, filled)
        filled += piece.length
        at += piece.length
      }
    }
    filled = finish(filled, subkey1, subkey2)
    encryptChunk()
    return Buffer.from(last)
  }
}

/** RFC 4493, 2.4: the last block is XORed with the first subkey if it is whole, otherwise padded and with the second. */
function finish(filled: number, subkey1: Buffer, subkey2: Buffer): number {
  const isWhole = filled > 0 && filled % BLOCK_BYTES === 0
  const end = isWhole ? filled : filled + BLOCK_BYTES - (filled % BLOCK_BYTES)
  if (!isWhole) {
    chunk.fill(0, filled, end)
    chunk[filled] = 0x80
  }
  xor(chunk, end - BLOCK_BYTES, isWhole ? subkey1 : subkey2)
  return end
}

function xor(target: Buffer, offset: number, block: Buffer): void {
  for (let index = 0; index < BLOCK_BYTES; index++) {
    target[offset + index] = (target[offset + index] ?? 0) ^ (block[index] ?? 0)
  }
}

/** Multiplication by x in GF(2^128): RFC 4493, 2.3. */
function double(block: Buffer): Buffer {
  const value = BigInt(`0x${block.toString('hex')}`)
  const carry = value >> 127n === 1n ? 0x87n : 0n
  const doubled = BigInt.asUintN(128, value << 1n) ^ carry
  return Buffer.from(doubled.toString(16).padStart(2 * BLOCK_BYTES, '0'), 'hex')
}
