// Errors of Data Lake Storage: JSON, with names of its own for what the Blob service has, too. Storage throws the codes of
// blobs where both services share a rule.
import { wwwAuthenticate } from '../../auth/failure.ts'
import { bodyDetails, errorHeaders, errorMessage, wireCode } from '../../http/door/error.ts'
import type { FailedRequest } from '../../http/door/error-answer.ts'
import type { Answer } from '../../http/door/operation.ts'
import { ERRORS, StorageError, type ErrorCode } from '../../storage/shared/error.ts'

export const LAKE_SERVER_HEADER = 'Windows-Azure-HDFS/1.0 Microsoft-HTTPAPI/2.0'

const NAMES: Partial<Readonly<Record<ErrorCode, ErrorCode>>> = {
  BlobAlreadyExists: 'PathAlreadyExists',
  BlobNotFound: 'PathNotFound',
  ContainerAlreadyExists: 'FilesystemAlreadyExists',
  ContainerBeingDeleted: 'FilesystemBeingDeleted',
  ContainerNotFound: 'FilesystemNotFound',
  DirectoryIsNotEmpty: 'DirectoryNotEmpty',
  LeaseIdMismatchWithBlobOperation: 'LeaseIdMismatch',
  LeaseIdMismatchWithContainerOperation: 'LeaseIdMismatch',
  LeaseNotPresentWithBlobOperation: 'LeaseNotPresent',
  LeaseNotPresentWithContainerOperation: 'LeaseNotPresent',
}

/** Where other services have the same code, with a message of their own. */
const MESSAGES: Partial<Readonly<Record<ErrorCode, string>>> = {
  DirectoryNotEmpty:
    'The recursive query parameter value must be true to delete a non-empty directory.',
  // Files and blobs have the service's misspelling; here it is corrected.
  InvalidResourceName: 'The specified resource name contains invalid characters.',
}

export function lakeErrorAnswer(error: StorageError, failed: FailedRequest): Answer {
  const named = lakeError(error)
  const headers = Object.entries(errorHeaders(named)).flat()
  const challenge = wwwAuthenticate(error)
  if (challenge !== undefined) headers.push('WWW-Authenticate', challenge)
  const { status } = named
  if (status === 304 || failed.method === 'HEAD') return { status, headers }
  headers.push('Content-Type', 'application/json;charset=utf-8')
  const message = errorMessage(named, failed.requestId, failed.nowMs)
  const detail = bodyDetails(named)
  const hasDetail = Object.keys(detail).length > 0
  const body = JSON.stringify({
    error: { code: wireCode(named.code), message, ...(hasDetail && { detail }) },
  })
  return { status, headers, body }
}

export function lakeError(error: StorageError): StorageError {
  const code = NAMES[error.code] ?? error.code
  const message = MESSAGES[code]
  if (code === error.code && message === undefined) return error
  return new StorageError(code, error.details, message ?? ERRORS[code][1], ERRORS[code][0])
}

/** The code of an error inside an operation that goes on, as in `failedEntries`. */
export function lakeCode(error: StorageError): string {
  return wireCode(lakeError(error).code)
}
