// Put Blob, Get Blob, properties, metadata, Delete Blob: decode once, call storage, encode.
import { hash } from 'node:crypto'
import { crc64Hasher, md5Hasher } from '../../extent/hash.ts'
import { removeReferences } from '../../extent/reference.ts'
import type { Content } from '../../extent/slice.ts'
import { subRangeOfPieces, wholeSlice } from '../../extent/slice-list.ts'
import { decodeMetadata } from '../../http/header.ts'
import type { Answer, Request } from '../../http/operation.ts'
import { decodeRange, decodeRangeHash, type ByteRange } from '../../http/range.ts'
import {
  changeBlob,
  checkPutBlob,
  deleteBlob,
  putBlob,
  readBlob,
  type Blob,
  type BlobAddress,
  type PutBlob,
  type PutBody,
  type StoredBlob,
} from '../../storage/blob/blob.ts'
import { StorageError } from '../../storage/error.ts'
import { metadataHeaders, blobHeaders, validators, withOverrides } from './answer.ts'
import { blobGuard, decodeHttpHeaders, decodePutBlob, type BodyHashes } from './header.ts'
import { blobAddress, isCreateOnly, type BlobCall } from './service.ts'

/** Bodies up to this live in their record: one write and one sync instead of two. */
export const INLINE_BYTES_MAX = 8 * 1024

export async function runPutBlob({ request, identity, service }: BlobCall): Promise<Answer> {
  const address = blobAddress(request)
  const { hashes, ...decoded } = decodePutBlob(request)
  const put: PutBlob = { ...decoded, createOnly: isCreateOnly(identity) }
  const stored =
    (request.body.lengthBytes ?? 0) <= INLINE_BYTES_MAX
      ? await readInline(request, hashes)
      : await writeExtent({ request, identity, service }, address, put, hashes)
  const withMd5 = { ...put, headers: { ...put.headers, contentMd5: stored.md5 } }
  const moment = service.moment()
  const blob = await service.kv
    .write((tx) => putBlob(tx, address, withMd5, stored.body, moment))
    .catch((error: unknown) => discard(service, stored.body, error))
  const headers = [...validators(blob), 'Content-MD5', stored.md5]
  if (hashes.crc64 !== undefined) headers.push('x-ms-content-crc64', hashes.crc64)
  return { status: 201, headers: [...headers, 'x-ms-request-server-encrypted', 'false'] }
}

/** The bytes are there and nothing shows them: the next sweep takes them. */
async function discard(
  service: BlobCall['service'],
  body: PutBody,
  error: unknown,
): Promise<never> {
  if ('content' in body) await service.kv.write((tx) => removeReferences(tx, body.content))
  throw error
}

type StoredBody = { readonly body: PutBody; readonly md5: string }

async function readInline(request: Request, hashes: BodyHashes): Promise<StoredBody> {
  const bytes = await request.body.read(INLINE_BYTES_MAX)
  const md5 = hash('md5', bytes, 'base64')
  checkHashes(hashes, md5, () => crc64Of(bytes))
  return { body: { bytes }, md5 }
}

/** Bytes first, record second. What is bound to fail is refused before the body is read. */
async function writeExtent(
  { request, service }: BlobCall,
  address: BlobAddress,
  put: PutBlob,
  hashes: BodyHashes,
): Promise<StoredBody> {
  await service.kv.read((tx) => checkPutBlob(tx, address, put))
  const lengthBytes = request.body.lengthBytes ?? 0
  const md5 = md5Hasher()
  const crc64 = hashes.crc64 === undefined ? undefined : crc64Hasher()
  const hashers = crc64 === undefined ? [md5] : [md5, crc64]
  const slice = await service.extents.write(request.body.stream(), lengthBytes, hashers)
  const digest = md5.digest().toString('base64')
  const content: Content = { id: service.newId(), pieces: [wholeSlice(slice)] }
  const body = { lengthBytes, content }
  try {
    checkHashes(hashes, digest, () => crc64?.digest())
  } catch (error) {
    return discard(service, body, error)
  }
  return { body, md5: digest }
}

function crc64Of(bytes: Uint8Array): Buffer {
  const crc64 = crc64Hasher()
  crc64.update(bytes)
  return crc64.digest()
}

function checkHashes(sent: BodyHashes, md5: string, crc64: () => Buffer | undefined): void {
  for (const sentMd5 of [sent.md5, sent.blobMd5]) {
    if (sentMd5 === undefined || sentMd5 === md5) continue
    const details = { UserSpecifiedMd5: sentMd5, ServerCalculatedMd5: md5 }
    throw new StorageError('Md5Mismatch', details)
  }
  if (sent.crc64 === undefined) return
  const computed = crc64()?.toString('base64') ?? ''
  if (sent.crc64 !== computed) {
    const details = { UserSpecifiedCrc: sent.crc64, ServerCalculatedCrc: computed }
    throw new StorageError('Crc64Mismatch', details)
  }
}

export async function runGetBlob({ request, identity, service }: BlobCall): Promise<Answer> {
  const stored = await read({ request, service })
  const { blob } = stored
  const range = decodeRange(request.headers, request.version, blob.lengthBytes)
  const part = range ?? { from: 0, to: blob.lengthBytes }
  const headers = withOverrides(blobHeaders(blob, part, range !== undefined), identity)
  const status = range === undefined ? 200 : 206
  const hashed = decodeRangeHash(request.headers, range)
  const body = bodyOf(service, stored, part)
  if (hashed === undefined) return { status, headers, ...body }
  const bytes = await collect(body)
  if (hashed === 'md5') headers.push('Content-MD5', hash('md5', bytes, 'base64'))
  else headers.push('x-ms-content-crc64', crc64Of(bytes).toString('base64'))
  return { status, headers, body: bytes }
}

/** At most the 4 MiB whose hash may be asked for. */
async function collect(body: Pick<Answer, 'stream'> & { body?: Uint8Array }): Promise<Uint8Array> {
  if (body.stream === undefined) return body.body ?? Buffer.alloc(0)
  const chunks: Uint8Array[] = []
  for await (const chunk of body.stream()) chunks.push(chunk)
  return Buffer.concat(chunks)
}

export async function runGetBlobProperties(call: BlobCall): Promise<Answer> {
  const { blob } = await read(call)
  const part = { from: 0, to: blob.lengthBytes }
  return { status: 200, headers: withOverrides(blobHeaders(blob, part, false), call.identity) }
}

export async function runGetBlobMetadata(call: BlobCall): Promise<Answer> {
  const { blob } = await read(call)
  return { status: 200, headers: [...validators(blob), ...metadataHeaders(blob.metadata)] }
}

export async function runSetBlobProperties({ request, service }: BlobCall): Promise<Answer> {
  const headers = decodeHttpHeaders(request, 'own')
  return change({ request, service }, { headers })
}

export async function runSetBlobMetadata({ request, service }: BlobCall): Promise<Answer> {
  const metadata = decodeMetadata(request.rawHeaders)
  return change({ request, service }, { metadata })
}

type Target = Pick<BlobCall, 'request' | 'service'>

function read({ request, service }: Target): Promise<StoredBlob> {
  const [address, guard] = [blobAddress(request), blobGuard(request)]
  return service.kv.read((tx) => readBlob(tx, address, guard))
}

async function change(
  { request, service }: Target,
  set: Pick<Blob, 'headers'> | Pick<Blob, 'metadata'>,
): Promise<Answer> {
  const [address, guard, moment] = [blobAddress(request), blobGuard(request), service.moment()]
  const blob = await service.kv.write((tx) => changeBlob(tx, address, guard, set, moment))
  return { status: 200, headers: validators(blob) }
}

export async function runDeleteBlob({ request, service }: BlobCall): Promise<Answer> {
  const [address, guard] = [blobAddress(request), blobGuard(request)]
  await service.kv.write((tx) => deleteBlob(tx, address, guard))
  return { status: 202, headers: ['x-ms-delete-type-permanent', 'true'] }
}

function bodyOf({ extents, recycle }: BlobCall['service'], stored: StoredBlob, part: ByteRange) {
  const { blob, bytes } = stored
  if (blob.content === undefined) return { body: bytes.subarray(part.from, part.to) }
  const pieces = subRangeOfPieces(blob.content.pieces, part.from, part.to)
  return { stream: () => extents.read(pieces), recycle }
}
