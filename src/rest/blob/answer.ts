// Response headers of containers and blobs, made the same way wherever they appear.
import type { Identity } from '../../auth/identity.ts'
import { formatHttpDate } from '../../http/date.ts'
import { contentRange, type ByteRange } from '../../http/range.ts'
import type { Blob } from '../../storage/blob/blob.ts'
import { etagOf } from '../../storage/etag.ts'
import type { Metadata } from '../../storage/metadata.ts'

/** ETag and Last-Modified. */
export function validators(object: { readonly stamp: number; readonly modifiedMs: number }) {
  return ['ETag', etagOf(object.stamp), 'Last-Modified', formatHttpDate(object.modifiedMs)]
}

export function metadataHeaders(metadata: Metadata): string[] {
  const headers: string[] = []
  for (const [name, value] of metadata) headers.push(`x-ms-meta-${name}`, value)
  return headers
}

/** Leases come with their operations; until then nothing is ever leased. */
export const LEASE_HEADERS = ['x-ms-lease-status', 'unlocked', 'x-ms-lease-state', 'available']

/** Get Blob and Get Blob Properties; `ranged` when only `part` was asked for. */
export function blobHeaders(blob: Blob, part: ByteRange, ranged: boolean): string[] {
  const { headers: stored } = blob
  const headers = [
    'Content-Length', String(part.to - part.from),
    'Content-Type', stored.contentType ?? 'application/octet-stream',
    'Accept-Ranges', 'bytes',
    'ETag', etagOf(blob.stamp),
    'Last-Modified', formatHttpDate(blob.modifiedMs),
    'x-ms-creation-time', formatHttpDate(blob.createdMs),
    'x-ms-blob-type', blob.type,
    'x-ms-lease-status', 'unlocked',
    'x-ms-lease-state', 'available',
    'x-ms-access-tier', 'Hot',
    'x-ms-access-tier-inferred', 'true',
    'x-ms-server-encrypted', 'false',
  ] // prettier-ignore
  if (stored.contentMd5 !== undefined) {
    headers.push(ranged ? 'x-ms-blob-content-md5' : 'Content-MD5', stored.contentMd5)
  }
  if (ranged) headers.push('Content-Range', contentRange(part, blob.lengthBytes))
  pushIf(headers, 'Content-Encoding', stored.contentEncoding)
  pushIf(headers, 'Content-Language', stored.contentLanguage)
  pushIf(headers, 'Content-Disposition', stored.contentDisposition)
  pushIf(headers, 'Cache-Control', stored.cacheControl)
  for (const [name, value] of blob.metadata) headers.push(`x-ms-meta-${name}`, value)
  return headers
}

function pushIf(headers: string[], name: string, value: string | undefined): void {
  if (value !== undefined) headers.push(name, value)
}

/** A SAS may say what these headers are for its bearer (rscc, rscd, rsce, rscl, rsct). */
export function withOverrides(headers: string[], identity: Identity): string[] {
  if (!('responseHeaders' in identity)) return headers
  const over = identity.responseHeaders
  setHeader(headers, 'Cache-Control', over.cacheControl)
  setHeader(headers, 'Content-Disposition', over.contentDisposition)
  setHeader(headers, 'Content-Encoding', over.contentEncoding)
  setHeader(headers, 'Content-Language', over.contentLanguage)
  setHeader(headers, 'Content-Type', over.contentType)
  return headers
}

function setHeader(headers: string[], name: string, value: string | undefined): void {
  if (value === undefined) return
  const at = headers.findIndex((each, i) => i % 2 === 0 && each === name)
  // A header's bytes are Latin-1 to Node; text from a query goes out as its UTF-8 bytes, without breaks.
  const safe = Buffer.from(value.replaceAll(/\p{Cc}/gu, '')).toString('latin1')
  if (at < 0) headers.push(name, safe)
  else headers[at + 1] = safe
}
