// Parses and writes multipart/mixed (RFC 2046) for batches: each part holds an HTTP request or answer. Lines may
// end in LF alone, a preamble and an epilogue are skipped, and an empty line at the end may be missing: clients do
// all of this. Bodies are in memory, limited by the caller, and parsed in one pass.
import assert from 'node:assert/strict'
import { invalidHeader, missingHeader, StorageError } from '../../storage/shared/error.ts'
import { fieldName, Fields, fieldValue, isFieldValue, trimBlanks } from './field.ts'
import type { HeaderFields } from './header.ts'

export type MultipartPart = {
  /** Lower-case names. */
  readonly headers: HeaderFields
  readonly body: Buffer
}

export type HttpRequestPart = {
  readonly method: string
  /** As sent (absolute, a path, or a path without its first slash), percent-encoded to ASCII. */
  readonly url: string
  /** Lower-case names; the values of a repeated one are joined. */
  readonly headers: HeaderFields
  /** Name, value, name, value …, as sent. */
  readonly rawHeaders: readonly string[]
  readonly body: Buffer
}

export type MultipartSource = {
  /** Name, value, name, value … */
  readonly headers: readonly string[]
  readonly body: PartBody
}

/** Pieces in order: Latin-1 text, or bytes. */
type PartBody = readonly (string | Uint8Array)[]

/** More than the services accept (Blob 256, Table 100), because their limits have errors of their own. */
const PART_COUNT_MAX = 1000
/** As much as a connection accepts: a URL with two keys of 1 KiB, percent-encoded, needs a third of it. */
const HEAD_BYTES_MAX = 64 * 1024

const LF = 0x0a
const CR = 0x0d
const DASH = 0x2d

const PARAMETER = /;\s*([^\s=;]+)\s*=\s*(?:"([^"]*)"\s*|([^;]*))/g
const BOUNDARY = /^[ !#-~]{0,69}[!#-~]$/
const METHOD = /^[A-Z]{1,20}$/
const UNENCODED = /[^\x21-\x7e]/g

/** Azure SDKs for Python send `boundary================1==`, unquoted (Azurite#2413). */
export function parseMultipartBoundary(contentType: string | undefined): string {
  if (contentType === undefined || contentType === '') throw missingHeader('Content-Type')
  const boundaries: string[] = []
  for (const [, name = '', quoted, plain = ''] of contentType.matchAll(PARAMETER)) {
    if (name.toLowerCase() === 'boundary') boundaries.push(quoted ?? plain.trim())
  }
  const [boundary = ''] = boundaries
  if (!/^multipart\/mixed\s*(?:;|$)/i.test(contentType) || !BOUNDARY.test(boundary)) {
    throw invalidHeader('Content-Type', contentType)
  }
  if (boundaries.length > 1) throw malformed('It has more than one boundary.')
  return boundary
}

export function parseMultipart(
  body: Buffer,
  boundary: string,
  countMax: number = PART_COUNT_MAX,
): MultipartPart[] {
  const parts: MultipartPart[] = []
  let before = findDelimiter(body, boundary, 0)
  while (!before.isLast) {
    if (parts.length === countMax) throw malformed(`It has more than ${countMax} parts.`)
    const after = findDelimiter(body, boundary, before.end)
    // The line break before a delimiter belongs to the delimiter.
    const bytes = body.subarray(before.end, lineBreakBefore(body, before.end, after.start))
    const head = readHead(bytes)
    parts.push({ headers: readFields(head.text, 0).headers, body: bytes.subarray(head.end) })
    before = after
  }
  return parts
}

/** Parses a request in a part: `application/http`. */
export function parseHttpRequestPart(bytes: Buffer): HttpRequestPart {
  // RFC 9112, 2.2: an empty line before the request line is ignored.
  const request = trimLineBreaks(bytes)
  const { text, end } = readHead(request)
  const line = lineAt(text, 0)
  return {
    ...parseRequestLine(text.slice(0, line.end)),
    ...readFields(text, line.next),
    // Clients put empty lines before and after a body (JSON, Atom); they are not part of it.
    body: trimLineBreaks(request.subarray(end)),
  }
}

/** The URL reaches from the first blank to the last: a name may contain unencoded blanks. */
function parseRequestLine(text: string): { readonly method: string; readonly url: string } {
  const line = trimBlanks(text, 0, text.length)
  const urlStart = line.indexOf(' ')
  const urlEnd = line.lastIndexOf(' ')
  const method = line.slice(0, Math.max(0, urlStart))
  const url = trimBlanks(line, Math.max(0, urlStart), Math.max(0, urlEnd))
  const isHttp = line.endsWith(' HTTP/1.1') || line.endsWith(' HTTP/1.0')
  if (!isHttp || !METHOD.test(method) || url === '' || !isFieldValue(url)) {
    throw malformed('A request line is not valid.')
  }
  return { method, url: percentEncoded(url) }
}

/** Ends without a line break: a changeset inside a batch then looks like the service's. */
export function encodeMultipart(boundary: string, parts: readonly MultipartSource[]): Buffer {
  assert(BOUNDARY.test(boundary))
  const delimiter = `--${boundary}\r\n`
  const chunks: (string | Uint8Array)[] = []
  for (const { headers, body } of parts) {
    chunks.push(`${delimiter}${encodeHeaders(headers)}\r\n`, ...body, '\r\n')
  }
  chunks.push(`--${boundary}--`)
  return joined(chunks)
}

/**
 * An answer in a part. The empty line after the headers is written even without a body: the Go client for tables
 * refuses an answer without it. The Blob service omits it (pgbackrest#2786), but its clients accept it.
 */
export function encodeHttpResponsePart(
  status: number,
  reason: string,
  headers: readonly string[],
  body: string | Uint8Array = '',
): PartBody {
  assert(isFieldValue(reason))
  const head = `HTTP/1.1 ${status} ${reason}\r\n${encodeHeaders(headers)}\r\n`
  return [head, typeof body === 'string' ? Buffer.from(body) : body]
}

/** Text is written as Latin-1. */
function joined(chunks: readonly (string | Uint8Array)[]): Buffer {
  let lengthBytes = 0
  for (const chunk of chunks) lengthBytes += chunk.length
  const whole = Buffer.allocUnsafe(lengthBytes)
  let at = 0
  for (const chunk of chunks) {
    if (typeof chunk === 'string') whole.write(chunk, at, 'latin1')
    else whole.set(chunk, at)
    at += chunk.length
  }
  return whole
}

type Delimiter = {
  readonly start: number
  /** After its line break. */
  readonly end: number
  readonly isLast: boolean
}

/** The next line from `from` on that is `--boundary` or `--boundary--`. */
function findDelimiter(body: Buffer, boundary: string, from: number): Delimiter {
  const text = Buffer.from(`--${boundary}`, 'latin1')
  let start = body.indexOf(text, from)
  while (start !== -1) {
    const after = start + text.length
    const isLast = body[after] === DASH && body[after + 1] === DASH
    const end = endOfPadding(body, isLast ? after + 2 : after)
    if ((start === 0 || body[start - 1] === LF) && end !== undefined) {
      return { start, end, isLast }
    }
    start = body.indexOf(text, after)
  }
  throw malformed('A boundary is missing.')
}

/** RFC 2046, 5.1.1: a delimiter may be followed by blanks; anything else makes it ordinary text. */
function endOfPadding(body: Buffer, from: number): number | undefined {
  let at = from
  while (body[at] === 0x20 || body[at] === 0x09) at += 1
  if (at === body.length) return at
  if (body[at] === LF) return at + 1
  return body[at] === CR && body[at + 1] === LF ? at + 2 : undefined
}

/** Where the text before `end` ends, without the line break that may follow it. */
function lineBreakBefore(body: Buffer, from: number, end: number): number {
  let at = end
  if (at > from && body[at - 1] === LF) at -= 1
  if (at > from && at < end && body[at - 1] === CR) at -= 1
  return at
}

/** The text up to an empty line, or to the end if there is no body. Latin-1, as in a request. */
function readHead(bytes: Buffer): { readonly text: string; readonly end: number } {
  const first = bytes[0] === CR ? 1 : 0
  if (bytes[first] === LF) return { text: '', end: first + 1 }
  const crlf = bytes.indexOf('\n\r\n')
  const lf = (crlf < 0 ? bytes : bytes.subarray(0, crlf)).indexOf('\n\n')
  const text = lf >= 0 ? lf + 1 : crlf >= 0 ? crlf + 1 : bytes.length
  if (text > HEAD_BYTES_MAX) throw malformed('The headers of a part are too long.')
  const end = lf >= 0 ? lf + 2 : crlf >= 0 ? crlf + 3 : bytes.length
  return { text: bytes.toString('latin1', 0, text), end }
}

/** Where the line that starts at `from` ends, without and with its line break. */
function lineAt(text: string, from: number): { readonly end: number; readonly next: number } {
  const lineFeed = text.indexOf('\n', from)
  if (lineFeed < 0) return { end: text.length, next: text.length }
  const end = lineFeed > from && text.charCodeAt(lineFeed - 1) === CR ? lineFeed - 1 : lineFeed
  return { end, next: lineFeed + 1 }
}

function readFields(text: string, from: number): Pick<HttpRequestPart, 'headers' | 'rawHeaders'> {
  const headers = new Fields()
  const rawHeaders: string[] = []
  for (let at = from; at < text.length;) {
    const { end, next } = lineAt(text, at)
    const colon = text.indexOf(':', at)
    const rawName = text.slice(at, Math.max(at, colon))
    const name = fieldName(rawName)
    const value = colon < end ? fieldValue(text, colon + 1, end) : undefined
    if (name === undefined || value === undefined) throw malformed('A header is not valid.')
    rawHeaders.push(rawName, value)
    const earlier = headers[name]
    headers[name] = earlier === undefined ? value : `${earlier}, ${value}`
    at = next
  }
  return { headers, rawHeaders }
}

/** Values are ours or were checked on arrival: a line break would inject a header. */
function encodeHeaders(headers: readonly string[]): string {
  assert(headers.length % 2 === 0)
  let text = ''
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const value = headers[at + 1] ?? ''
    assert(isFieldValue(value))
    text += `${headers[at]}: ${value}\r\n`
  }
  return text
}

/** The Go client for blobs sends names unencoded, with blanks and UTF-8, but signs them encoded. */
function percentEncoded(url: string): string {
  return url.replace(UNENCODED, (byte) => {
    return `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
  })
}

function trimLineBreaks(bytes: Buffer): Buffer {
  let from = 0
  let to = bytes.length
  while (from < to && (bytes[from] === LF || bytes[from] === CR)) from += 1
  while (to > from && (bytes[to - 1] === LF || bytes[to - 1] === CR)) to -= 1
  return bytes.subarray(from, to)
}

function malformed(reason: string): StorageError {
  return new StorageError('InvalidInput', {}, `The batch is not valid. ${reason}`)
}
