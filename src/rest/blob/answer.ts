// Response headers of blobs, the same in every operation.
import { formatHttpDate } from '../../http/protocol/date.ts'
import { metadataHeaders } from '../../http/protocol/header.ts'
import { leaseHeaders } from '../shared/lease-header.ts'
import type { ByteRange } from '../../extent/content/interval-map.ts'
import { contentRange } from '../../http/protocol/range.ts'
import { derived } from '../../kv/derived.ts'
import { isPast } from '../../storage/blob/blob.ts'
import type { Blob } from '../../storage/blob/record.ts'
import type { BlobEncryption } from '../../storage/blob/encryption.ts'
import { accessOf } from '../../storage/blob/path/access.ts'
import type { PathState } from '../../storage/blob/path/path-state.ts'
import { formatAcl } from '../../storage/blob/access/acl-text.ts'
import { formatPermissions } from '../../storage/blob/access/permissions.ts'
import { tierOf } from '../../storage/blob/tier.ts'
import { NO_CONTENT_TYPE } from '../../storage/shared/content-headers.ts'
import { etagOf, timestampOf } from '../../storage/shared/etag.ts'
import { copyHeaders, pushIf, validators } from '../shared/answer-header.ts'

/** Headers of the answer to a write: validators, the new version, and the encryption. */
export function writtenHeaders(blob: Blob): string[] {
  const headers = validators(blob)
  if (blob.version !== undefined) headers.push(...versionHeaders(blob))
  headers.push(...requestEncryptionHeaders(blob.encryption))
  return headers
}

export function versionHeaders({ version }: Blob): string[] {
  return version === undefined ? [] : ['x-ms-version-id', timestampOf(version)]
}

/** A snapshot request encrypts nothing but the metadata that it may set. */
export function snapshotEncryptionHeaders({ encryption, metadata }: Partial<Blob>): string[] {
  const isEncrypted = encryption !== undefined && metadata !== undefined
  return ['x-ms-request-server-encrypted', String(isEncrypted)]
}

export function requestEncryptionHeaders(encryption: BlobEncryption | undefined): string[] {
  if (encryption === undefined) return ['x-ms-request-server-encrypted', 'false']
  return ['x-ms-request-server-encrypted', 'true', ...keyHeaders(encryption)]
}

export function keyHeaders(encryption: BlobEncryption): string[] {
  if ('scope' in encryption) return ['x-ms-encryption-scope', encryption.scope]
  return ['x-ms-encryption-key-sha256', encryption.keySha256]
}

/** What a request reads of a blob. */
type BlobView = {
  readonly part: ByteRange
  /** The client requested only `part`. */
  readonly isRanged: boolean
  /** Addressed by `snapshot` or `versionid`, even if that is the current version; hides the lease. */
  readonly isById: boolean
}

/** Get Blob and Get Blob Properties. */
export function blobHeaders(blob: Blob, view: BlobView, nowMs: number): readonly string[] {
  // Lease and tier change with time, so their headers can't be cached.
  const isCacheable = !view.isRanged && blob.lease === undefined && blob.tier === undefined
  if (!isCacheable || view.isById) return makeHeaders(blob, view, nowMs)
  return derived(blob, 'headers', () => makeHeaders(blob, view, nowMs))
}

function makeHeaders(blob: Blob, { part, isRanged, isById }: BlobView, nowMs: number): string[] {
  const { headers: stored } = blob
  const isCurrent = !isPast(blob)
  const headers = [
    'Content-Length', String(part.to - part.from),
    'Accept-Ranges', 'bytes',
    'ETag', etagOf(blob.stamp),
    'Last-Modified', formatHttpDate(blob.modifiedMs),
    'x-ms-creation-time', formatHttpDate(blob.createdMs),
    'x-ms-blob-type', blob.type,
    'x-ms-server-encrypted', blob.encryption === undefined ? 'false' : 'true',
  ] // prettier-ignore
  const contentType = stored.contentType ?? 'application/octet-stream'
  if (contentType !== NO_CONTENT_TYPE) headers.push('Content-Type', contentType)
  if (isCurrent && !isById) headers.push(...leaseHeaders(blob.lease, nowMs))
  if (stored.contentMd5 !== undefined) {
    headers.push(isRanged ? 'x-ms-blob-content-md5' : 'Content-MD5', stored.contentMd5)
  }
  if (isRanged) headers.push('Content-Range', contentRange(part, blob.lengthBytes))
  pushIf(headers, 'Content-Encoding', stored.contentEncoding)
  pushIf(headers, 'Content-Language', stored.contentLanguage)
  pushIf(headers, 'Content-Disposition', stored.contentDisposition)
  pushIf(headers, 'Cache-Control', stored.cacheControl)
  headers.push(...metadataHeaders(blob.metadata))
  if (blob.encryption !== undefined) headers.push(...keyHeaders(blob.encryption))
  if (blob.tags !== undefined) headers.push('x-ms-tag-count', String(blob.tags.length))
  if (blob.type !== 'BlockBlob') pushTypeHeaders(headers, blob)
  pushTierHeaders(headers, blob, nowMs)
  if (blob.copy !== undefined) headers.push(...copyHeaders(blob.copy))
  if (blob.version !== undefined) {
    headers.push('x-ms-version-id', timestampOf(blob.version))
    if (isCurrent) headers.push('x-ms-is-current-version', 'true')
  }
  pushRetention(headers, blob)
  if (blob.path !== undefined) headers.push(...pathStateHeaders(blob, blob.path))
  return headers
}

/** Only in a hierarchical namespace. */
export function pathStateHeaders(blob: Blob, { isDirectory }: PathState): string[] {
  const access = accessOf(blob)
  const headers = [
    'x-ms-resource-type', isDirectory === true ? 'directory' : 'file',
    'x-ms-owner', access.owner,
    'x-ms-group', access.group,
    'x-ms-permissions', formatPermissions(access),
    'x-ms-acl', formatAcl(access.acl),
  ] // prettier-ignore
  pushIf(headers, 'x-ms-encryption-context', blob.encryptionContext)
  return headers
}

function pushTypeHeaders(headers: string[], blob: Blob): void {
  if (blob.type === 'PageBlob') {
    headers.push('x-ms-blob-sequence-number', blob.sequenceNumber ?? '0')
    return
  }
  headers.push('x-ms-blob-committed-block-count', String(blob.blockCount ?? 0))
  if (blob.isSealed === true) headers.push('x-ms-blob-sealed', 'true')
}

/** Append blobs have no tier. Page blobs have one only if it was set: standard disks have no tiers. */
function pushTierHeaders(headers: string[], blob: Blob, nowMs: number): void {
  if (blob.type !== 'BlockBlob' && blob.tier === undefined) return
  const tier = tierOf(blob, nowMs)
  headers.push('x-ms-access-tier', tier.name)
  if (tier.isInferred) headers.push('x-ms-access-tier-inferred', 'true')
  if (tier.setMs !== undefined) {
    headers.push('x-ms-access-tier-change-time', formatHttpDate(tier.setMs))
  }
  if (tier.smart !== undefined) headers.push('x-ms-smart-access-tier', tier.smart.capacity)
  if (tier.rehydration === undefined) return
  const { to, priority } = tier.rehydration
  headers.push('x-ms-archive-status', `rehydrate-pending-to-${to.toLowerCase()}`)
  headers.push('x-ms-rehydrate-priority', priority)
}

function pushRetention(headers: string[], blob: Blob): void {
  const { immutability, legalHold, expiresMs, accessedMs } = blob
  if (immutability !== undefined) {
    const { untilMs, mode } = immutability
    headers.push('x-ms-immutability-policy-until-date', formatHttpDate(untilMs))
    headers.push('x-ms-immutability-policy-mode', mode.toLowerCase())
  }
  if (legalHold === true) headers.push('x-ms-legal-hold', 'true')
  if (expiresMs !== undefined) headers.push('x-ms-expiry-time', formatHttpDate(expiresMs))
  if (accessedMs !== undefined) headers.push('x-ms-last-access-time', formatHttpDate(accessedMs))
}
