// Put Blob of a block blob, and Get Blob. Decode once, call storage, encode.
import { SMALL_BYTES_MAX } from '../../extent/content/small.ts'
import { crc64Of, md5Of } from '../../extent/hash/hash.ts'
import { optionalMd5, requiredHeader } from '../../http/protocol/header.ts'
import type { Answer, Request } from '../../http/door/operation.ts'
import type { Blob } from '../../storage/blob/record.ts'
import { touchBlob } from '../../storage/blob/change.ts'
import { putBlob } from '../../storage/blob/put.ts'
import { unlessEncryptionNeeded } from '../../storage/shared/encryption-needed.ts'
import { checkTierOfType } from '../../storage/blob/tier.ts'
import { invalidHeader } from '../../storage/shared/error.ts'
import { withOverrides } from '../shared/answer-header.ts'
import { checkHashes, checkMd5, decodeHashes, type BodyHashes } from '../shared/body-hashes.ts'
import { contentAnswer } from '../shared/content-answer.ts'
import {
  bodySource,
  discard,
  once,
  readInline,
  structuredHeaders,
  upload,
} from '../shared/upload.ts'
import type { ByteSource } from '../shared/byte-source.ts'
import { blobHeaders, writtenHeaders } from './answer.ts'
import { busyIfChanged, cipherForPut } from './cipher.ts'
import { decodePutBlob, type DecodedPut } from './header.ts'
import { checkLength, PUT_BLOB_LIMITS } from './length-limit.ts'
import { bodyOf, readBytes } from './read.ts'
import { blobAddress, blobAddressAt, type BlobCall } from './service.ts'

export async function runPutBlob(call: BlobCall): Promise<Answer> {
  const { request } = call
  const type = requiredHeader(request.headers, 'x-ms-blob-type')
  if (type !== 'BlockBlob') throw invalidHeader('x-ms-blob-type', type)
  const put = withSentMd5(request, decodePutBlob(call))
  if (put.tier !== undefined) checkTierOfType(put.tier, 'BlockBlob')
  const source = bodySource(request)
  checkLength(PUT_BLOB_LIMITS, request.version, source.lengthBytes)
  const isSmall = source.lengthBytes <= SMALL_BYTES_MAX
  if (!isSmall || put.guard.encryption !== undefined) return putInExtent(call, put, source)
  const bytes = await readInline(request)
  const read = { lengthBytes: bytes.length, stream: () => once(bytes) }
  return (await putInline(call, put, bytes)) ?? putInExtent(call, put, read)
}

/** Returns undefined if the container encrypts: only bytes in extents can be encrypted. */
async function putInline(
  { request, service }: BlobCall,
  put: DecodedPut,
  bytes: Buffer,
): Promise<Answer | undefined> {
  const hashes = decodeHashes(request)
  const md5 = md5Of(bytes)
  const sent = hashes.crc64 === undefined ? undefined : crc64Of(bytes)
  checkHashes(hashes, { md5, crc64: sent })
  const [address, moment] = [blobAddress(request), service.moment()]
  const withMd5 = withBodyMd5(put, md5)
  const writing = service.kv.attempt((tx) => putBlob(tx, address, withMd5, { bytes }, moment))
  // Only the answer needs the CRC-64, so it is computed while the write is in flight.
  const crc64 = sent ?? crc64Of(bytes)
  const blob = unlessEncryptionNeeded(await writing)
  return blob && putAnswer(request, blob, { md5, crc64 })
}

/** Bytes first, record second. A request that is bound to fail is refused before the body is read. */
async function putInExtent(call: BlobCall, put: DecodedPut, source: ByteSource): Promise<Answer> {
  const { request, service } = call
  const [address, hashes] = [blobAddress(request), decodeHashes(request)]
  const { nowMs } = service.moment()
  const cipher = await service.kv.read((tx) => cipherForPut(tx, address, put, nowMs))
  const body = await upload(service, source, { cipher, hashes, wants: 'both' })
  const moment = service.moment()
  const blob = await service.kv
    .attempt((tx) => {
      const whole = withBodyMd5(put, body.md5 ?? '')
      const encrypted = cipher === undefined ? whole : { ...whole, encryption: cipher.encryption }
      return putBlob(tx, address, encrypted, body, moment)
    })
    .then(busyIfChanged)
    .catch((error: unknown) => discard(service, body, error))
  return putAnswer(request, blob, body)
}

/** Only Put Blob can compare x-ms-blob-content-md5 with the bytes, so only here it has to be a valid MD5. */
function withSentMd5(request: Request, put: DecodedPut): DecodedPut {
  const contentMd5 = optionalMd5(request.headers, 'x-ms-blob-content-md5')
  return contentMd5 === undefined ? put : { ...put, headers: { ...put.headers, contentMd5 } }
}

/** Checks x-ms-blob-content-md5 against the body too (azure-storage-ruby#64, Azurite#822). */
function withBodyMd5(put: DecodedPut, md5: string): DecodedPut {
  if (put.headers.contentMd5 !== undefined) checkMd5(put.headers.contentMd5, md5)
  return { ...put, headers: { ...put.headers, contentMd5: md5 } }
}

/** Returns both hashes, whichever was sent; before 2019-02-02 only the MD5 (http/door/header-table.ts). */
function putAnswer(request: Request, blob: Blob, { md5, crc64 }: BodyHashes): Answer {
  const headers = [...writtenHeaders(blob), ...structuredHeaders(request)]
  if (md5 !== undefined) headers.push('Content-MD5', md5)
  if (crc64 !== undefined) headers.push('x-ms-content-crc64', crc64)
  return { status: 201, headers }
}

export async function runGetBlob(call: BlobCall): Promise<Answer> {
  const { request, service } = call
  const read = await readBytes(call)
  const { range, blob } = read
  const part = range ?? { from: 0, to: blob.lengthBytes }
  const isRanged = range !== undefined
  const { nowMs } = service.moment()
  const isById = read.isById
  const headers = withOverrides(blobHeaders(blob, { part, isRanged, isById }, nowMs), call.identity)
  if (read.isAccessNew) await touch(call)
  const { lengthBytes } = blob
  return contentAnswer(request, headers, { range, lengthBytes, body: bodyOf(service, read) })
}

export async function touch({ request, service }: BlobCall): Promise<void> {
  const [address, { nowMs }] = [blobAddressAt(request), service.moment()]
  await service.kv.write((tx) => touchBlob(tx, address, nowMs))
}
