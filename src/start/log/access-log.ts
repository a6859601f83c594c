// Formats a request for the access log, in the Apache common log format, as Azurite does. Secrets are left out:
// signatures in the query are redacted, and headers are not logged.
import { fieldNameOf } from '../../http/protocol/signature-field.ts'

export type AccessEntry = {
  readonly remoteAddress: string
  /** When the request was answered. */
  readonly nowMs: number
  readonly method: string
  /** Path and query as the client sent them. */
  readonly url: string
  readonly httpVersion: string
  readonly status: number
  /** Length of the response body. */
  readonly bytes: number
  readonly durationMs: number
  readonly requestId: string
}

export function accessLine(entry: AccessEntry): string {
  const request = `${entry.method} ${redactUrl(entry.url)} HTTP/${entry.httpVersion}`
  return `${entry.remoteAddress} - - [${clfDate(entry.nowMs)}] "${request}" ${entry.status} ${entry.bytes}`
}

/** The same as fields for the JSON log. */
export function accessFields(entry: AccessEntry): Readonly<Record<string, unknown>> {
  return {
    remoteAddress: entry.remoteAddress,
    method: entry.method,
    url: redactUrl(entry.url),
    status: entry.status,
    bytes: entry.bytes,
    durationMs: Math.round(entry.durationMs * 1000) / 1000,
    requestId: entry.requestId,
  }
}

// `sig` is the signature of a SAS. The others are not parameters of Azure Storage, but often contain secrets.
const SECRET_PARAMETERS = new Set([
  'sig',
  'signature',
  'token',
  'access_token',
  'code',
  'key',
  'pwd',
])

export function redactUrl(url: string): string {
  const queryAt = url.indexOf('?')
  if (queryAt < 0) return escapeUnsafe(url)
  const query = url
    .slice(queryAt + 1)
    .replaceAll(/([^&=;]*)=([^&]*)/g, (pair, name: string) =>
      SECRET_PARAMETERS.has(fieldNameOf(name)) ? `${name}=REDACTED` : pair,
    )
  return escapeUnsafe(`${url.slice(0, queryAt)}?${query}`)
}

// oxlint-disable-next-line no-control-regex -- control characters are what is replaced
const UNSAFE = /["\\\u0000-\u001f\u007f-\u009f]/g

/** Escapes characters that could end the quoted request or begin a new line. */
function escapeUnsafe(text: string): string {
  return text.replaceAll(UNSAFE, (c) => `%${c.charCodeAt(0).toString(16).padStart(2, '0')}`)
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

// Many requests share a second; formatting a date costs more than the rest of the line.
let cachedSecond = -1
let cachedDate = ''

function clfDate(nowMs: number): string {
  const second = Math.floor(nowMs / 1000)
  if (second === cachedSecond) return cachedDate
  const date = new Date(second * 1000)
  const day = String(date.getUTCDate()).padStart(2, '0')
  const time = date.toISOString().slice(11, 19)
  cachedDate = `${day}/${MONTHS[date.getUTCMonth()]}/${date.getUTCFullYear()}:${time} +0000`
  cachedSecond = second
  return cachedDate
}
