// The headers of blob operations, decoded once.
import {
  decodeConditions,
  decodeMetadata,
  optionalCrc64,
  optionalGuid,
  optionalHeader,
  optionalMd5,
  requiredHeader,
} from '../../http/header.ts'
import type { Request } from '../../http/operation.ts'
import { readRule } from '../../http/version.ts'
import type { BlobGuard, BlobHttpHeaders, PutBlob } from '../../storage/blob/blob.ts'
import { invalidHeader, StorageError } from '../../storage/error.ts'

/** Checksums of the body that the client sent along, in base64. */
export type BodyHashes = {
  readonly md5: string | undefined
  /** Put Blob checks this one against the body too (azure-storage-ruby#64, Azurite#822). */
  readonly blobMd5: string | undefined
  readonly crc64: string | undefined
}

// What these would do is not there yet; to ignore them would be to lose what they ask for.
// prettier-ignore
const UNBUILT = [
  'x-ms-access-tier', 'x-ms-copy-source', 'x-ms-encryption-algorithm', 'x-ms-encryption-key',
  'x-ms-encryption-key-sha256', 'x-ms-encryption-scope', 'x-ms-if-tags', 'x-ms-immutability-policy-mode',
  'x-ms-immutability-policy-until-date', 'x-ms-legal-hold', 'x-ms-structured-body', 'x-ms-tags',
]

export function refuseUnbuilt(request: Request, names: readonly string[] = UNBUILT): void {
  for (const name of names) {
    if (request.headers[name] === undefined || request.loose) continue
    throw new StorageError('UnsupportedHeader', { HeaderName: name })
  }
}

/** Snapshots and versions don't exist yet: a request for one finds none. */
export function refuseSubresource({ query }: Request): void {
  if (query.has('snapshot') || query.has('versionid')) throw new StorageError('BlobNotFound')
}

export function blobGuard(request: Request): BlobGuard {
  refuseUnbuilt(request)
  refuseSubresource(request)
  const conditions = decodeConditions(request.headers)
  const leaseId = optionalGuid(request.headers, 'x-ms-lease-id')
  const guard = { conditions, readRule: readRule(request.version) }
  return leaseId === undefined ? guard : { ...guard, leaseId }
}

export function decodePutBlob(
  request: Request,
): Omit<PutBlob, 'createOnly'> & { readonly hashes: BodyHashes } {
  const { headers } = request
  const type = requiredHeader(headers, 'x-ms-blob-type')
  if (type === 'PageBlob' || type === 'AppendBlob') throw new StorageError('APINotImplemented')
  if (type !== 'BlockBlob') throw invalidHeader('x-ms-blob-type', type)
  return {
    guard: blobGuard(request),
    headers: decodeHttpHeaders(request, 'plain too'),
    metadata: decodeMetadata(request.rawHeaders),
    hashes: decodeHashes(request),
  }
}

function decodeHashes({ headers }: Request): BodyHashes {
  const md5 = optionalMd5(headers, 'content-md5')
  const crc64 = optionalCrc64(headers, 'x-ms-content-crc64')
  if (md5 !== undefined && crc64 !== undefined) {
    throw new StorageError('BothCrc64AndMd5HeaderPresent')
  }
  return { md5, blobMd5: optionalMd5(headers, 'x-ms-blob-content-md5'), crc64 }
}

// prettier-ignore
const HTTP_HEADERS = [
  ['contentType', 'content-type', 'x-ms-blob-content-type'],
  ['contentEncoding', 'content-encoding', 'x-ms-blob-content-encoding'],
  ['contentLanguage', 'content-language', 'x-ms-blob-content-language'],
  ['cacheControl', 'cache-control', 'x-ms-blob-cache-control'],
  // The plain one is about the message, not about the blob.
  ['contentDisposition', undefined, 'x-ms-blob-content-disposition'],
] as const

/**
 * Put Blob takes the plain headers too, where the x-ms-blob- ones are not sent. Set Blob Properties takes
 * only those, and what is not sent is cleared.
 */
export function decodeHttpHeaders(
  { headers }: Request,
  plain: 'plain too' | 'own',
): BlobHttpHeaders {
  const decoded: { -readonly [K in keyof BlobHttpHeaders]: BlobHttpHeaders[K] } = {}
  for (const [name, plainHeader, own] of HTTP_HEADERS) {
    let value = optionalHeader(headers, own)
    if (plain === 'plain too' && plainHeader !== undefined) {
      value ??= optionalHeader(headers, plainHeader)
    }
    if (value !== undefined) decoded[name] = value
  }
  const contentMd5 = optionalMd5(headers, 'x-ms-blob-content-md5')
  if (contentMd5 !== undefined) decoded.contentMd5 = contentMd5
  return decoded
}
