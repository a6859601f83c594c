// Put Blob and what is the same for every type of blob: reading, properties, metadata.
// Decode once, call storage, encode.
import { decryptPieces } from '../../extent/cipher.ts'
import {
  decodeMetadata,
  optionalHeader,
  optionalInt,
  optionalWord,
  requiredHeader,
} from '../../http/header.ts'
import type { Answer, Request } from '../../http/operation.ts'
import { decodeRange, decodeRangeHash, type ByteRange } from '../../http/range.ts'
import {
  encodeStructuredBody,
  isStructuredBodyAsked,
  STRUCTURED_BODY,
  structuredBodyLength,
} from '../../http/structured-body.ts'
import {
  readBlob,
  readBlobBytes,
  type Blob,
  type BlobAddress,
  type ExistingTarget,
} from '../../storage/blob/blob.ts'
import {
  setBlobMetadata,
  isAccessStale,
  setBlobProperties,
  touchBlob,
  type PageProperties,
  type SequenceNumberChange,
} from '../../storage/blob/change.ts'
import { readContent, type BlobBytes } from '../../storage/blob/content.ts'
import { checkEncryption } from '../../storage/blob/encryption.ts'
import { getProtection, shownAccess } from '../../storage/blob/protection.ts'
import { checkPutBlob, EncryptionNeeded, putBlob, type PutBlob } from '../../storage/blob/put.ts'
import { checkTierOfType } from '../../storage/blob/tier.ts'
import { invalidHeader, missingHeader, StorageError } from '../../storage/error.ts'
import {
  blobHeaders,
  metadataHeaders,
  validators,
  withOverrides,
  writtenHeaders,
} from './answer.ts'
import { cipherForWrite, cipherOf, type Cipher } from './cipher.ts'
import { blobGuard, decodeHashes, decodeHttpHeaders, decodePutBlob } from './header.ts'
import { checkLength, PUT_BLOB_LIMITS } from './length-limit.ts'
import {
  blobAddress,
  blobAddressAt,
  checkTagPermission,
  isCreateOnly,
  type BlobCall,
} from './service.ts'
import {
  bodySource,
  checkHashes,
  checkMd5,
  crc64Of,
  discard,
  INLINE_BYTES_MAX,
  md5Of,
  readInline,
  structuredHeaders,
  upload,
  type Source,
} from './upload.ts'

export async function runPutBlob(call: BlobCall): Promise<Answer> {
  const { request, identity } = call
  const type = requiredHeader(request.headers, 'x-ms-blob-type')
  if (type !== 'BlockBlob') throw invalidHeader('x-ms-blob-type', type)
  checkTagPermission(identity, request)
  const put = { ...decodePutBlob(request), createOnly: isCreateOnly(identity) }
  if (put.tier !== undefined) checkTierOfType(put.tier, 'BlockBlob')
  const source = bodySource(request)
  checkLength(PUT_BLOB_LIMITS, request.version, source.lengthBytes)
  const isSmall = source.lengthBytes <= INLINE_BYTES_MAX
  if (!isSmall || put.guard.encryption !== undefined) return putInExtent(call, put, source)
  const bytes = await readInline(request)
  try {
    return await putInline(call, put, bytes)
  } catch (error) {
    if (!(error instanceof EncryptionNeeded)) throw error
    return putInExtent(call, put, { lengthBytes: bytes.length, stream: () => once(bytes) })
  }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

type Put = ReturnType<typeof decodePutBlob> & Pick<PutBlob, 'createOnly'>

async function putInline({ request, service }: BlobCall, put: Put, bytes: Buffer): Promise<Answer> {
  const hashes = decodeHashes(request)
  const md5 = md5Of(bytes)
  const crc64 = hashes.crc64 === undefined ? undefined : crc64Of(bytes)
  checkHashes(hashes, { md5, crc64 })
  const [address, moment] = [blobAddress(request), service.moment()]
  const withMd5 = withBodyMd5(put, md5)
  const blob = await service.kv.write((tx) => putBlob(tx, address, withMd5, { bytes }, moment))
  return putAnswer(request, blob, md5, crc64)
}

/** Bytes first, record second. What is bound to fail is refused before the body is read. */
async function putInExtent(call: BlobCall, put: Put, source: Source): Promise<Answer> {
  const { request, service } = call
  const [address, hashes] = [blobAddress(request), decodeHashes(request)]
  const cipher = await service.kv.read((tx) => putCipher(tx, address, put, service.moment().nowMs))
  const body = await upload(service, source, { cipher, hashes, wants: 'md5' })
  const moment = service.moment()
  const blob = await service.kv
    .write((tx) => {
      const whole = withBodyMd5(put, body.md5 ?? '')
      const encrypted = cipher === undefined ? whole : { ...whole, encryption: cipher.encryption }
      return putBlob(tx, address, encrypted, body, moment)
    })
    .catch((error: unknown) => discard(service, body, busyIfChanged(error)))
  return putAnswer(request, blob, body.md5, hashes.crc64)
}

/** Another container came to the name while the body was read, and it encrypts otherwise: the client may retry. */
export function busyIfChanged(error: unknown): unknown {
  return error instanceof EncryptionNeeded ? new StorageError('ServerBusy') : error
}

function* putCipher(
  tx: Parameters<typeof checkPutBlob>[0],
  address: BlobAddress,
  put: Put,
  nowMs: number,
) {
  const { container } = yield* checkPutBlob(tx, address, put, nowMs)
  return yield* cipherForWrite(tx, address.account, put.guard.encryption ?? {}, container)
}

/** x-ms-blob-content-md5 is checked against the body too (azure-storage-ruby#64, Azurite#822). */
function withBodyMd5(put: Put, md5: string): Put {
  if (put.headers.contentMd5 !== undefined) checkMd5(put.headers.contentMd5, md5)
  return { ...put, headers: { ...put.headers, contentMd5: md5 } }
}

function putAnswer(
  request: Request,
  blob: Blob,
  md5: string | undefined,
  crc64: string | undefined,
): Answer {
  const headers = [...writtenHeaders(blob), ...structuredHeaders(request)]
  if (md5 !== undefined) headers.push('Content-MD5', md5)
  if (crc64 !== undefined) headers.push('x-ms-content-crc64', crc64)
  return { status: 201, headers }
}

/** What Get Blob needs of one snapshot of the store. */
export type ReadBytes = {
  readonly target: ExistingTarget
  /** What clients see of it. */
  readonly blob: Blob
  readonly range: ByteRange | undefined
  readonly content: BlobBytes
  readonly cipher: Cipher | undefined
  /** The first read of the day, where such are noted. */
  readonly isAccessNew: boolean
}

/** All that is read of a blob, on one snapshot of the store. */
export function readBytes({ request, service }: BlobCall): Promise<ReadBytes> {
  const [address, guard] = [blobAddressAt(request), blobGuard(request, 'read')]
  const { nowMs } = service.moment()
  return service.kv.read(function* (tx) {
    const target = yield* readBlobBytes(tx, address, guard, nowMs)
    const { blob } = target.stored
    const range = decodeRange(request.headers, request.version, blob.lengthBytes)
    const part = range ?? { from: 0, to: blob.lengthBytes }
    const content = yield* readContent(tx, target.stored, part)
    const { customerKey } = guard.encryption ?? {}
    const cipher = yield* cipherOf(tx, address.account, blob.encryption, customerKey)
    const protection = yield* getProtection(tx, address.account)
    const isAccessNew = protection.isAccessTimeTracked && isAccessStale(blob, nowMs)
    const shown = shownAccess(blob, protection)
    return { target, blob: shown, range, content, cipher, isAccessNew }
  })
}

export async function runGetBlob(call: BlobCall): Promise<Answer> {
  const { request, service } = call
  const read = await readBytes(call)
  const { range, blob } = read
  const part = range ?? { from: 0, to: blob.lengthBytes }
  const isRanged = range !== undefined
  const headers = withOverrides(readHeaders(call, blob, part, isRanged), call.identity)
  const status = isRanged ? 206 : 200
  if (read.isAccessNew) await touch(call)
  const hashed = decodeRangeHash(request.headers, range)
  const body = bodyOf(service, read)
  if (isStructuredBodyAsked(request.headers)) return structured(status, headers, part, body)
  if (hashed === undefined) return { status, headers, ...body }
  const bytes = await collect(body)
  if (hashed === 'md5') headers.push('Content-MD5', md5Of(bytes))
  else headers.push('x-ms-content-crc64', crc64Of(bytes))
  return { status, headers, body: bytes }
}

async function touch({ request, service }: BlobCall): Promise<void> {
  const [address, { nowMs }] = [blobAddressAt(request), service.moment()]
  await service.kv.write((tx) => touchBlob(tx, address, nowMs))
}

type ReadBody = { readonly body: Uint8Array } | Required<Pick<Answer, 'stream' | 'recycle'>>

export function bodyOf(
  { extents, recycle }: BlobCall['service'],
  { content, cipher }: Pick<ReadBytes, 'content' | 'cipher'>,
): ReadBody {
  if ('bytes' in content) return { body: content.bytes }
  const { pieces } = content
  if (cipher === undefined) return { stream: () => extents.read(pieces), recycle }
  return { stream: () => decryptPieces(extents.read(pieces), pieces, cipher.key, recycle), recycle }
}

/** The length that is sent is the message's; the content's own stands beside it. */
function structured(status: number, headers: string[], part: ByteRange, body: ReadBody): Answer {
  const contentBytes = part.to - part.from
  headers[headers.indexOf('Content-Length') + 1] = String(structuredBodyLength(contentBytes))
  headers.push('x-ms-structured-body', STRUCTURED_BODY)
  headers.push('x-ms-structured-content-length', String(contentBytes))
  const stream = () => encodeStructuredBody(sourceOf(body), contentBytes)
  return { status, headers, stream }
}

function sourceOf(body: ReadBody): AsyncIterable<Uint8Array> {
  return 'body' in body ? once(body.body) : body.stream()
}

/** At most the 4 MiB whose hash may be asked for. */
async function collect(body: ReadBody): Promise<Uint8Array> {
  if ('body' in body) return body.body
  const chunks: Uint8Array[] = []
  for await (const chunk of body.stream()) chunks.push(chunk)
  return Buffer.concat(chunks)
}

function readHeaders(
  { service }: BlobCall,
  blob: Blob,
  part: ByteRange,
  isRanged: boolean,
): string[] {
  const isCurrent = !('kind' in blob)
  return blobHeaders(blob, part, isRanged, { nowMs: service.moment().nowMs, isCurrent })
}

export async function runGetBlobProperties(call: BlobCall): Promise<Answer> {
  const blob = await read(call)
  const part = { from: 0, to: blob.lengthBytes }
  const headers = readHeaders(call, blob, part, false)
  return { status: 200, headers: withOverrides(headers, call.identity) }
}

export async function runGetBlobMetadata(call: BlobCall): Promise<Answer> {
  const blob = await read(call)
  return { status: 200, headers: [...validators(blob), ...metadataHeaders(blob.metadata)] }
}

/** Properties and metadata of a blob with a customer's key are secret too; those of a scope are not. */
async function read({ request, service }: BlobCall): Promise<Blob> {
  const [address, guard] = [blobAddressAt(request), blobGuard(request, 'read')]
  const { nowMs } = service.moment()
  return service.kv.read(function* (tx) {
    const { blob } = (yield* readBlob(tx, address, guard, nowMs)).stored
    checkEncryption(blob.encryption, guard.encryption ?? {}, 'read')
    if (blob.accessedMs === undefined) return blob
    return shownAccess(blob, yield* getProtection(tx, address.account))
  })
}

export async function runSetBlobMetadata({ request, service }: BlobCall): Promise<Answer> {
  const metadata = decodeMetadata(request.rawHeaders)
  const [address, guard, moment] = [blobAddress(request), blobGuard(request), service.moment()]
  const newId = service.newId()
  const blob = await service.kv.write((tx) =>
    setBlobMetadata(tx, address, guard, metadata, newId, moment),
  )
  return { status: 200, headers: writtenHeaders(blob) }
}

/** One request may set the headers, the length and the sequence number (blob.md 2, dispatch traps). */
export async function runSetBlobProperties({ request, service }: BlobCall): Promise<Answer> {
  const page = decodePageProperties(request)
  const sent = decodeHttpHeaders(request, 'own')
  const isPageOnly = Object.keys(page).length > 0 && Object.keys(sent).length === 0
  const set = { headers: isPageOnly ? undefined : sent, page }
  const [address, guard, moment] = [blobAddress(request), blobGuard(request), service.moment()]
  const blob = await service.kv.write((tx) => setBlobProperties(tx, address, guard, set, moment))
  const headers = validators(blob)
  if (blob.type === 'PageBlob') {
    headers.push('x-ms-blob-sequence-number', blob.sequenceNumber ?? '0')
  }
  return { status: 200, headers }
}

const PAGE_BYTES = 512
const PAGE_BLOB_BYTES_MAX = 8 * 2 ** 40

/** The length of a page blob: whole pages, at most 8 TiB. */
export function decodePageBlobLength({ headers }: Request): number | undefined {
  const name = 'x-ms-blob-content-length'
  const lengthBytes = optionalInt(headers, name, { min: 0, max: PAGE_BLOB_BYTES_MAX })
  if (lengthBytes === undefined || lengthBytes % PAGE_BYTES === 0) return lengthBytes
  throw invalidHeader(name, String(lengthBytes))
}

function decodePageProperties(request: Request): PageProperties {
  const lengthBytes = decodePageBlobLength(request)
  const sequenceNumber = decodeSequenceNumberChange(request)
  return {
    ...(lengthBytes === undefined ? undefined : { lengthBytes }),
    ...(sequenceNumber === undefined ? undefined : { sequenceNumber }),
  }
}

const SEQUENCE_NUMBER = 'x-ms-blob-sequence-number'
const ACTION = 'x-ms-sequence-number-action'

function decodeSequenceNumberChange(request: Request): SequenceNumberChange | undefined {
  const action = optionalWord(request.headers, ACTION, ['max', 'update', 'increment'])
  const value = decodeSequenceNumber(request)
  if (action === undefined) {
    if (value !== undefined) throw missingHeader(ACTION)
    return undefined
  }
  if (action === 'increment') {
    if (value !== undefined) throw invalidHeader(SEQUENCE_NUMBER, String(value))
    return { action }
  }
  if (value === undefined) throw missingHeader(SEQUENCE_NUMBER)
  return { action, value }
}

/** 0 to 2^63-1. */
export function decodeSequenceNumber({ headers }: Request): bigint | undefined {
  const text = optionalHeader(headers, SEQUENCE_NUMBER)
  if (text === undefined) return undefined
  const value = /^\d{1,19}$/.test(text) ? BigInt(text) : -1n
  if (value < 0n || value >= 2n ** 63n) throw invalidHeader(SEQUENCE_NUMBER, text)
  return value
}
