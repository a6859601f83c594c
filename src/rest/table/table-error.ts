// Errors of the Table service, in the three recorded forms: OData JSON without x-ms-error-code from operations on
// tables and entities, XML from operations with `comp`, and plain JSON from steps before the operation, such as
// authentication.
import { wwwAuthenticate } from '../../auth/failure.ts'
import type { StorageError } from '../../storage/shared/error.ts'
import { errorHeaders, errorMessage, wireCode } from '../../http/door/error.ts'
import type { FailedRequest } from '../../http/door/error-answer.ts'
import type { Answer } from '../../http/door/operation.ts'
import { XML_DECLARATION, xmlEscape } from '../../http/protocol/xml.ts'

const METADATA_NAMESPACE = 'http://schemas.microsoft.com/ado/2007/08/dataservices/metadata'
const ODATA_JSON = 'application/json;odata=minimalmetadata;streaming=true;charset=utf-8'

export function tableErrorAnswer(error: StorageError, failed: FailedRequest): Answer {
  const { method, request, requestId, nowMs, isRunning } = failed
  const { status } = error
  // No body, so no Content-Type.
  if (method === 'HEAD') return { status, headers: frontHeaders(error) }
  if (request?.query.get('comp')) {
    const headers = [...frontHeaders(error), 'Content-Type', 'application/xml']
    return { status, headers, body: encodeErrorMetadataXml(error, requestId, nowMs) }
  }
  const body = encodeErrorJson(error, requestId, nowMs)
  if (isRunning) return { status, headers: odataErrorHeaders(error, method), body }
  return { status, headers: [...frontHeaders(error), 'Content-Type', 'application/json'], body }
}

/** The headers of an operation's own error, alone or as part of a batch. */
export function odataErrorHeaders(error: StorageError, method: string): string[] {
  const headers = ['X-Content-Type-Options', 'nosniff']
  // Recorded: a missing table and a malformed query are answered without Cache-Control.
  const isEarly =
    error.code === 'TableNotFound' || (error.code === 'InvalidInput' && method === 'GET')
  if (!isEarly) headers.push('Cache-Control', 'no-cache')
  for (const [name, value] of Object.entries(errorHeaders(error))) {
    if (name !== 'x-ms-error-code') headers.push(name, value)
  }
  headers.push('Content-Type', ODATA_JSON)
  return headers
}

function frontHeaders(error: StorageError): string[] {
  const headers = Object.entries(errorHeaders(error)).flat()
  const challenge = wwwAuthenticate(error)
  if (challenge !== undefined) headers.push('WWW-Authenticate', challenge)
  return headers
}

export function encodeErrorJson(error: StorageError, requestId: string, nowMs: number): string {
  return JSON.stringify({
    'odata.error': {
      code: wireCode(error.code),
      message: { lang: 'en-US', value: errorMessage(error, requestId, nowMs) },
    },
  })
}

function encodeErrorMetadataXml(error: StorageError, requestId: string, nowMs: number): string {
  const message = xmlEscape(errorMessage(error, requestId, nowMs))
  return (
    `${XML_DECLARATION}<m:error xmlns:m="${METADATA_NAMESPACE}">` +
    `<m:code>${wireCode(error.code)}</m:code>` +
    `<m:message xml:lang="en-US">${message}</m:message></m:error>`
  )
}
