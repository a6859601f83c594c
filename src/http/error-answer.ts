// A StorageError as the whole answer to a request, for every service.
import { wwwAuthenticate } from '../auth/failure.ts'
import type { ServiceName } from '../auth/request.ts'
import type { StorageError } from '../storage/error.ts'
import { encodeErrorXml, errorHeaders } from './error.ts'
import type { Answer, Request } from './operation.ts'
import { tableErrorAnswer } from './table-error.ts'

/** As much of a request as could be decoded before it failed. */
export type FailedRequest = {
  readonly service: ServiceName
  readonly method: string
  readonly requestId: string
  readonly nowMs: number
  /** Whether the request was authorized, so that the operation itself failed. */
  readonly isRunning: boolean
  /** The operation's name; undefined where no operation matched. */
  readonly operation: string | undefined
  readonly request: Request | undefined
}

export function errorAnswer(error: StorageError, failed: FailedRequest): Answer {
  if (failed.service === 'table') return tableErrorAnswer(error, failed)
  const headers = Object.entries(errorHeaders(error, failed.request?.version)).flat()
  const challenge = wwwAuthenticate(error)
  if (challenge !== undefined) headers.push('WWW-Authenticate', challenge)
  // Neither has a body whose type there would be to tell.
  if (error.status === 304 || failed.method === 'HEAD') return { status: error.status, headers }
  headers.push('Content-Type', 'application/xml')
  return {
    status: error.status,
    headers,
    body: encodeErrorXml(error, failed.requestId, failed.nowMs),
  }
}
