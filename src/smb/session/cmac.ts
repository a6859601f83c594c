// AES-128-CMAC (RFC 4493), which node:crypto doesn't have, on top of its AES-CBC. One cipher lives as long
// as the key: instead of a new IV for each message, the last block of the one before is taken out of the
// first block again by a second xor. That is three times as fast for small messages.
import { createCipheriv, createSecretKey } from 'node:crypto'

const BLOCK_BYTES = 16
/** Bounds what AES-CBC gives back and nobody needs, for messages of several MiB. */
const CHUNK_BYTES = 64 * 1024

/** Shared by all keys, for a MAC is made without a pause. */
const chunk = Buffer.alloc(CHUNK_BYTES)

/** The MAC of the parts put together, which are left as they are. */
export function createCmac(key: Uint8Array): (parts: readonly Uint8Array[]) => Buffer {
  const zero = Buffer.alloc(BLOCK_BYTES)
  const cipher = createCipheriv('aes-128-cbc', createSecretKey(key), zero).setAutoPadding(false)
  const last = cipher.update(zero)
  const whole = double(last)
  const broken = double(whole)
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
        // Not before there is more: the last block of all is treated differently.
        if (filled === CHUNK_BYTES) encryptChunk()
        const piece = part.subarray(at, at + CHUNK_BYTES - filled)
        chunk.set(piece, filled)
        filled += piece.length
        at += piece.length
      }
    }
    filled = finish(filled, whole, broken)
    encryptChunk()
    return Buffer.from(last)
  }
}

/** RFC 4493, 2.4: the last block is completed if need be, and mixed with one subkey or the other. */
function finish(filled: number, whole: Buffer, broken: Buffer): number {
  const isWhole = filled > 0 && filled % BLOCK_BYTES === 0
  const end = isWhole ? filled : filled + BLOCK_BYTES - (filled % BLOCK_BYTES)
  if (!isWhole) {
    chunk.fill(0, filled, end)
    chunk[filled] = 0x80
  }
  xor(chunk, end - BLOCK_BYTES, isWhole ? whole : broken)
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
