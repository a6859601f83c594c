// Stores the body of a write: unwraps a structured body, hashes, encrypts and writes it in one pass. Bytes first,
// record second: nobody sees these bytes until a record points at them.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { cipherBytes, encryptSource, NONCE_BYTES } from '../../extent/cipher.ts'
import { crc64Of, hashHere, md5Of, type HashKind, type Hashing } from '../../extent/hash/hash.ts'
import { StoreUnavailable } from '../../kv/engine/unavailable.ts'
import { freeBuffer } from '../../memory/free-buffer.ts'
import { removeReferences } from '../../extent/content/reference.ts'
import { encryptedPiece, wholeSlice } from '../../extent/content/slice-list.ts'
import { isAtHand, type Piece } from '../../extent/content/slice.ts'
import { SMALL_BYTES_MAX, smallPiece } from '../../extent/content/small.ts'
import type { Request } from '../../http/door/operation.ts'
import {
  decodeStructuredBody,
  parseStructuredBodyHeader,
  STRUCTURED_BODY,
} from '../../http/protocol/structured-body.ts'
import { checkHashes, type BodyHashes } from './body-hashes.ts'
import type { ByteSource } from './byte-source.ts'
import type { ContentService } from './service.ts'

/** Bytes without a record: durable, or few enough to be stored with the record (extent/content/small.ts). */
export type Upload = {
  readonly id: number
  readonly lengthBytes: number
  readonly pieces: readonly Piece[]
  /** Base64, of the bytes before encryption. */
  readonly md5: string | undefined
  readonly crc64: string | undefined
}

export function bodySource(request: Request): ByteSource {
  const { body, headers } = request
  const messageBytes = body.lengthBytes ?? 0
  const structured = parseStructuredBodyHeader(headers)
  if (structured === undefined) {
    const read = () => body.read(messageBytes)
    return { lengthBytes: messageBytes, stream: () => body.stream(), read, used: freeBuffer }
  }
  const { contentBytes } = structured
  const stream = () => decodeStructuredBody(body.stream(), { messageBytes, contentBytes })
  return { lengthBytes: contentBytes, stream }
}

/** Confirms to the client that its body was decoded as a structured one. */
export function structuredHeaders(request: Request): string[] {
  if (request.headers['x-ms-structured-body'] === undefined) return []
  return ['x-ms-structured-body', STRUCTURED_BODY]
}

/** Reads a body that is small enough to be stored in its record. */
export async function readInline(request: Request): Promise<Buffer> {
  if (request.headers['x-ms-structured-body'] === undefined) {
    return request.body.read(SMALL_BYTES_MAX)
  }
  return collect(bodySource(request).stream())
}

/** A stream of bytes that are in memory. */
export async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) yield bytes
}

/** Reads a stream to its end; only for streams known to be short. */
export async function collect(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}

export type UploadSettings = {
  /** The key to encrypt the bytes with; undefined: they are stored in the clear. */
  readonly cipher: { readonly key: Buffer } | undefined
  /** The hashes that the client sent. */
  readonly hashes: BodyHashes
  /** Which hashes to compute besides those that the client sent. */
  readonly wants: 'md5' | 'crc64' | 'both' | 'sent'
  /** Allows a few bytes to be stored in the kv, without a write of their own. */
  readonly maySmall?: boolean
}

type UploadService = Pick<ContentService, 'kv' | 'extents' | 'hashThreads' | 'newId'>

/** On a hash mismatch it discards the bytes before it throws. */
export async function upload(
  service: UploadService,
  source: ByteSource,
  settings: UploadSettings,
): Promise<Upload> {
  const { cipher, hashes, maySmall = false } = settings
  const kinds = hashKinds(settings)
  const { lengthBytes } = source
  const id = service.newId()
  const isSmall = maySmall && lengthBytes > 0 && lengthBytes <= SMALL_BYTES_MAX
  const stored = isSmall
    ? makeSmall(await readSmall(source), { id, cipher, kinds })
    : await writePieces(service, source, { cipher, kinds })
  const uploaded = { id, lengthBytes, ...stored }
  try {
    checkHashes(hashes, uploaded)
  } catch (error) {
    return discard(service, uploaded, error)
  }
  return uploaded
}

function hashKinds({ hashes, wants }: UploadSettings): readonly HashKind[] {
  return HASH_KINDS.filter(
    (kind) => wants === 'both' || wants === kind || hashes[kind] !== undefined,
  )
}

const HASH_KINDS: readonly HashKind[] = ['md5', 'crc64']

type Storing = Pick<UploadSettings, 'cipher'> & { readonly kinds: readonly HashKind[] }

type Stored = BodyHashes & { readonly pieces: readonly Piece[] }

function makeSmall(bytes: Uint8Array, { id, cipher, kinds }: Storing & { id: number }): Stored {
  const md5 = kinds.includes('md5') ? md5Of(bytes) : undefined
  const crc64 = kinds.includes('crc64') ? crc64Of(bytes) : undefined
  if (cipher === undefined) return { md5, crc64, pieces: [smallPiece(id, bytes)] }
  const nonce = randomBytes(NONCE_BYTES)
  const sealed = cipherBytes(bytes, cipher.key, nonce)
  return { md5, crc64, pieces: [encryptedPiece(smallPiece(id, sealed), nonce)] }
}

async function writePieces(
  { extents, hashThreads }: UploadService,
  source: ByteSource,
  { cipher, kinds }: Storing,
): Promise<Stored> {
  const { lengthBytes } = source
  if (lengthBytes === 0) {
    // There is nothing to store, but reading to the end may still reveal a malformed body.
    await collect(source.stream())
    return { ...(await hashesOf(hashHere(kinds), kinds)), pieces: [] }
  }
  if (cipher === undefined) {
    const hashing = hashThreads.begin(kinds, lengthBytes)
    const written = extents.write(source.stream(), lengthBytes, [hashing], source.used)
    const slice = await written.catch((error: unknown) => abandon(hashing, error))
    return { ...(await hashesOf(hashing, kinds)), pieces: [wholeSlice(slice)] }
  }
  // Encryption passes chunks on without waiting for a hash thread, so the hash is computed on this one.
  const [hashing, nonce] = [hashHere(kinds), randomBytes(NONCE_BYTES)]
  const sealed = encryptSource(source.stream(), cipher.key, nonce, [hashing])
  const slice = await extents.write(sealed, lengthBytes, [])
  const pieces = [encryptedPiece(wholeSlice(slice), nonce)]
  return { ...(await hashesOf(hashing, kinds)), pieces }
}

async function hashesOf(hashing: Hashing, kinds: readonly HashKind[]): Promise<BodyHashes> {
  const digests = (await hashing.digests()).map((bytes) => Buffer.from(bytes).toString('base64'))
  return { md5: digests[kinds.indexOf('md5')], crc64: digests[kinds.indexOf('crc64')] }
}

function abandon(hashing: Hashing, error: unknown): never {
  hashing.drop()
  throw error
}

/** The same bytes, which can be read any number of times. */
export async function inMemorySource(source: ByteSource): Promise<ByteSource> {
  const bytes = await readSmall(source)
  return { lengthBytes: bytes.length, stream: () => once(bytes), read: async () => bytes }
}

function readSmall(source: ByteSource): Promise<Uint8Array> {
  return source.read?.() ?? collectWhole(source)
}

async function collectWhole(source: ByteSource): Promise<Uint8Array> {
  const bytes = await collect(source.stream())
  assert.equal(bytes.length, source.lengthBytes, 'a source is as long as it says')
  return bytes
}

/**
 * Gives up stored bytes that nothing references, for the next sweep to free, and throws the error. If the store became
 * unavailable, a record may reference them: the sweep finds out when it checks their extent.
 */
export async function discard(
  service: Pick<ContentService, 'kv'>,
  body: Pick<Upload, 'id' | 'pieces'> | { readonly bytes: Uint8Array },
  error: unknown,
): Promise<never> {
  if ('pieces' in body && !(error instanceof StoreUnavailable)) await forget(service, body)
  throw error
}

/** No record will point at these bytes. Those still in memory were never written. */
export async function forget(
  { kv }: Pick<ContentService, 'kv'>,
  body: Pick<Upload, 'id' | 'pieces'>,
): Promise<void> {
  const isStored = body.pieces.some((piece) => !isAtHand(piece))
  if (isStored) await kv.write((tx) => removeReferences(tx, body))
}
