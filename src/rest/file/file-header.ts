// The headers that requests on files and directories share: the lease, what may not be sent, and the headers of
// the content.
import {
  decodeConditions,
  optionalGuid,
  optionalHeader,
  optionalMd5,
  type HeaderFields,
} from '../../http/header.ts'
import type { Request } from '../../http/operation.ts'
import { checkNoConditions } from '../../storage/condition.ts'
import type { ContentHeaders } from '../../storage/content-headers.ts'
import type { RestOperation } from '../../storage/file/rest-access.ts'
import type { FileGuard } from '../../storage/file/rest-guard.ts'

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

/** Undefined if none is sent; else all of them together, and what is not sent is cleared. */
export function decodeContentHeaders(headers: HeaderFields): ContentHeaders | undefined {
  const decoded: { -readonly [K in keyof ContentHeaders]: ContentHeaders[K] } = {}
  for (const [name, header] of CONTENT_HEADERS) {
    const value = optionalHeader(headers, header)
    if (value !== undefined) decoded[name] = value
  }
  const contentMd5 = optionalMd5(headers, 'x-ms-content-md5')
  if (contentMd5 !== undefined) decoded.contentMd5 = contentMd5
  return Object.keys(decoded).length === 0 ? undefined : decoded
}
