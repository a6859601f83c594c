// The head of a request (RFC 9112), read strictly: what two readers could take for two different requests
// is refused, never repaired. Pure: text in, head or `Refusal` out.
import type { IncomingHttpHeaders } from 'node:http'
import { fieldName, Fields, fieldValue } from './field.ts'

export type RequestHead = {
  readonly method: string
  /** As sent: origin form, absolute form or `*`. */
  readonly target: string
  readonly httpVersion: '1.0' | '1.1'
  /** Lower-case names. */
  readonly headers: IncomingHttpHeaders
  /** Name, value, name, value …, in the case and the order in which they came. */
  readonly rawHeaders: readonly string[]
  /** The client will send another request on this connection. */
  readonly keepAlive: boolean
  /** The client waits for `100 Continue` before it sends the body. */
  readonly waits: boolean
  /** From Content-Length; undefined when there is none. */
  readonly lengthBytes: number | undefined
  /** The body has no length that is known before; no operation of Azure Storage takes one. */
  readonly chunked: boolean
}

export type RefusalStatus = 400 | 408 | 417 | 431

/** Bytes that are no request: answered by the connection itself, which ends with it. */
export class Refusal extends Error {
  readonly status: RefusalStatus

  constructor(status: RefusalStatus, reason: string) {
    super(reason)
    this.status = status
  }
}

const METHODS: ReadonlySet<string> = new Set(
  ['GET', 'HEAD', 'PUT', 'POST', 'DELETE', 'PATCH', 'MERGE', 'OPTIONS', 'TRACE'], // prettier-ignore
)

/** `text` is Latin-1, from the request line to the line end of the last header. */
export function parseRequestHead(text: string): RequestHead {
  const lineEnd = text.indexOf('\r\n')
  const methodEnd = text.indexOf(' ')
  const targetEnd = lineEnd - ' HTTP/1.1'.length
  const method = text.slice(0, Math.max(methodEnd, 0))
  if (!METHODS.has(method)) throw new Refusal(400, 'the method')
  const target = text.slice(methodEnd + 1, Math.max(targetEnd, 0))
  if (!TARGET.test(target)) throw new Refusal(400, 'the target')
  const httpVersion = versionOf(text, targetEnd)
  const rawHeaders: string[] = []
  const headers = readFields(text, lineEnd + 2, rawHeaders)
  return checkedHead(method, target, httpVersion, headers, rawHeaders)
}

/**
 * A path, a URL as a proxy is asked for it, or `*` (RFC 9112, 3.2). Visible ASCII: other characters are
 * percent-encoded by whoever sends them (RFC 3986, 2.1).
 */
const TARGET = /^(?:\/[!-~]*|https?:\/\/[!-~]+|\*)$/i

function versionOf(text: string, at: number): '1.0' | '1.1' {
  if (text.startsWith(' HTTP/1.1\r', at)) return '1.1'
  if (text.startsWith(' HTTP/1.0\r', at)) return '1.0'
  throw new Refusal(400, 'the version of HTTP')
}

/** What is done with each line may cost more than to read it, so the bytes are no limit by themselves. */
const HEADER_LINES_MAX = 200

function readFields(text: string, from: number, rawHeaders: string[]): Fields {
  const fields = new Fields()
  for (let at = from; at < text.length;) {
    const end = text.indexOf('\r\n', at)
    const colon = text.indexOf(':', at)
    if (colon < 0 || colon > end) throw new Refusal(400, 'a header without a colon')
    const rawName = text.slice(at, colon)
    const name = fieldName(rawName)
    const value = fieldValue(text, colon + 1, end)
    if (name === undefined || value === undefined) throw new Refusal(400, 'a header')
    if (rawHeaders.length >= 2 * HEADER_LINES_MAX) throw new Refusal(400, 'too many headers')
    rawHeaders.push(rawName, value)
    const before = fields[name]
    fields[name] = before === undefined ? value : repeated(name, before, value)
    at = end + 2
  }
  return fields
}

/** Fields that hold one value: of several, the first counts, as in Node. */
const SINGLE: ReadonlySet<string> = new Set([
  'authorization', 'content-type', 'date', 'etag', 'expires', 'from', 'if-modified-since',
  'if-unmodified-since', 'last-modified', 'location', 'max-forwards', 'proxy-authorization', 'referer',
  'retry-after', 'server', 'user-agent',
]) // prettier-ignore

function repeated(name: string, before: string, value: string): string {
  // Which of two counts decides where a request ends, or whose it is.
  if (name === 'content-length' || name === 'host' || name === 'transfer-encoding') {
    throw new Refusal(400, `${name} twice`)
  }
  if (SINGLE.has(name)) return before
  return name === 'cookie' ? `${before}; ${value}` : `${before}, ${value}`
}

function checkedHead(
  method: string,
  target: string,
  httpVersion: '1.0' | '1.1',
  headers: Fields,
  rawHeaders: readonly string[],
): RequestHead {
  const { host, connection, expect } = headers
  if (host === undefined && httpVersion === '1.1') throw new Refusal(400, 'no Host')
  const lengthBytes = lengthOf(headers['content-length'])
  const chunked = isChunked(headers['transfer-encoding'], httpVersion, lengthBytes)
  const keepAlive = staysOpen(connection, httpVersion)
  const waits = expect !== undefined && isContinue(expect) && httpVersion === '1.1'
  return {
    method,
    target,
    httpVersion,
    headers,
    rawHeaders,
    keepAlive,
    waits,
    lengthBytes,
    chunked,
  }
}

function lengthOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const lengthBytes = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (!(lengthBytes <= Number.MAX_SAFE_INTEGER)) throw new Refusal(400, 'Content-Length')
  return lengthBytes
}

function isChunked(
  encoding: string | undefined,
  httpVersion: '1.0' | '1.1',
  lengthBytes: number | undefined,
): boolean {
  if (encoding === undefined) return false
  // With a length beside it, a proxy may have seen the end elsewhere (RFC 9112, 6.1 and 11.2).
  if (lengthBytes !== undefined || httpVersion === '1.0' || encoding.toLowerCase() !== 'chunked') {
    throw new Refusal(400, 'Transfer-Encoding')
  }
  return true
}

function isContinue(expect: string): boolean {
  if (expect.toLowerCase() !== '100-continue') throw new Refusal(417, 'Expect')
  return true
}

function staysOpen(connection: string | undefined, httpVersion: '1.0' | '1.1'): boolean {
  if (connection === undefined) return httpVersion === '1.1'
  const options = connection.toLowerCase()
  if (options === 'keep-alive') return true
  const words = options.split(',').map((word) => word.trim())
  return !words.includes('close') && (httpVersion === '1.1' || words.includes('keep-alive'))
}
