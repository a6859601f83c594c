// Parses the head of a request (RFC 9112), strictly: a head that two parsers could read as two different
// requests is refused, never repaired. Pure: text in, head or `Refusal` out.
import type { IncomingHttpHeaders } from 'node:http'
import { fieldName, Fields, fieldValue } from './field.ts'

export type RequestHead = {
  readonly method: string
  /** As sent: origin form, absolute form or `*`. */
  readonly target: string
  readonly httpVersion: '1.0' | '1.1'
  /** Lower-case names. */
  readonly headers: IncomingHttpHeaders
  /** Name, value, name, value …, in the case and order sent. */
  readonly rawHeaders: readonly string[]
  /** All of this as sent. */
  readonly text: string
  /** The client will send another request on this connection. */
  readonly keepAlive: boolean
  /** The client waits for `100 Continue` before it sends the body. */
  readonly expectsContinue: boolean
  /** From Content-Length; undefined if there is none. */
  readonly lengthBytes: number | undefined
  /** The length of the body is not known in advance; no operation of Azure Storage takes such a body. */
  readonly chunked: boolean
}

export type RefusalStatus = 400 | 408 | 417 | 431

/** The bytes are not a valid request. The connection answers with the status and closes. */
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
  if (!METHODS.has(method)) throw new Refusal(400, 'invalid method')
  const target = text.slice(methodEnd + 1, Math.max(targetEnd, 0))
  if (!TARGET.test(target)) throw new Refusal(400, 'invalid target')
  const httpVersion = versionOf(text, targetEnd)
  const rawHeaders: string[] = []
  const headers = readFields(text, lineEnd + 2, rawHeaders)
  const { host, connection, expect } = headers
  if (host === undefined && httpVersion === '1.1') throw new Refusal(400, 'missing Host')
  const lengthBytes = lengthOf(headers['content-length'])
  const chunked = isChunked(headers['transfer-encoding'], httpVersion, lengthBytes)
  return {
    method,
    target,
    httpVersion,
    headers,
    rawHeaders,
    text,
    keepAlive: staysOpen(connection, httpVersion),
    expectsContinue: isContinueExpected(expect, httpVersion),
    lengthBytes,
    chunked,
  }
}

/**
 * A path, a URL as sent to a proxy, or `*` (RFC 9112, 3.2). Only visible ASCII: clients percent-encode all
 * other characters (RFC 3986, 2.1).
 */
const TARGET = /^(?:\/[!-~]*|https?:\/\/[!-~]+|\*)$/i

function versionOf(text: string, at: number): '1.0' | '1.1' {
  if (text.startsWith(' HTTP/1.1\r', at)) return '1.1'
  if (text.startsWith(' HTTP/1.0\r', at)) return '1.0'
  throw new Refusal(400, 'invalid HTTP version')
}

/** Processing a line may cost more than reading it, so a limit on bytes alone is not enough. */
const HEADER_LINES_MAX = 200

function readFields(text: string, from: number, rawHeaders: string[]): Fields {
  const fields = new Fields()
  for (let at = from; at < text.length;) {
    const end = text.indexOf('\r\n', at)
    const colon = text.indexOf(':', at)
    if (colon < 0 || colon > end) throw new Refusal(400, 'header without a colon')
    const rawName = text.slice(at, colon)
    const name = fieldName(rawName)
    const value = fieldValue(text, colon + 1, end)
    if (name === undefined || value === undefined) throw new Refusal(400, 'invalid header')
    if (rawHeaders.length >= 2 * HEADER_LINES_MAX) throw new Refusal(400, 'too many headers')
    rawHeaders.push(rawName, value)
    const before = fields[name]
    fields[name] = before === undefined ? value : repeated(name, before, value)
    at = end + 2
  }
  return fields
}

/** Fields with a single value: if repeated, the first one counts, as in Node. */
const SINGLE: ReadonlySet<string> = new Set([
  'authorization', 'content-type', 'date', 'etag', 'expires', 'from', 'if-modified-since',
  'if-unmodified-since', 'last-modified', 'location', 'max-forwards', 'proxy-authorization', 'referer',
  'retry-after', 'server', 'user-agent',
]) // prettier-ignore

function repeated(name: string, before: string, value: string): string {
  // The choice between two values would decide where the request ends, or which account it is for.
  if (name === 'content-length' || name === 'host' || name === 'transfer-encoding') {
    throw new Refusal(400, `repeated ${name}`)
  }
  if (SINGLE.has(name)) return before
  return name === 'cookie' ? `${before}; ${value}` : `${before}, ${value}`
}

function lengthOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const lengthBytes = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (!(lengthBytes <= Number.MAX_SAFE_INTEGER)) throw new Refusal(400, 'invalid Content-Length')
  return lengthBytes
}

function isChunked(
  encoding: string | undefined,
  httpVersion: '1.0' | '1.1',
  lengthBytes: number | undefined,
): boolean {
  if (encoding === undefined) return false
  // If there is a length as well, a proxy may have seen another end of the body (RFC 9112, 6.1 and 11.2).
  if (lengthBytes !== undefined || httpVersion === '1.0' || encoding.toLowerCase() !== 'chunked') {
    throw new Refusal(400, 'invalid Transfer-Encoding')
  }
  return true
}

function isContinueExpected(expect: string | undefined, httpVersion: '1.0' | '1.1'): boolean {
  if (expect === undefined) return false
  if (expect.toLowerCase() !== '100-continue') throw new Refusal(417, 'unknown Expect')
  return httpVersion === '1.1'
}

function staysOpen(connection: string | undefined, httpVersion: '1.0' | '1.1'): boolean {
  if (connection === undefined) return httpVersion === '1.1'
  const options = connection.toLowerCase()
  if (options === 'keep-alive') return true
  const words = options.split(',').map((word) => word.trim())
  return !words.includes('close') && (httpVersion === '1.1' || words.includes('keep-alive'))
}
