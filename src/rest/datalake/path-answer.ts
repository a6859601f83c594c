// Response headers of paths, the same in every operation.
import { formatHttpDate } from '../../http/protocol/date.ts'
import { contentRange } from '../../http/protocol/range.ts'
import { derived } from '../../kv/derived.ts'
import type { ByteRange } from '../../extent/content/interval-map.ts'
import { accessOf } from '../../storage/blob/path/access.ts'
import { hasFolderMark } from '../../storage/blob/path/link.ts'
import { FOLDER_MARK } from '../../storage/blob/path/path-state.ts'
import type { Blob } from '../../storage/blob/record.ts'
import { formatAcl } from '../../storage/blob/access/acl-text.ts'
import { formatPermissions } from '../../storage/blob/access/permissions.ts'
import { NO_CONTENT_TYPE } from '../../storage/shared/content-headers.ts'
import type { Metadata } from '../../storage/shared/metadata.ts'
import { leaseHeaders } from '../shared/lease-header.ts'
import { pushIf, validators } from '../shared/answer-header.ts'
import { keyHeaders, requestEncryptionHeaders } from '../blob/answer.ts'
import { propertiesHeaders } from './property.ts'

/** Get Properties and Read. */
export function pathHeaders(
  blob: Blob,
  range: ByteRange | undefined,
  nowMs: number,
): readonly string[] {
  const make = () => makeHeaders(blob, range, nowMs)
  // The headers of a lease change with time, so they can't be cached.
  if (range !== undefined || blob.lease !== undefined) return make()
  return derived(blob, 'path headers', make)
}

function makeHeaders(blob: Blob, range: ByteRange | undefined, nowMs: number): string[] {
  const { headers: stored, lengthBytes } = blob
  const { from, to } = range ?? { from: 0, to: lengthBytes }
  const headers = [
    'Content-Length', String(to - from),
    'Accept-Ranges', 'bytes',
    ...systemHeaders(blob),
  ] // prettier-ignore
  const contentType = stored.contentType ?? 'application/octet-stream'
  if (contentType !== NO_CONTENT_TYPE) headers.push('Content-Type', contentType)
  headers.push(...leaseHeaders(blob.lease, nowMs))
  if (stored.contentMd5 !== undefined) {
    headers.push(range === undefined ? 'Content-MD5' : 'x-ms-content-md5', stored.contentMd5)
  }
  if (range !== undefined) headers.push('Content-Range', contentRange(range, lengthBytes))
  pushIf(headers, 'Content-Encoding', stored.contentEncoding)
  pushIf(headers, 'Content-Language', stored.contentLanguage)
  pushIf(headers, 'Content-Disposition', stored.contentDisposition)
  pushIf(headers, 'Cache-Control', stored.cacheControl)
  headers.push(...propertiesHeaders(shownProperties(blob.metadata)))
  pushIf(headers, 'x-ms-encryption-context', blob.encryptionContext)
  if (blob.expiresMs !== undefined) {
    headers.push('x-ms-expiry-time', formatHttpDate(blob.expiresMs))
  }
  return headers
}

function systemHeaders(blob: Blob): string[] {
  return [
    ...validators(blob),
    'x-ms-creation-time', formatHttpDate(blob.createdMs),
    'x-ms-resource-type', isDirectory(blob) ? 'directory' : 'file',
    'x-ms-server-encrypted', String(blob.encryption !== undefined),
    ...(blob.encryption === undefined ? [] : keyHeaders(blob.encryption)),
    ...ownerHeaders(blob),
  ] // prettier-ignore
}

/** Get Status. */
export function statusHeaders(blob: Blob): string[] {
  return ['Content-Length', String(blob.lengthBytes), ...systemHeaders(blob)]
}

/** In a flat account, a blob that is marked as a folder stands for a directory. */
export function isDirectory({ path, metadata, lengthBytes }: Blob): boolean {
  if (path !== undefined) return path.isDirectory === true
  return lengthBytes === 0 && hasFolderMark(metadata)
}

/** The mark is for clients of the Blob service. */
function shownProperties(metadata: Metadata): Metadata {
  return metadata.filter(([name]) => name.toLowerCase() !== FOLDER_MARK)
}

/** Flat accounts have none of these. */
export function ownerHeaders(blob: Blob): string[] {
  if (blob.path === undefined) return []
  const access = accessOf(blob)
  return [
    'x-ms-owner', access.owner,
    'x-ms-group', access.group,
    'x-ms-permissions', formatPermissions(access),
  ] // prettier-ignore
}

export function aclHeaders(blob: Blob): string[] {
  return ['x-ms-acl', formatAcl(accessOf(blob).acl)]
}

/** After a write. */
export function writtenPathHeaders(blob: Blob): string[] {
  return [...validators(blob), ...requestEncryptionHeaders(blob.encryption)]
}
