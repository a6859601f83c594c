// What every answer has to be, whatever was asked: not 5xx, with the headers of the service, and an error
// that is in the service's list, with its status and a body that says the same.
import { ERRORS } from '../src/storage/shared/error.ts'
import { parseXml, xmlChild } from '../src/http/protocol/xml.ts'
import type { RawRequest } from './harness.ts'
import type { Answer } from './hostile-client.ts'

const REQUEST_ID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/
const STATUSES = new Map<string, number>(
  Object.entries(ERRORS).map(([code, [status]]) => [code, status]),
)
/** Errors whose status is not always that of the list. */
const OTHER_STATUSES: Readonly<Record<string, readonly number[]>> = {
  ConditionNotMet: [304],
  CannotVerifyCopySource: [400, 401, 403, 409, 412, 416, 500],
  InvalidAuthenticationInfo: [401],
}
const XML_LIMITS = { lengthMax: 2 ** 26, depthMax: 16, nodeCountMax: 1_000_000 }

/** What is wrong with an answer; undefined if nothing is. */
export function faultOf({ method, path }: RawRequest, answer: Answer): string | undefined {
  const { status, headers, body } = answer
  // The source of a copy may fail as it likes.
  const ofSource = headers['x-ms-error-code'] === 'CannotVerifyCopySource'
  if (status >= 500 && !ofSource) return `${status} ${headers['x-ms-error-code']}`
  if (headers['x-ms-request-id'] === undefined) return 'no x-ms-request-id'
  if (!REQUEST_ID.test(headers['x-ms-request-id'])) return 'x-ms-request-id is no GUID'
  if (!/^\d{4}-\d\d-\d\d$/.test(headers['x-ms-version'] ?? '')) return 'no x-ms-version'
  if (status === 304 || status >= 400) return errorFault(method, answer)
  if (headers['x-ms-error-code'] !== undefined) return 'an error code in a success'
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
  const said = xmlChild(root, 'Code')?.text
  return root.name === 'Error' && said === code ? undefined : `the body says ${said}, not ${code}`
}

function xmlFault(body: Buffer): string | undefined {
  try {
    parseXml(body, XML_LIMITS)
    return undefined
  } catch {
    return `no XML: ${body.toString('latin1', 0, 300)}`
  }
}
