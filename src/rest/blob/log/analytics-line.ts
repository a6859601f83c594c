// A line of a Storage Analytics log: one request and its outcome, in the fields of "Storage Analytics Log Format",
// versions 1.0 and 2.0.
import type { Identity } from '../../../auth/identity.ts'
import { headerText } from '../../../auth/request.ts'
import type { RequestReport } from '../../../http/door/serve.ts'
import { hideSignature } from '../../../http/protocol/signature-field.ts'

export type LogKind = 'read' | 'write' | 'delete'

/** Which of the three switches of <Logging> applies to a request. */
export function logKindOf({ operation, writes }: RequestReport): LogKind {
  if (operation.startsWith('Delete ') || operation === 'Clear Messages') return 'delete'
  return writes ? 'write' : 'read'
}

export function analyticsLine(
  report: RequestReport,
  version: string,
  startedMs: number,
  seed: { readonly account: string },
): string {
  const { request, identity, status } = report
  const header = (name: string): string => (request === undefined ? '' : headerText(request, name))
  const latencyMs = String(Math.round(report.durationMs))
  const caller = callerOf(identity)
  const fields = [
    version,
    `${new Date(startedMs).toISOString().slice(0, -1)}0000Z`,
    operationType(report),
    requestStatus(report, caller),
    String(status),
    latencyMs,
    latencyMs,
    caller,
    caller === 'authenticated' ? seed.account : '',
    seed.account,
    request?.service ?? '',
    quoted(urlOf(report)),
    quoted(objectKey(report, seed.account)),
    report.requestId,
    '0',
    report.remoteAddress,
    request?.version ?? '',
    String(headerBytes(request?.rawHeaders ?? [])),
    String(report.requestBytes),
    String(headerBytes(report.answerHeaders)),
    String(report.responseBytes),
    String(report.requestBytes),
    quoted(header('content-md5')),
    quoted(answerHeader(report, 'Content-MD5')),
    quoted(answerHeader(report, 'ETag')),
    quoted(answerHeader(report, 'Last-Modified')),
    quoted(conditionsOf(header)),
    quoted(header('user-agent')),
    quoted(hideSignature(header('referer'))),
    quoted(header('x-ms-client-request-id')),
  ]
  return version === '1.0' ? fields.join(';') : [...fields, ...tokenFields(identity)].join(';')
}

type Caller = 'authenticated' | 'anonymous' | 'sas'

function callerOf(identity: Identity | undefined): Caller {
  if (identity === undefined || identity.kind === 'anonymous') return 'anonymous'
  return identity.kind === 'sharedKey' || identity.kind === 'bearer' ? 'authenticated' : 'sas'
}

const PREFIXES: Readonly<Record<Caller, string>> = {
  authenticated: '',
  anonymous: 'Anonymous',
  sas: 'SAS',
}

/** "Storage Analytics Logged Operations and Status Messages". */
function requestStatus({ status, errorCode }: RequestReport, caller: Caller): string {
  if (status < 400) return `${PREFIXES[caller]}Success`
  if (status === 401 || status === 403) {
    return caller === 'sas' ? 'SASAuthorizationError' : 'AuthorizationError'
  }
  if (status === 503) return `${PREFIXES[caller]}ThrottlingError`
  if (errorCode === 'OperationTimedOut') return `${PREFIXES[caller]}ServerTimeoutError`
  return `${PREFIXES[caller]}${status >= 500 ? 'ServerOtherError' : 'ClientOtherError'}`
}

/** Operations whose name in the log is not simply their name without spaces. */
const OPERATION_TYPES: Readonly<Record<string, string>> = {
  'Get Service Properties': 'GetBlobServiceProperties',
  'Set Service Properties': 'SetBlobServiceProperties',
  'Get Service Stats': 'GetBlobServiceStats',
  Preflight: 'BlobPreflightRequest',
  'Put Page Blob': 'PutBlob',
  'Put Append Blob': 'PutBlob',
  'Clear Pages': 'ClearPage',
  'Get Page Ranges': 'GetPageRegions',
  'Get Page Ranges Diff': 'GetPageRegions',
  'Find Blobs by Tags': 'FindBlobsByTags',
  'Find Blobs by Tags in Container': 'FindBlobsByTags',
}

function operationType({ operation, request }: RequestReport): string {
  if (operation === 'Lease Blob' || operation === 'Lease Container') {
    const action = request === undefined ? '' : headerText(request, 'x-ms-lease-action')
    const verb = action.slice(0, 1).toUpperCase() + action.slice(1).toLowerCase()
    return `${verb}${operation.slice(6)}Lease`
  }
  return OPERATION_TYPES[operation] ?? operation.replaceAll(' ', '')
}

/** Contains the host exactly as sent, so the result is not necessarily a valid URL. */
function urlOf({ request, url }: RequestReport): string {
  // Clients send full URLs to a proxy.
  if (request === undefined || !url.startsWith('/')) return hideSignature(url)
  const host = headerText(request, 'host') || 'localhost'
  return hideSignature(`${request.secure ? 'https' : 'http'}://${host}${url}`)
}

function objectKey({ request }: RequestReport, account: string): string {
  return `/${[account, ...(request?.path ?? [])].join('/')}`
}

function answerHeader({ answerHeaders }: RequestReport, name: string): string {
  const at = answerHeaders.findIndex((each, i) => i % 2 === 0 && each === name)
  return at < 0 ? '' : (answerHeaders[at + 1] ?? '')
}

function headerBytes(rawHeaders: readonly string[]): number {
  return rawHeaders.reduce((sum, text) => sum + Buffer.byteLength(text) + 2, 0)
}

const CONDITIONS = ['If-Match', 'If-None-Match', 'If-Modified-Since', 'If-Unmodified-Since']

function conditionsOf(header: (name: string) => string): string {
  const sent = CONDITIONS.map((name) => [name, header(name.toLowerCase())] as const)
  return sent
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}=${value}`)
    .join(';')
}

/** The claims of the token, which version 2.0 adds. */
function tokenFields(identity: Identity | undefined): string[] {
  const claims = identity?.kind === 'bearer' ? identity.claims : undefined
  const claim = (name: string): string => {
    const value: unknown = claims === undefined ? undefined : Reflect.get(claims, name)
    return typeof value === 'string' ? quoted(value) : ''
  }
  const names = ['oid', 'tid', 'appid', 'aud', 'iss', 'upn']
  return [...names.map(claim), '', '']
}

/** "Any field that may contain a quote, a semicolon or a newline is HTML encoded and quoted." */
function quoted(text: string): string {
  if (text === '') return ''
  const encoded = text.replaceAll(/[&<>"\r\n]/g, (character) => ENTITIES[character] ?? ' ')
  return `"${encoded}"`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\n': '&#10;',
  '\r': '&#13;',
}
