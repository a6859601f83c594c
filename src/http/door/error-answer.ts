// The answer to a request that failed with a StorageError, for every service except Table.
import { wwwAuthenticate } from '../../auth/failure.ts'
import type { ServiceName } from '../../auth/request.ts'
import { StorageError, type ErrorDetails } from '../../storage/shared/error.ts'
import { encodeErrorXml, errorHeaders } from './error.ts'
import type { Answer, Request } from './operation.ts'
import { isAtLeast } from './version.ts'

/** As much of a request as could be decoded before it failed. */
export type FailedRequest = {
  readonly service: ServiceName
  readonly method: string
  readonly requestId: string
  readonly nowMs: number
  /** The request was authorized; the operation itself failed. */
  readonly isRunning: boolean
  /** The operation's name; undefined if none matched. */
  readonly operation: string | undefined
  readonly request: Request | undefined
}

export function errorAnswer(error: StorageError, failed: FailedRequest): Answer {
  const encoded = serviceError(error, failed)
  const headers = Object.entries(errorHeaders(encoded)).flat()
  const challenge = wwwAuthenticate(error)
  if (challenge !== undefined) headers.push('WWW-Authenticate', challenge)
  // Neither has a body, so neither has a Content-Type.
  if (error.status === 304 || failed.method === 'HEAD') return { status: error.status, headers }
  headers.push('Content-Type', 'application/xml')
  const body = encodeErrorXml(encoded, failed.requestId, failed.nowMs)
  return { status: error.status, headers, body }
}

/** The error with the wording and details of this service and version. */
export function serviceError(
  error: StorageError,
  { service, operation = '', request }: Pick<FailedRequest, 'service' | 'operation' | 'request'>,
): StorageError {
  const { code, status } = error
  const hasSource = request !== undefined && isAtLeast(request.version, COPY_SOURCE_SINCE)
  const isLease = code.startsWith('Lease')
  if (!isLease && code !== 'CannotVerifyCopySource') return error
  const details = hasSource ? error.details : withoutCopySource(error.details)
  return new StorageError(code, details, messageOf(error, service, operation), status)
}

function messageOf({ code, message }: StorageError, service: ServiceName, operation: string) {
  if (code === 'CannotVerifyCopySource') {
    return UNVERIFIED.has(operation) ? UNVERIFIED_SOURCE : message
  }
  return message.replace('the resource', `the ${leasedNoun(service, operation)}`)
}

/** Other operations repeat the message of the source (recorded). */
const UNVERIFIED: ReadonlySet<string> = new Set(['Append Block From URL', 'Put Page From URL'])
const UNVERIFIED_SOURCE = 'Could not verify the copy source within the specified time.'

/** The service's word for the leased resource. */
function leasedNoun(service: ServiceName, operation: string): string {
  if (service === 'file') return operation.includes('Share') ? 'file share' : 'file'
  return operation.includes('Container') ? 'container' : 'blob'
}

/** The oldest version with these details in recorded traffic; at 2022-11-02 there were none. */
const COPY_SOURCE_SINCE = '2025-01-05'

function withoutCopySource(details: ErrorDetails): ErrorDetails {
  const others = Object.entries(details).filter(([name]) => !name.startsWith('CopySource'))
  return Object.fromEntries(others)
}
