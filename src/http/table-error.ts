// A StorageError as an answer of the Table service: OData JSON.
import { wwwAuthenticate } from '../auth/failure.ts'
import type { StorageError } from '../storage/error.ts'
import { encodeErrorJson, errorHeaders } from './error.ts'
import type { FailedRequest } from './error-answer.ts'
import type { Answer } from './operation.ts'

const ERROR_JSON = 'application/json;odata=minimalmetadata;streaming=true;charset=utf-8'

export function tableErrorAnswer(error: StorageError, { requestId, nowMs }: FailedRequest): Answer {
  const headers = Object.entries(errorHeaders(error)).flat()
  const challenge = wwwAuthenticate(error)
  if (challenge !== undefined) headers.push('WWW-Authenticate', challenge)
  headers.push('Content-Type', ERROR_JSON)
  return { status: error.status, headers, body: encodeErrorJson(error, requestId, nowMs) }
}
