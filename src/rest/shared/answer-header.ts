// The response headers that containers, blobs, shares and files have in common.
import type { Identity } from '../../auth/identity.ts'
import { formatHttpDate } from '../../http/protocol/date.ts'
import { withoutSignature } from '../../http/protocol/signature-field.ts'
import type { CopyState } from '../../storage/shared/copy/copy-state.ts'
import { etagOf, timestampOf } from '../../storage/shared/etag.ts'

/** ETag and Last-Modified. */
export function validators(object: {
  readonly stamp: number
  readonly modifiedMs: number
}): string[] {
  return ['ETag', etagOf(object.stamp), 'Last-Modified', formatHttpDate(object.modifiedMs)]
}

/** Old records may still hold the signature of the source's SAS. */
export function copyHeaders(copy: CopyState): string[] {
  const headers = [
    'x-ms-copy-id', copy.id,
    'x-ms-copy-source', withoutSignature(copy.source),
    'x-ms-copy-status', copy.status,
    'x-ms-copy-progress', `${copy.copiedBytes}/${copy.totalBytes}`,
  ] // prettier-ignore
  if (copy.completedMs !== undefined) {
    headers.push('x-ms-copy-completion-time', formatHttpDate(copy.completedMs))
  }
  pushIf(headers, 'x-ms-copy-status-description', copy.description)
  if (copy.isIncremental === true) headers.push('x-ms-incremental-copy', 'true')
  if (copy.destinationSnapshot !== undefined) {
    headers.push('x-ms-copy-destination-snapshot', timestampOf(copy.destinationSnapshot))
  }
  return headers
}

export function pushIf(headers: string[], name: string, value: string | undefined): void {
  if (value !== undefined) headers.push(name, value)
}

/** A SAS may override these headers (rscc, rscd, rsce, rscl, rsct). */
export function withOverrides(given: readonly string[], identity: Identity): readonly string[] {
  if (!('responseHeaders' in identity)) return given
  const headers = [...given]
  const overrides = identity.responseHeaders
  setHeader(headers, 'Cache-Control', overrides.cacheControl)
  setHeader(headers, 'Content-Disposition', overrides.contentDisposition)
  setHeader(headers, 'Content-Encoding', overrides.contentEncoding)
  setHeader(headers, 'Content-Language', overrides.contentLanguage)
  setHeader(headers, 'Content-Type', overrides.contentType)
  return headers
}

function setHeader(headers: string[], name: string, value: string | undefined): void {
  if (value === undefined) return
  const at = headers.findIndex((each, i) => i % 2 === 0 && each === name)
  // Node writes headers as Latin-1; text from a query is sent as its UTF-8 bytes, without control characters.
  const safe = Buffer.from(value.replaceAll(/\p{Cc}/gu, '')).toString('latin1')
  if (at < 0) headers.push(name, safe)
  else headers[at + 1] = safe
}
