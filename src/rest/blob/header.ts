// Decodes the headers of blob operations.
import { decodeCustomerKey, type CustomerKey } from '../shared/customer-key.ts'
import {
  decodeConditions,
  decodeMetadata,
  optionalBoolean,
  optionalDateMs,
  optionalGuid,
  optionalHeader,
  optionalBase64,
  optionalWord,
} from '../../http/protocol/header.ts'
import type { Request } from '../../http/door/operation.ts'
import { isAtLeast, readRule } from '../../http/door/version.ts'
import type { ImmutabilityPolicy } from '../../storage/blob/record.ts'
import type { RequestEncryption } from '../../storage/blob/encryption.ts'
import type { BlobGuard } from '../../storage/blob/guard.ts'
import type { PutBlob } from '../../storage/blob/put.ts'
import { parseIfTags } from '../../storage/shared/tag-filter.ts'
import { decodeTagsHeader } from '../../storage/shared/tags.ts'
import { decodeAccessTier } from '../../storage/blob/tier.ts'
import type { AccessTier } from '../../storage/blob/access-tier.ts'
import type { Conditions } from '../../storage/shared/condition.ts'
import type { ContentHeaders } from '../../storage/shared/content-headers.ts'
import { invalidHeader, missingHeader, StorageError } from '../../storage/shared/error.ts'
import { checkTagPermission, isCreateOnly, type BlobCall } from './service.ts'

/** The encryption headers of a request, including the key itself, which storage never sees. */
export type RequestKey = Omit<RequestEncryption, 'customerKey'> & {
  readonly customerKey?: CustomerKey
}

export type RequestGuard = BlobGuard & { readonly encryption?: RequestKey }

// Only accounts with a hierarchical namespace have these.
const UNSUPPORTED = ['x-ms-encryption-context', 'x-ms-acl', 'x-ms-owner', 'x-ms-group']

function refuseUnsupported(request: Request): void {
  for (const name of UNSUPPORTED) {
    if (request.headers[name] === undefined || request.loose) continue
    throw new StorageError('UnsupportedHeader', { HeaderName: name })
  }
}

/** Decodes conditions, lease id and encryption. */
export function blobGuard(request: Request, use: 'read' | 'write' = 'write'): RequestGuard {
  refuseUnsupported(request)
  return guardWith(request, blobConditions(request), use)
}

/** For operations that accept no conditions, or only x-ms-if-tags. */
export function guardWith(
  request: Request,
  conditions: Conditions,
  use: 'read' | 'write' = 'write',
): RequestGuard {
  const leaseId = optionalGuid(request.headers, 'x-ms-lease-id')
  const encryption = requestKey(request, use)
  return {
    conditions,
    readRule: readRule(request.version),
    ...(leaseId === undefined ? undefined : { leaseId }),
    ...(encryption === undefined ? undefined : { encryption }),
  }
}

export function blobConditions({ headers }: Request): Conditions {
  return withTags(decodeConditions(headers), headers['x-ms-if-tags'], 'x-ms-if-tags')
}

export function sourceConditions({ headers }: Request): Conditions {
  const name = 'x-ms-source-if-tags'
  return withTags(decodeConditions(headers, 'x-ms-source-'), headers[name], name)
}

export function withTags(
  conditions: Conditions,
  text: string | readonly string[] | undefined,
  name: string,
): Conditions {
  if (typeof text !== 'string' || text === '') return conditions
  return { ...conditions, ifTags: parseIfTags(text, name) }
}

function requestKey(request: Request, use: 'read' | 'write'): RequestKey | undefined {
  const { headers, secure } = request
  const customerKey = decodeCustomerKey(headers, secure, '', use)
  const scope = use === 'write' ? optionalHeader(headers, 'x-ms-encryption-scope') : undefined
  if (customerKey === undefined && scope === undefined) return undefined
  return {
    ...(customerKey === undefined ? undefined : { customerKey }),
    ...(scope === undefined ? undefined : { scope }),
  }
}

export type DecodedPut = PutBlob & { readonly guard: RequestGuard }

/** Decodes the headers of every operation that creates a blob: Put Blob, Put Block List, copies. */
export function decodePutBlob({ request, identity }: BlobCall): DecodedPut {
  checkTagPermission(identity, request)
  const { headers } = request
  const tags = optionalHeader(headers, 'x-ms-tags')
  const tier = decodeTier(request)
  const immutability = decodeImmutability(request)
  const legalHold = optionalBoolean(headers, 'x-ms-legal-hold')
  return {
    guard: blobGuard(request),
    createOnly: isCreateOnly(identity),
    headers: decodeHttpHeaders(request, 'plain too'),
    metadata: decodeMetadata(request.rawHeaders),
    ...(tags === undefined ? undefined : { tags: decodeTagsHeader(tags) }),
    ...(tier === undefined ? undefined : { tier }),
    ...(immutability === undefined ? undefined : { immutability }),
    ...(legalHold === undefined ? undefined : { legalHold }),
  }
}

const TIER = 'x-ms-access-tier'

/** Refuses `Smart` in versions that don't have it. */
export function decodeTier({ headers, version }: Request): AccessTier | undefined {
  const text = optionalHeader(headers, TIER)
  if (text === undefined) return undefined
  const tier = decodeAccessTier(text)
  if (tier === 'Smart' && !isAtLeast(version, '2026-06-06')) throw invalidHeader(TIER, text)
  return tier
}

const UNTIL = 'x-ms-immutability-policy-until-date'
const MODE = 'x-ms-immutability-policy-mode'

export function decodeImmutability({ headers }: Request): ImmutabilityPolicy | undefined {
  const untilMs = optionalDateMs(headers, UNTIL)
  const mode = optionalWord(headers, MODE, ['Unlocked', 'Locked'])
  if (untilMs === undefined && mode === undefined) return undefined
  if (untilMs === undefined) throw missingHeader(UNTIL)
  return { untilMs, mode: mode ?? 'Unlocked' }
}

// prettier-ignore
const HTTP_HEADERS = [
  ['contentType', 'content-type', 'x-ms-blob-content-type'],
  ['contentEncoding', 'content-encoding', 'x-ms-blob-content-encoding'],
  ['contentLanguage', 'content-language', 'x-ms-blob-content-language'],
  ['cacheControl', 'cache-control', 'x-ms-blob-cache-control'],
  // The plain header describes the message, not the blob.
  ['contentDisposition', undefined, 'x-ms-blob-content-disposition'],
] as const

/**
 * Put Blob accepts the plain headers too, as a fallback for the x-ms-blob- ones. Set Blob Properties and Put Block List
 * accept only the latter, and a missing header clears its property.
 */
export function decodeHttpHeaders(
  { headers }: Request,
  plain: 'plain too' | 'own',
): ContentHeaders {
  const decoded: { -readonly [K in keyof ContentHeaders]: ContentHeaders[K] } = {}
  for (const [name, plainHeader, own] of HTTP_HEADERS) {
    let value = optionalHeader(headers, own)
    if (plain === 'plain too' && plainHeader !== undefined) {
      value ??= optionalHeader(headers, plainHeader)
    }
    if (value !== undefined) decoded[name] = value
  }
  // Stored as sent. Only Put Blob, which has the bytes, verifies it.
  const contentMd5 = optionalBase64(headers, 'x-ms-blob-content-md5')
  if (contentMd5 !== undefined) decoded.contentMd5 = contentMd5
  return decoded
}
