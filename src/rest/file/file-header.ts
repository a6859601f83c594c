// Headers that requests for files and directories share: lease id, refused conditions, and content headers.
import {
  decodeConditions,
  optionalGuid,
  optionalHeader,
  type HeaderFields,
} from '../../http/protocol/header.ts'
import type { Request } from '../../http/door/operation.ts'
import { checkNoConditions } from '../../storage/shared/condition.ts'
import { NO_CONTENT_TYPE, type ContentHeaders } from '../../storage/shared/content-headers.ts'
import { StorageError } from '../../storage/shared/error.ts'
import type { RestOperation } from '../../storage/file/open/rest-access.ts'
import type { FileGuard } from '../../storage/file/open/rest-guard.ts'

/** FileREST has no conditions; it uses leases and share modes instead. */
export function refuseConditions({ headers }: Request): void {
  checkNoConditions(decodeConditions(headers))
}

export function fileGuard(request: Request, operation: RestOperation): FileGuard {
  refuseConditions(request)
  const leaseId = optionalGuid(request.headers, 'x-ms-lease-id')
  return leaseId === undefined ? { operation } : { operation, leaseId }
}

// prettier-ignore
const CONTENT_HEADERS = [
  ['contentType', 'x-ms-content-type'],
  ['contentEncoding', 'x-ms-content-encoding'],
  ['contentLanguage', 'x-ms-content-language'],
  ['cacheControl', 'x-ms-cache-control'],
  ['contentDisposition', 'x-ms-content-disposition'],
] as const

/**
 * For Set File Properties. Returns undefined if none is sent; otherwise a missing header clears its property. That
 * includes the content type, although a file that was created without one has a default.
 */
export function decodeContentChange(headers: HeaderFields): ContentHeaders | undefined {
  const decoded = decodeContentHeaders(headers)
  return decoded && { contentType: NO_CONTENT_TYPE, ...decoded }
}

/** Returns undefined if none is sent. */
export function decodeContentHeaders(headers: HeaderFields): ContentHeaders | undefined {
  const decoded: { -readonly [K in keyof ContentHeaders]: ContentHeaders[K] } = {}
  for (const [name, header] of CONTENT_HEADERS) {
    const value = optionalHeader(headers, header)
    if (value !== undefined) decoded[name] = value
  }
  const contentMd5 = decodeContentMd5(headers)
  if (contentMd5 !== undefined) decoded.contentMd5 = contentMd5
  return Object.keys(decoded).length === 0 ? undefined : decoded
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** Stored as sent: the service neither compares it with the bytes nor checks its length. */
function decodeContentMd5(headers: HeaderFields): string | undefined {
  const text = optionalHeader(headers, 'x-ms-content-md5')
  if (text !== undefined && !BASE64.test(text)) throw new StorageError('InvalidMd5')
  return text
}
