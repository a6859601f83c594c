// The body of a write on its way to the store: taken out of its structured message, hashed, encrypted and
// written in one pass. Bytes first, record second: nothing here is seen before a record points at it.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { cipherBytes, encryptSource, NONCE_BYTES } from '../../extent/cipher.ts'
import { digestOf, hashHere, type HashKind, type Hashing } from '../../extent/hash/hash.ts'
import { letGo } from '../../memory/let-go.ts'
import { removeReferences } from '../../extent/content/reference.ts'
import { encryptedPiece, wholeSlice } from '../../extent/content/slice-list.ts'
import { AT_HAND, type Piece } from '../../extent/content/slice.ts'
import { smallPiece } from '../../extent/content/small.ts'
import type { Request } from '../../http/door/operation.ts'
import {
  decodeStructuredBody,
  parseStructuredBodyHeader,
  STRUCTURED_BODY,
} from '../../http/protocol/structured-body.ts'
import { checkHashes, type BodyHashes } from './body-hashes.ts'
import type { Source } from './byte-source.ts'
import type { ContentService } from './service.ts'

/** Bodies up to this live in their record: one write and one sync instead of two. */
export const INLINE_BYTES_MAX = 8 * 1024

/** Bytes that no record shows yet: durable, or so few that they come with the record (extent/content/small.ts). */
export type Upload = {
  readonly id: number
  readonly lengthBytes: number
  readonly pieces: readonly Piece[]
  /** Base64, of the bytes before encryption. */
  readonly md5: string | undefined
  readonly crc64: string | undefined
}

/** Slices up to this live in the kv. */
const SMALL_BYTES_MAX = 8 * 1024

export function bodySource(request: Request): Source {
  const { body, headers } = request
  const messageBytes = body.lengthBytes ?? 0
  const structured = parseStructuredBodyHeader(headers)
  if (structured === undefined) {
    const read = () => body.read(messageBytes)
    return { lengthBytes: messageBytes, stream: () => body.stream(), read, used: letGo }
  }
  const { contentBytes } = structured
  const stream = () => decodeStructuredBody(body.stream(), { messageBytes, contentBytes })
  return { lengthBytes: contentBytes, stream }
}

/** Tells the client that its structured body was read as one. */
export function structuredHeaders(request: Request): string[] {
  if (request.headers['x-ms-structured-body'] === undefined) return []
  return ['x-ms-structured-body', STRUCTURED_BODY]
}

/** A body that is small enough to live in its record. */
export async function readInline(request: Request): Promise<Buffer> {
  if (request.headers['x-ms-structured-body'] === undefined) {
    return request.body.read(INLINE_BYTES_MAX)
  }
  return collect(bodySource(request).stream())
}

/** A stream of what is at hand. */
export async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) yield bytes
}

/** All of a stream that is known to be short. */
export async function collect(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}

export type UploadSettings = {
  /** The key to encrypt them with; undefined: they are stored as they are. */
  readonly cipher: { readonly key: Buffer } | undefined
  /** What the client says that the bytes hash to. */
  readonly hashes: BodyHashes
  /** Which hashes to compute, whether or not the client sent them. */
  readonly wants: 'md5' | 'crc64' | 'both' | 'sent'
  /** A few bytes need no write of their own. */
  readonly maySmall?: boolean
}

type UploadService = Pick<ContentService, 'kv' | 'extents' | 'hashThreads' | 'newId'>

/** Throws what is wrong with the hashes only after the bytes are given back. */
export async function upload(
  service: UploadService,
  source: Source,
  settings: UploadSettings,
): Promise<Upload> {
  const { cipher, hashes, maySmall = false } = settings
  const kinds = hashKinds(settings)
  const { lengthBytes } = source
  const id = service.newId()
  const isSmall = maySmall && lengthBytes > 0 && lengthBytes <= SMALL_BYTES_MAX
  const { digests, pieces } = isSmall
    ? makeSmall(await readSmall(source), { id, cipher, kinds })
    : await writePieces(service, source, { cipher, kinds })
  const digest = (kind: HashKind): string | undefined => digests[kinds.indexOf(kind)]
  const uploaded = { id, lengthBytes, pieces, md5: digest('md5'), crc64: digest('crc64') }
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

type Stored = { readonly digests: readonly string[]; readonly pieces: readonly Piece[] }

function makeSmall(bytes: Uint8Array, { id, cipher, kinds }: Storing & { id: number }): Stored {
  const digests = kinds.map((kind) => digestOf(kind, bytes))
  if (cipher === undefined) {
    return { digests, pieces: [smallPiece(id, bytes)] }
  }
  const nonce = randomBytes(NONCE_BYTES)
  const sealed = cipherBytes(bytes, cipher.key, nonce)
  return { digests, pieces: [encryptedPiece(smallPiece(id, sealed), nonce)] }
}

async function writePieces(
  { extents, hashThreads }: UploadService,
  source: Source,
  { cipher, kinds }: Storing,
): Promise<Stored> {
  const { lengthBytes } = source
  if (lengthBytes === 0) {
    // Nothing to store, but its end may still tell that it is not what it should be.
    await collect(source.stream())
    return { digests: await digestsOf(hashHere(kinds)), pieces: [] }
  }
  if (cipher === undefined) {
    const hashing = hashThreads.begin(kinds, lengthBytes)
    const written = extents.write(source.stream(), lengthBytes, [hashing], source.used)
    const slice = await written.catch((error: unknown) => abandon(hashing, error))
    return { digests: await digestsOf(hashing), pieces: [wholeSlice(slice)] }
  }
  // What encrypts passes on without waiting, so it is hashed here.
  const [hashing, nonce] = [hashHere(kinds), randomBytes(NONCE_BYTES)]
  const sealed = encryptSource(source.stream(), cipher.key, nonce, [hashing])
  const slice = await extents.write(sealed, lengthBytes, [])
  return { digests: await digestsOf(hashing), pieces: [encryptedPiece(wholeSlice(slice), nonce)] }
}

async function digestsOf(hashing: Hashing): Promise<string[]> {
  return (await hashing.digests()).map((bytes) => Buffer.from(bytes).toString('base64'))
}

function abandon(hashing: Hashing, error: unknown): never {
  hashing.drop()
  throw error
}

function readSmall(source: Source): Promise<Uint8Array> {
  return source.read?.() ?? collectWhole(source)
}

async function collectWhole(source: Source): Promise<Uint8Array> {
  const bytes = await collect(source.stream())
  assert.equal(bytes.length, source.lengthBytes, 'a source is as long as it says')
  return bytes
}

/** The bytes are there and nothing shows them: the next sweep takes them. */
export async function discard(
  service: Pick<ContentService, 'kv'>,
  body: Pick<Upload, 'id' | 'pieces'> | { readonly bytes: Uint8Array },
  error: unknown,
): Promise<never> {
  // What is at hand was never written.
  const isStored = 'pieces' in body && body.pieces.some((piece) => piece[AT_HAND] === undefined)
  if (isStored) await service.kv.write((tx) => removeReferences(tx, body))
  throw error
}
