// multipart/mixed (RFC 2046) as batches use it: parts that each hold an HTTP request or answer.
// Lines may end in LF alone, a preamble and an epilogue are skipped, and empty ends may be left out:
// clients do all of this. Bodies are in memory, limited by the caller, and read in one pass.
import assert from 'node:assert/strict'
import { invalidHeader, missingHeader, StorageError } from '../storage/error.ts'
import type { HeaderFields } from './header.ts'

export type MultipartPart = {
  /** Lower-case names. */
  readonly headers: HeaderFields
  readonly body: Buffer
}

export type HttpRequestPart = {
  readonly method: string
  /** As sent (absolute, a path, or a path without its first slash), in ASCII. */
  readonly url: string
  /** Name, value, name, value …, as Node's rawHeaders. */
  readonly headers: readonly string[]
  readonly body: Buffer
}

export type MultipartSource = {
  /** Name, value, name, value … */
  readonly headers: readonly string[]
  readonly body: Uint8Array
}

/** Beyond what the services take (Blob 256, Table 100): those limits have errors of their own. */
const PART_COUNT_MAX = 1000
/** What a connection takes: a URL with two keys of 1 KiB, percent-encoded, needs a third of it. */
const HEAD_BYTES_MAX = 64 * 1024

const LF = 0x0a
const CR = 0x0d
const DASH = 0x2d

const PARAMETER = /;\s*([^\s=;]+)\s*=\s*(?:"([^"]*)"\s*|([^;]*))/g
const BOUNDARY = /^[ !#-~]{0,69}[!#-~]$/

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
    // The line break before a delimiter is the delimiter's.
    const bytes = body.subarray(before.end, lineBreakBefore(body, before.end, after.start))
    const { lines, end } = readHead(bytes)
    parts.push({ headers: headerFields(parseHeaders(lines)), body: bytes.subarray(end) })
    before = after
  }
  return parts
}

/** A request in a part: `application/http`. */
export function parseHttpRequestPart(bytes: Buffer): HttpRequestPart {
  // RFC 9112, 2.2: an empty line before the request line is ignored.
  const request = trimLineBreaks(bytes)
  const { lines, end } = readHead(request)
  const [requestLine = '', ...headerLines] = lines
  return {
    ...parseRequestLine(requestLine),
    headers: parseHeaders(headerLines),
    // Clients put empty lines before and after a body (JSON, Atom), where they mean nothing.
    body: trimLineBreaks(request.subarray(end)),
  }
}

/** From the first blank to the last: a name may have blanks that are not percent-encoded. */
function parseRequestLine(text: string): { readonly method: string; readonly url: string } {
  const line = trimBlanks(text)
  const urlStart = line.indexOf(' ')
  const urlEnd = line.lastIndexOf(' ')
  const method = line.slice(0, Math.max(0, urlStart))
  const url = trimBlanks(line.slice(urlStart, urlEnd))
  const isHttp = /^HTTP\/1\.[01]$/.test(line.slice(urlEnd + 1))
  if (!isHttp || !/^[A-Z]{1,20}$/.test(method) || url === '' || hasControls(url)) {
    throw malformed('A request line is not valid.')
  }
  return { method, url: percentEncoded(url) }
}

/** Lower-case names; of one that comes twice, both values. */
export function headerFields(rawHeaders: readonly string[]): HeaderFields {
  const fields = new Map<string, string>()
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase()
    const value = rawHeaders[at + 1] ?? ''
    const earlier = fields.get(name)
    fields.set(name, earlier === undefined ? value : `${earlier}, ${value}`)
  }
  return Object.fromEntries(fields)
}

/** Ends without a line break: one inside another then looks like the service's. */
export function encodeMultipart(boundary: string, parts: readonly MultipartSource[]): Buffer {
  assert(BOUNDARY.test(boundary))
  const chunks: Uint8Array[] = []
  for (const { headers, body } of parts) {
    chunks.push(Buffer.from(`--${boundary}\r\n${encodeHeaders(headers)}\r\n`, 'latin1'))
    chunks.push(body, Buffer.from('\r\n'))
  }
  chunks.push(Buffer.from(`--${boundary}--`))
  return Buffer.concat(chunks)
}

/**
 * An answer in a part. The empty line after the headers stands also where no body follows: Go's
 * client of tables refuses an answer without it. The Blob service leaves it out (pgbackrest#2786),
 * but its clients don't mind.
 */
export function encodeHttpResponsePart(
  status: number,
  reason: string,
  headers: readonly string[],
  body: string | Uint8Array = '',
): Buffer {
  assert(!hasControls(reason))
  const head = `HTTP/1.1 ${status} ${reason}\r\n${encodeHeaders(headers)}\r\n`
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  return Buffer.concat([Buffer.from(head, 'latin1'), bytes])
}

type Delimiter = {
  readonly start: number
  /** After its line. */
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

/** Where the text ends whose last line break, if it has one, is just before `end`. */
function lineBreakBefore(body: Buffer, from: number, end: number): number {
  let at = end
  if (at > from && body[at - 1] === LF) at -= 1
  if (at > from && at < end && body[at - 1] === CR) at -= 1
  return at
}

/** Lines up to an empty one, or to the end where a head has no body. */
function readHead(bytes: Buffer): { readonly lines: readonly string[]; readonly end: number } {
  const lines: string[] = []
  let at = 0
  while (at < bytes.length) {
    const lineFeed = bytes.indexOf(LF, at)
    const next = lineFeed === -1 ? bytes.length : lineFeed + 1
    if (next > HEAD_BYTES_MAX) throw malformed('The headers of a part are too long.')
    // Latin-1, as Node reads the header of a request.
    const line = bytes.toString('latin1', at, lineBreakBefore(bytes, at, next))
    at = next
    if (line === '') break
    lines.push(line)
  }
  return { lines, end: at }
}

function parseHeaders(lines: readonly string[]): string[] {
  const rawHeaders: string[] = []
  for (const line of lines) {
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(0, colon))
    const value = trimBlanks(line.slice(colon + 1))
    if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name) || hasControls(value)) {
      throw malformed('A header is not valid.')
    }
    rawHeaders.push(name, value)
  }
  return rawHeaders
}

/** Values are ours, or were checked when they came in: a line break would be a header more. */
function encodeHeaders(headers: readonly string[]): string {
  assert(headers.length % 2 === 0)
  let text = ''
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const line = `${headers[at]}: ${headers[at + 1]}`
    assert(!hasControls(line))
    text += `${line}\r\n`
  }
  return text
}

/** C0 controls but the tab, and DEL: what Node refuses in a header. */
function hasControls(text: string): boolean {
  // oxlint-disable-next-line no-control-regex
  return /[\0-\x08\x0a-\x1f\x7f]/.test(text)
}

/** Go's client of blobs sends names as they are, with blanks and UTF-8, but signs them encoded. */
function percentEncoded(url: string): string {
  return url.replace(/[^\x21-\x7e]/g, (byte) => {
    return `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
  })
}

/** Not `trim`: in Latin-1 the last byte of a UTF-8 `à` is a no-break space. */
function trimBlanks(text: string): string {
  let from = 0
  let to = text.length
  while (from < to && (text[from] === ' ' || text[from] === '\t')) from += 1
  while (to > from && (text[to - 1] === ' ' || text[to - 1] === '\t')) to -= 1
  return text.slice(from, to)
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
