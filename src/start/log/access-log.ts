// Formats a request for the access log. The text begins with the Apache common log format, as Azurite's does, and goes on with
// two quoted texts, where the combined format has Referer and User-Agent: parsers of either format accept it, also those that
// match the whole line. The first is the operation; the second has the rest as name=value. Secrets are left out: signatures in
// the query are redacted, and no header is logged but x-ms-client-request-id.
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
  /** Such as Put Blob. */
  readonly operation: string
  readonly errorCode: string | undefined
  /** x-ms-client-request-id */
  readonly clientRequestId: string | undefined
}

export function accessLine(entry: AccessEntry): string {
  const request = `${entry.method} ${redactUrl(entry.url)} HTTP/${entry.httpVersion}`
  const common = `${entry.remoteAddress} - - [${clfDate(entry.nowMs)}] "${request}" ${entry.status} ${entry.bytes}`
  const { errorCode, clientRequestId } = entry
  const error = errorCode === undefined ? '' : `error=${errorCode} `
  const client =
    clientRequestId === undefined
      ? ''
      : ` client=${escapeUnsafe(clientRequestId.slice(0, CLIENT_REQUEST_ID_MAX))}`
  return `${common} "${entry.operation}" "${error}ms=${roundedMs(entry)}${client}"`
}

/** Longer ones are cut: they would make lines of any length. */
const CLIENT_REQUEST_ID_MAX = 256

function roundedMs({ durationMs }: AccessEntry): number {
  return Math.round(durationMs * 1000) / 1000
}

/** The same as fields for the JSON log. */
export function accessFields(entry: AccessEntry): Readonly<Record<string, unknown>> {
  return {
    remoteAddress: entry.remoteAddress,
    method: entry.method,
    url: redactUrl(entry.url),
    status: entry.status,
    bytes: entry.bytes,
    durationMs: roundedMs(entry),
    requestId: entry.requestId,
    operation: entry.operation,
    ...(entry.errorCode !== undefined && { errorCode: entry.errorCode }),
    ...(entry.clientRequestId !== undefined && {
      clientRequestId: entry.clientRequestId.slice(0, CLIENT_REQUEST_ID_MAX),
    }),
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
