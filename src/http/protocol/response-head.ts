// Encodes the head of an answer. A value that could end its line, and so inject another header, is a bug of ours
// and is never sent.
import assert from 'node:assert/strict'
import { derived } from '../../kv/derived.ts'
import { formatHttpDate } from './date.ts'
import { isFieldValue } from './field.ts'

const REASONS: ReadonlyMap<number, string> = new Map([
  [100, 'Continue'],
  [200, 'OK'],
  [201, 'Created'],
  [202, 'Accepted'],
  [204, 'No Content'],
  [206, 'Partial Content'],
  [304, 'Not Modified'],
  [400, 'Bad Request'],
  [401, 'Unauthorized'],
  [403, 'Forbidden'],
  [404, 'Not Found'],
  [405, 'Method Not Allowed'],
  [408, 'Request Timeout'],
  [409, 'Conflict'],
  [411, 'Length Required'],
  [412, 'Precondition Failed'],
  [413, 'Payload Too Large'],
  [414, 'URI Too Long'],
  [415, 'Unsupported Media Type'],
  [416, 'Range Not Satisfiable'],
  [417, 'Expectation Failed'],
  [431, 'Request Header Fields Too Large'],
  [500, 'Internal Server Error'],
  [501, 'Not Implemented'],
  [502, 'Bad Gateway'],
  [503, 'Service Unavailable'],
])

export function reasonOf(status: number): string {
  return REASONS.get(status) ?? 'Unknown'
}

export const CONTINUE = `HTTP/1.1 100 ${reasonOf(100)}\r\n\r\n`

/** Each list is name, value, name, value …; each character is one byte (Latin-1). */
export type HeaderLists = readonly (readonly string[])[]

const statusLines: string[] = []

export function responseHead(
  status: number,
  lists: HeaderLists,
  ending: string,
  nowMs: number,
): string {
  let text = (statusLines[status] ??= `HTTP/1.1 ${status} ${reasonOf(status)}\r\n`)
  for (const headers of lists) text += derived(headers, 'lines', () => linesOf(headers))
  return `${text}Date: ${formatHttpDate(nowMs)}\r\n${ending}\r\n`
}

function linesOf(headers: readonly string[]): string {
  let text = ''
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const value = headers[at + 1] ?? ''
    assert(isFieldValue(value), `the value of ${headers[at]} is not a valid header value`)
    text += `${headers[at]}: ${value}\r\n`
  }
  return text
}

/** The end of a head: whether the connection stays open. */
export const CLOSE = 'Connection: close\r\n'

export function keepAliveEnding(keepAliveMs: number): string {
  const seconds = Math.floor(keepAliveMs / 1_000)
  return `Connection: keep-alive\r\nKeep-Alive: timeout=${seconds}\r\n`
}
