// Encryption of slices with AES-256 in counter mode. Each byte of ciphertext has the offset of its plaintext byte, so
// slices are cut, shared and moved like plain ones, and a range is decrypted without the bytes before it. The caller
// checks the key by its SHA-256; a slice's CRC-32, which is that of the ciphertext, detects damage.
import assert from 'node:assert/strict'
import { createCipheriv, type CipherKey } from 'node:crypto'
import type { Hasher } from './extent.ts'
import type { Hole, Piece } from './content/slice.ts'

export const KEY_BYTES = 32
/** Random, one per slice: a nonce must never be used twice with a key. */
export const NONCE_BYTES = 12
const BLOCK_BYTES = 16
/** After this byte the 32-bit counter would overflow into the nonce; the longest body is 4.9 GiB. */
const SLICE_BYTES_MAX = 2 ** 32 * BLOCK_BYTES

/** Encrypts or decrypts the bytes of a slice, from its byte `from` on. */
export function cipherBytes(
  bytes: Uint8Array,
  key: CipherKey,
  nonce: Uint8Array,
  from = 0,
): Uint8Array {
  return keystream(key, nonce, from).update(bytes)
}

/**
 * Encrypts a body on its way into a slice. The hashers passed here see the plaintext, as Content-MD5 and
 * x-ms-content-crc64 require; those passed to `ExtentStore.write` see the ciphertext.
 */
export async function* encryptSource(
  source: AsyncIterable<Uint8Array>,
  key: CipherKey,
  nonce: Uint8Array,
  hashers: readonly Hasher[] = [],
): AsyncGenerator<Uint8Array> {
  const cipher = keystream(key, nonce, 0)
  for await (const chunk of source) {
    for (const hasher of hashers) hasher.update(chunk)
    yield cipher.update(chunk)
  }
}

/**
 * Decrypts `stream`, the stored bytes of `pieces` (`ExtentStore.read`). Holes and pieces without a nonce pass
 * unchanged. Each chunk yields one chunk: the same one if none of it is encrypted, otherwise a new buffer, never a part
 * of a chunk. So the consumer may recycle every chunk that it gets, as if it came from `read`: a store ignores buffers
 * that it did not lend. The encrypted chunks are recycled here.
 *
 * Not a generator: returning a generator before its first `next` would leave the extents pinned.
 */
export function decryptPieces(
  stream: AsyncIterable<Uint8Array>,
  pieces: readonly (Piece | Hole)[],
  key: CipherKey,
  recycle?: (chunk: Uint8Array) => void,
): AsyncIterableIterator<Uint8Array> {
  const chunks = stream[Symbol.asyncIterator]()
  const decrypt = pieceDecryptor(pieces, key)
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    async next() {
      const { value: chunk, done } = await chunks.next()
      if (done === true) return { value: undefined, done: true }
      try {
        const value = decrypt(chunk)
        if (value !== chunk) recycle?.(chunk)
        return { value, done: false }
      } catch (error) {
        await chunks.return?.()
        throw error
      }
    },
    async return() {
      await chunks.return?.()
      return { value: undefined, done: true }
    },
  }
}

/** Decrypts consecutive chunks, which may begin and end inside pieces. */
function pieceDecryptor(
  pieces: readonly (Piece | Hole)[],
  key: CipherKey,
): (chunk: Uint8Array) => Uint8Array {
  let index = -1
  let leftBytes = 0
  let decipher: Keystream | undefined
  function beginPiece(): void {
    index += 1
    const piece = pieces[index]
    assert(piece !== undefined, 'the stream is no longer than its pieces')
    leftBytes = piece.lengthBytes
    decipher = pieceKeystream(piece, key)
  }
  return (chunk) => {
    const parts: Uint8Array[] = []
    let isPlain = true
    for (let at = 0; at < chunk.length;) {
      while (leftBytes === 0) beginPiece()
      const part = chunk.subarray(at, at + leftBytes)
      parts.push(decipher === undefined ? part : decipher.update(part))
      isPlain &&= decipher === undefined
      at += part.length
      leftBytes -= part.length
    }
    if (isPlain) return chunk
    const [only] = parts
    return only !== undefined && parts.length === 1 ? only : Buffer.concat(parts)
  }
}

type Keystream = { update(bytes: Uint8Array): Uint8Array }

function pieceKeystream(piece: Piece | Hole, key: CipherKey): Keystream | undefined {
  if (piece.slice === undefined || piece.nonce === undefined) return undefined
  return keystream(key, Buffer.from(piece.nonce, 'base64'), piece.from)
}

/** Starts at byte `from` of a slice, which may be inside a cipher block. */
function keystream(key: CipherKey, nonce: Uint8Array, from: number): Keystream {
  assert(nonce.length === NONCE_BYTES, `a nonce of ${nonce.length} bytes`)
  assert(Number.isSafeInteger(from) && from >= 0 && from < SLICE_BYTES_MAX)
  const counter = Buffer.alloc(BLOCK_BYTES)
  counter.set(nonce)
  counter.writeUInt32BE(Math.floor(from / BLOCK_BYTES), NONCE_BYTES)
  const cipher = createCipheriv('aes-256-ctr', key, counter)
  cipher.update(Buffer.alloc(from % BLOCK_BYTES))
  return cipher
}
