// A request of the admin port as a service sees it, and the service's answer as the admin port gives it. Bodies stream through in
// both directions. Stored content must never run in the origin of the console, so its type travels in a header of its own, and
// the answer tells browsers to save it, not to show it.
import type { Exchange } from '../../../../http/protocol/exchange.ts'
import { OWN_VERSION } from '../../../../http/client/signed-head.ts'
import { parseRequestHead, type RequestHead } from '../../../../http/protocol/request-head.ts'
import type { HeaderLists } from '../../../../http/protocol/response-head.ts'

/** How the journal names the client of such requests, and what brought them. */
export const CONSOLE = 'console'

/** Of the connection, of the browser, or of the API itself. The rest is the service's. */
const NOT_PASSED: ReadonlySet<string> = new Set([
  'host', 'authorization', 'cookie', 'origin', 'referer', 'connection', 'keep-alive', 'transfer-encoding', 'te', 'upgrade',
  'expect', 'accept-encoding', 'date', 'x-ms-date',
]) // prettier-ignore

export type PassedRequest = {
  /** The account, the path and the query, still encoded: `/account/container?restype=container`. */
  readonly target: string
  readonly host: string
  readonly nowMs: number
}

/** Unsigned. */
export function passedHead(
  { method, rawHeaders, headers, httpVersion }: RequestHead,
  { target, host, nowMs }: PassedRequest,
): RequestHead {
  const lines = [`${method} ${target} HTTP/${httpVersion}`, `Host: ${host}`]
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]?.toLowerCase() ?? ''
    if (!NOT_PASSED.has(name) && !name.startsWith('sec-'))
      lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`)
  }
  if (headers['x-ms-version'] === undefined) lines.push(`x-ms-version: ${OWN_VERSION}`)
  if (headers['x-lazuli-client'] === undefined) lines.push(`x-lazuli-client: ${CONSOLE}`)
  lines.push(`x-ms-date: ${new Date(nowMs).toUTCString()}`)
  return parseRequestHead(`${lines.join('\r\n')}\r\n`)
}

export function passedExchange(
  outer: Exchange,
  head: RequestHead,
  { secure }: { readonly secure: boolean },
): Exchange {
  return {
    head,
    body: outer.body,
    secure,
    remoteAddress: outer.remoteAddress,
    connection: outer.connection,
    // The admin port has checked the Host.
    onLoopback: false,
    via: CONSOLE,
    get gone() {
      return outer.gone
    },
    whenGone: (listener) => outer.whenGone(listener),
    whenLeft: (listener) => outer.whenLeft(listener),
    drop: () => outer.drop(),
    admit: (hasAuthenticated) => outer.admit(hasAuthenticated),
    makeLast: () => outer.makeLast(),
    answer: (status, lists, bytes) => outer.answer(status, harmless(lists), bytes),
    begin: (status, lists, ending) => outer.begin(status, harmless(lists), ending),
    write: (bytes, done) => outer.write(bytes, done),
    drained: () => outer.drained(),
    end: () => outer.end(),
  }
}

/** On every answer. */
const SAFE = [
  'Content-Type', 'application/octet-stream',
  'Content-Disposition', 'attachment',
  'X-Content-Type-Options', 'nosniff',
  'Content-Security-Policy', "sandbox; default-src 'none'",
  'Cross-Origin-Resource-Policy', 'same-origin',
  'Cache-Control', 'no-store',
] // prettier-ignore

const PASSED_BACK: ReadonlySet<string> = new Set([
  'content-length', 'content-range', 'content-md5', 'transfer-encoding', 'accept-ranges', 'etag', 'last-modified', 'allow',
  'retry-after', 'dataserviceversion', 'preference-applied', 'vary',
]) // prettier-ignore

/** What people stored with a blob or file: a browser must not act on it. */
const RENAMED: ReadonlySet<string> = new Set([
  'content-type', 'content-disposition', 'content-encoding', 'content-language', 'cache-control',
]) // prettier-ignore

function harmless(lists: HeaderLists): HeaderLists {
  const passed: string[] = []
  for (const list of lists) {
    for (let at = 0; at + 1 < list.length; at += 2) {
      const [name = '', value = ''] = [list[at], list[at + 1]]
      const lower = name.toLowerCase()
      if (RENAMED.has(lower)) passed.push(`x-lazuli-${lower}`, value)
      else if (lower.startsWith('x-ms-') || PASSED_BACK.has(lower)) passed.push(name, value)
    }
  }
  return [SAFE, passed]
}
