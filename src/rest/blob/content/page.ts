// Page blobs: create, Put Page, Clear Pages. Set Blob Properties (properties.ts) resizes them and changes sequence
// numbers; Get Page Ranges is in page-range.ts.
import {
  optionalHeader,
  optionalWord,
  requiredHeader,
  type HeaderFields,
} from '../../../http/protocol/header.ts'
import type { Answer, Request } from '../../../http/door/operation.ts'
import type { ByteRange } from '../../../extent/content/interval-map.ts'
import { decodeWriteRange } from '../../../http/protocol/range.ts'
import { isAtLeast } from '../../../http/door/version.ts'
import type { ReadTx } from '../../../kv/kv.ts'
import type { BlobAddress } from '../../../storage/blob/blob.ts'
import type { Blob } from '../../../storage/blob/record.ts'
import { PAGE_BYTES } from '../../../storage/blob/content/page-range.ts'
import {
  checkPageWrite,
  clearPages,
  putPage,
  putPageBlob,
  type PageWrite,
  type SequenceConditions,
} from '../../../storage/blob/content/page.ts'
import { checkTierOfType } from '../../../storage/blob/tier.ts'
import { invalidHeader, missingHeader, StorageError } from '../../../storage/shared/error.ts'
import { validators } from '../../shared/answer-header.ts'
import { decodeHashes, type BodyHashes } from '../../shared/body-hashes.ts'
import { bodySource, discard, structuredHeaders, upload } from '../../shared/upload.ts'
import type { ByteSource } from '../../shared/byte-source.ts'
import { hashHeaders, wantedHashes } from '../answer-hash.ts'
import { requestEncryptionHeaders, writtenHeaders } from '../answer.ts'
import { cipherOf } from '../cipher.ts'
import { blobGuard, decodePutBlob, type RequestGuard } from '../header.ts'
import { checkLength, PUT_PAGE_LIMITS } from '../length-limit.ts'
import { decodePageBlobLength, decodeSequenceNumber } from '../properties.ts'
import { blobAddress, type BlobCall } from '../service.ts'

export async function runPutPageBlob(call: BlobCall): Promise<Answer> {
  const { request, service } = call
  checkVersion(request)
  const put = decodePutBlob(call)
  const lengthBytes = decodePageBlobLength(request)
  if (lengthBytes === undefined) throw missingHeader('x-ms-blob-content-length')
  if (put.tier !== undefined) checkTierOfType(put.tier, 'PageBlob')
  const sequenceNumber = decodeSequenceNumber(request) ?? 0n
  const page = { lengthBytes, sequenceNumber, mapId: service.newId() }
  const [address, moment] = [blobAddress(request), service.moment()]
  const blob = await service.kv.write((tx) => putPageBlob(tx, address, put, page, moment))
  return { status: 201, headers: writtenHeaders(blob) }
}

export function checkVersion({ version }: Request): void {
  if (!isAtLeast(version, '2009-09-19')) {
    throw new StorageError('InvalidVersionForPageBlobOperation')
  }
}

/** Put Page with `update`; `clear` has a row of its own. */
export async function runPutPage(call: BlobCall): Promise<Answer> {
  const { request } = call
  requiredHeader(request.headers, 'x-ms-page-write')
  optionalWord(request.headers, 'x-ms-page-write', ['update'])
  return putPages(call, bodySource(request), decodeHashes(request), decodePageRange(request))
}

/** Writes pages from the body or a URL: bytes first, record second. */
export async function putPages(
  call: BlobCall,
  source: ByteSource,
  hashes: BodyHashes,
  range: ByteRange,
): Promise<Answer> {
  const { request, service } = call
  checkVersion(request)
  checkLength(PUT_PAGE_LIMITS, request.version, source.lengthBytes)
  if (source.lengthBytes !== range.to - range.from) {
    throw invalidHeader('Content-Length', String(source.lengthBytes))
  }
  const [address, write] = [blobAddress(request), pageWrite(request, range)]
  const { nowMs } = service.moment()
  const cipher = await service.kv.read((tx) => cipherForPages(tx, address, write, nowMs))
  const isFromUrl = request.headers['x-ms-copy-source'] !== undefined
  const isKeyed = isFromUrl && write.guard.encryption !== undefined
  const wants = wantedHashes(request.version, hashes, isKeyed)
  const body = await upload(service, source, { cipher, hashes, wants, maySmall: true })
  const moment = service.moment()
  const pages = { pieces: body.pieces, encryption: cipher?.encryption }
  const blob = await service.kv
    .write((tx) => putPage(tx, address, write, pages, moment))
    .catch((error: unknown) => discard(service, body, error))
  const headers = [...pageHeaders(blob), ...hashHeaders(request.version, hashes, body, wants)]
  const encrypted = requestEncryptionHeaders(blob.encryption)
  return { status: 201, headers: [...headers, ...structuredHeaders(request), ...encrypted] }
}

/** Checks that the pages may be written, and returns the key to encrypt them with. */
function* cipherForPages(tx: ReadTx, address: BlobAddress, write: RequestPageWrite, nowMs: number) {
  const { stored } = yield* checkPageWrite(tx, address, write, nowMs)
  const { customerKey } = write.guard.encryption ?? {}
  return yield* cipherOf(tx, address.account, stored.blob.encryption, customerKey)
}

export async function runClearPages({ request, service }: BlobCall): Promise<Answer> {
  checkVersion(request)
  const write = pageWrite(request, decodePageRange(request))
  const [address, newId, moment] = [blobAddress(request), service.newId(), service.moment()]
  const blob = await service.kv.write((tx) => clearPages(tx, address, write, newId, moment))
  return { status: 201, headers: pageHeaders(blob) }
}

type RequestPageWrite = PageWrite & { readonly guard: RequestGuard }

function pageWrite(request: Request, range: ByteRange): RequestPageWrite {
  return { guard: blobGuard(request), sequence: decodeSequenceConditions(request.headers), range }
}

function pageHeaders(blob: Blob): string[] {
  return [...validators(blob), 'x-ms-blob-sequence-number', blob.sequenceNumber ?? '0']
}

/** Both ends are required and have to be page boundaries. */
export function decodePageRange({ headers }: Request): ByteRange {
  const range = decodeWriteRange(headers)
  if (range.from % PAGE_BYTES === 0 && range.to % PAGE_BYTES === 0) return range
  const own = optionalHeader(headers, 'x-ms-range')
  if (own !== undefined) throw invalidHeader('x-ms-range', own)
  throw invalidHeader('Range', optionalHeader(headers, 'range') ?? '')
}

function decodeSequenceConditions(headers: HeaderFields): SequenceConditions {
  const lessOrEqual = decodeNumber(headers, 'x-ms-if-sequence-number-le')
  const less = decodeNumber(headers, 'x-ms-if-sequence-number-lt')
  const equal = decodeNumber(headers, 'x-ms-if-sequence-number-eq')
  return {
    ...(lessOrEqual === undefined ? undefined : { lessOrEqual }),
    ...(less === undefined ? undefined : { less }),
    ...(equal === undefined ? undefined : { equal }),
  }
}

/** A negative number is InvalidInput, as the tests of Azure's own clients expect. */
function decodeNumber(headers: HeaderFields, name: string): bigint | undefined {
  const text = optionalHeader(headers, name)
  if (text === undefined) return undefined
  if (/^-\d{1,19}$/.test(text)) throw new StorageError('InvalidInput')
  if (!/^\d{1,19}$/.test(text) || BigInt(text) >= 2n ** 63n) throw invalidHeader(name, text)
  return BigInt(text)
}
