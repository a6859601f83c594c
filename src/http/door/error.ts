// Encodes a StorageError as XML and headers, for blobs, queues and files; tables have their own encoding
// (rest/table/table-error.ts). The name of a detail decides where it goes: into a header or an XML element.
import { StoreUnavailable } from '../../kv/engine/unavailable.ts'
import { ExtentLimitReached, ExtentRetired } from '../../extent/error.ts'
import { StorageError, type ErrorCode, type ErrorDetails } from '../../storage/shared/error.ts'
import { XML_DECLARATION, xmlElement, xmlEscape } from '../protocol/xml.ts'

/** Details that are sent as headers. */
const HEADER_DETAILS: ReadonlySet<string> = new Set([
  'Allow',
  'Content-Range',
  'Retry-After',
  'WWW-Authenticate',
  'x-ms-existing-resource-type',
  'x-ms-is-soft-deleted',
])

/** XML details that are also sent as headers. */
const COPY_SOURCE_HEADERS: Readonly<Record<string, string>> = {
  CopySourceStatusCode: 'x-ms-copy-source-status-code',
  CopySourceErrorCode: 'x-ms-copy-source-error-code',
}

/** Details echo client input; the limit keeps unauthenticated clients from getting much more back than they send. */
const DETAIL_LENGTH_MAX = 8 * 1024

/** The StorageError to answer with; undefined for a bug of ours. */
export function storageErrorOf(error: unknown): StorageError | undefined {
  if (error instanceof StorageError) return error
  if (error instanceof ExtentLimitReached) return new StorageError('MemoryExtentStoreAtSizeLimit')
  // The upload took so long to commit that its extent was retired; the client may retry.
  if (error instanceof ExtentRetired) return new StorageError('ServerBusy')
  if (error instanceof StoreUnavailable)
    return new StorageError('ServerBusy', { 'Retry-After': '1' })
  return undefined
}

/** The code that clients see: an unmet condition is ConditionNotMet, whether 304 or 412. */
export function wireCode(code: ErrorCode): string {
  return code === 'NotModified' ? 'ConditionNotMet' : code
}

/** `x-ms-error-code` and the error's own headers; Content-Type is added with the body. */
export function errorHeaders(error: StorageError): Readonly<Record<string, string>> {
  const headers: Record<string, string> = { 'x-ms-error-code': wireCode(error.code) }
  for (const [name, value] of Object.entries(error.details)) {
    if (HEADER_DETAILS.has(name)) headers[name] = value
    const copySource = COPY_SOURCE_HEADERS[name]
    if (copySource !== undefined) headers[copySource] = value
  }
  return headers
}

export function encodeErrorXml(error: StorageError, requestId: string, nowMs: number): string {
  let body = `${XML_DECLARATION}<Error><Code>${wireCode(error.code)}</Code>`
  body += `<Message>${xmlEscape(errorMessage(error, requestId, nowMs))}</Message>`
  for (const [name, value] of Object.entries(bodyDetails(error))) body += xmlElement(name, value)
  return `${body}</Error>`
}

/** What the body of an error has besides code and message. */
export function bodyDetails(error: StorageError): ErrorDetails {
  return Object.fromEntries(
    Object.entries(xmlDetails(error))
      .filter(([name]) => !HEADER_DETAILS.has(name))
      .map(([name, value]) => [name, value.slice(0, DETAIL_LENGTH_MAX)]),
  )
}

/** Every InvalidXmlDocument has a place; line 0 is the document as a whole. */
const NO_PLACE: ErrorDetails = { LineNumber: '0', LinePosition: '0', Reason: '' }

function xmlDetails({ code, details }: StorageError): ErrorDetails {
  return code === 'InvalidXmlDocument' ? { ...NO_PLACE, ...details } : details
}

export function errorMessage(error: StorageError, requestId: string, nowMs: number): string {
  const time = new Date(nowMs).toISOString().replace('Z', '0000Z')
  return `${error.message}\nRequestId:${requestId}\nTime:${time}`
}
