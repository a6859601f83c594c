// The checks on every response to a hostile request: no 5xx, the common headers of the service, and for an error a code
// from the service's list with its status, repeated in the body.
import { ERRORS } from '../src/storage/shared/error.ts'
import { parseXml, xmlChild } from '../src/http/protocol/xml.ts'
import type { RawRequest } from './harness.ts'
import type { Answer } from './hostile-client.ts'

const REQUEST_ID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/
const STATUSES = new Map<string, number>(
  Object.entries(ERRORS).map(([code, [status]]) => [code, status]),
)
/** Errors whose status may differ from the list. */
const OTHER_STATUSES: Readonly<Record<string, readonly number[]>> = {
  ConditionNotMet: [304],
  CannotVerifyCopySource: [400, 401, 403, 409, 412, 416, 500],
  InvalidAuthenticationInfo: [401],
}
const XML_LIMITS = { lengthMax: 2 ** 26, depthMax: 16, nodeCountMax: 1_000_000 }

/** The fault of a response; undefined if it has none. */
export function faultOf({ method, path }: RawRequest, answer: Answer): string | undefined {
  const { status, headers, body } = answer
  // The source of a copy may fail with any status.
  const ofSource = headers['x-ms-error-code'] === 'CannotVerifyCopySource'
  if (status >= 500 && !ofSource) return `${status} ${headers['x-ms-error-code']}`
  if (headers['x-ms-request-id'] === undefined) return 'no x-ms-request-id'
  if (!REQUEST_ID.test(headers['x-ms-request-id'])) return 'x-ms-request-id is not a GUID'
  if (!/^\d{4}-\d\d-\d\d$/.test(headers['x-ms-version'] ?? '')) return 'no x-ms-version'
  if (status === 304 || status >= 400) return errorFault(method, answer)
  if (headers['x-ms-error-code'] !== undefined) return 'a success with an error code'
  const isXml = headers['content-type'] === 'application/xml' && path.includes('comp=')
  return isXml && body.length > 0 ? xmlFault(body) : undefined
}

function errorFault(method: string, { status, headers, body }: Answer): string | undefined {
  const code = headers['x-ms-error-code'] ?? ''
  const expected = STATUSES.get(code)
  if (expected === undefined) return `the code ${code} is not in the list`
  if (status !== expected && !OTHER_STATUSES[code]?.includes(status))
    return `${code} with ${status}`
  if (method === 'HEAD' || status === 304) return undefined
  const fault = xmlFault(body)
  if (fault !== undefined) return fault
  const root = parseXml(body, XML_LIMITS)
  const bodyCode = xmlChild(root, 'Code')?.text
  return root.name === 'Error' && bodyCode === code
    ? undefined
    : `the body says ${bodyCode}, not ${code}`
}

function xmlFault(body: Buffer): string | undefined {
  try {
    parseXml(body, XML_LIMITS)
    return undefined
  } catch {
    return `no XML: ${body.toString('latin1', 0, 300)}`
  }
}
