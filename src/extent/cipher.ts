// Encryption of slices. AES-256 in counter mode: a byte of the ciphertext stands where the byte of the
// text stood, so that slices are cut, shared and moved as if they were plain, and a range is read without
// what stands before it. Whether the key is the right one is checked before, by its SHA-256; damage is
// what a slice's CRC-32, which is that of the ciphertext, is for.
import assert from 'node:assert/strict'
import { createCipheriv, type CipherKey } from 'node:crypto'
import type { Hasher } from './extent.ts'
import type { Hole, Piece } from './content/slice.ts'

export const KEY_BYTES = 32
/** Random, and never used twice with a key: each slice has its own. */
export const NONCE_BYTES = 12
const BLOCK_BYTES = 16
/** Behind this byte the counter of 32 bits would run into the nonce; the longest body is 4.9 GiB. */
const SLICE_BYTES_MAX = 2 ** 32 * BLOCK_BYTES

/** The bytes of a slice from its byte `from` on; what encrypts also decrypts. */
export function cipherBytes(
  bytes: Uint8Array,
  key: CipherKey,
  nonce: Uint8Array,
  from = 0,
): Uint8Array {
  return keystream(key, nonce, from).update(bytes)
}

/**
 * A body as it goes into a slice. Hashers that `ExtentStore.write` is given see the ciphertext; those
 * given here see the text, which is what Content-MD5 and x-ms-content-crc64 are about.
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
 * The text of `pieces`, of which `stream` gives the stored bytes (`ExtentStore.read`). Pieces without a
 * nonce and holes pass unchanged. A chunk comes out for each that goes in: the same one if none of it
 * is encrypted, else memory that is nobody else's, never a part of a chunk. So the consumer may recycle
 * whatever it gets when it is done with it, as if it came from `read` (a store takes back only what it
 * lent), and must not recycle anything else: the encrypted chunks go back from here, to `recycle`.
 *
 * An object and not a generator, so that a stream that is returned before it is begun lets go of its
 * extents.
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

/** Takes the chunks one after the other; their borders are not those of the pieces. */
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

/** From byte `from` of a slice on, which may lie inside a block. */
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
