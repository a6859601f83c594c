// The headers that requests on files and directories share: the lease, what may not be sent, and the headers of
// the content.
import {
  decodeConditions,
  optionalGuid,
  optionalHeader,
  type HeaderFields,
} from '../../http/protocol/header.ts'
import type { Request } from '../../http/door/operation.ts'
import { checkNoConditions } from '../../storage/shared/condition.ts'
import { NO_TYPE, type ContentHeaders } from '../../storage/shared/content-headers.ts'
import { StorageError } from '../../storage/shared/error.ts'
import type { RestOperation } from '../../storage/file/open/rest-access.ts'
import type { FileGuard } from '../../storage/file/open/rest-guard.ts'

/** FileREST has no conditions: leases and share modes are in their place. */
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
 * For Set File Properties: undefined if none is sent; else all of them together, and what is not sent is cleared. So
 * is the type, which a file that was created without one has all the same.
 */
export function decodeContentChange(headers: HeaderFields): ContentHeaders | undefined {
  const decoded = decodeContentHeaders(headers)
  return decoded && { contentType: NO_TYPE, ...decoded }
}

/** Undefined if none is sent. */
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

/** Kept and given back as it is sent: the service neither compares it with the bytes nor asks for 16 of them. */
function decodeContentMd5(headers: HeaderFields): string | undefined {
  const text = optionalHeader(headers, 'x-ms-content-md5')
  if (text !== undefined && !BASE64.test(text)) throw new StorageError('InvalidMd5')
  return text
}
