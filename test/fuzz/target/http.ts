// HTTP: request heads, whole connections, queries and paths, multipart bodies, structured bodies, headers.
import { StorageError } from '../../../src/storage/shared/error.ts'
import {
  decodeConditions,
  decodeMetadata,
  metadataHeaders,
} from '../../../src/http/protocol/header.ts'
import { formatHttpDate, parseHttpDate } from '../../../src/http/protocol/date.ts'
import {
  encodeMultipart,
  parseHttpRequestPart,
  parseMultipart,
  parseMultipartBoundary,
} from '../../../src/http/protocol/multipart.ts'
import { decodeSegments, parseQuery } from '../../../src/http/protocol/query.ts'
import { decodeRange, decodeRangeHash, decodeWriteRange } from '../../../src/http/protocol/range.ts'
import { parseRequestHead, Refusal } from '../../../src/http/protocol/request-head.ts'
import {
  decodeStructuredBody,
  encodeStructuredBody,
} from '../../../src/http/protocol/structured-body.ts'
import { resolvePath } from '../../../src/http/door/resource-path.ts'
import { connectionOutcome } from '../fake-connection.ts'
import { target } from '../target.ts'

const HEAD =
  'PUT /devstoreaccount1/c/b?comp=block&blockid=AA%3D%3D HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nx-ms-date: a\r\nx-ms-meta-a: 1\r\n'
const HTTP_WORDS = [
  '\r\n', '\r\n\r\n', ' HTTP/1.1', ' HTTP/1.0', 'GET ', 'PUT ', 'Host: a\r\n', 'Content-Length: 5\r\n',
  'Content-Length: 0\r\n', 'Transfer-Encoding: chunked\r\n', 'Expect: 100-continue\r\n', 'Connection: close\r\n',
  'Connection: keep-alive\r\n', '5\r\nhello\r\n0\r\n\r\n', 'x-ms-meta-', ': ', '\t', '\0', '/../', '%2e%2e', '%00',
] // prettier-ignore

async function* inParts(bytes: Buffer, partBytes: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += partBytes) yield bytes.subarray(at, at + partBytes)
}

async function joined(parts: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = []
  for await (const part of parts) all.push(part)
  return Buffer.concat(all)
}

const STRUCTURED = await joined(
  encodeStructuredBody(inParts(Buffer.from('hello world'), 11), 11, 4),
)

/** Headers, one a line, as a connection hands them on. */
function fieldsOf(input: Buffer): {
  readonly fields: Record<string, string>
  readonly raw: string[]
} {
  const pairs = input
    .toString('latin1')
    .split('\n')
    .map((line) => line.split(':', 2))
  const fields = Object.fromEntries(
    pairs.map(([name = '', value = '']) => [name.toLowerCase(), value]),
  )
  return { fields, raw: pairs.flatMap(([name = '', value = '']) => [name, value]) }
}

export const HTTP_TARGETS = [
  target({
    name: 'request-head',
    seeds: [
      HEAD,
      'GET / HTTP/1.0\r\n',
      'OPTIONS * HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n',
    ],
    words: HTTP_WORDS,
    decode: (input) => parseRequestHead(input.toString('latin1')),
    refuses: [Refusal],
  }),
  target({
    name: 'connection',
    seeds: [
      `${HEAD}\r\nhello`,
      `${HEAD}\r\nhello${HEAD}\r\nworld`,
      'GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(3),
      'PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
    ],
    words: HTTP_WORDS,
    lengthMax: 1_024,
    decode: (input) => connectionOutcome(input, 4_096),
    // However the bytes are cut into packets, they mean the same.
    again: (outcome) => connectionOutcome(outcome.input, 7),
    refuses: [],
  }),
  target({
    name: 'query-string',
    seeds: ['comp=list&prefix=a%20b&marker=', 'sig=a%2Bb%3D&se=2026-01-01T00%3A00%3A00Z&a&a=2'],
    words: ['&', '=', '%', '%2B', '+', '%ff', '%C3%A9', '__proto__', ';'],
    lengthMax: 16_384,
    decode: (input) => parseQuery(input.toString('latin1')),
    refuses: [StorageError],
  }),
  target({
    name: 'resource-path',
    seeds: [
      'container/a/b%2Fc',
      'c/../d/./e\\f',
      "Table(PartitionKey='a',RowKey='b''c')",
      'share/dir./file. ',
    ],
    words: [
      '/',
      '\\',
      '..',
      '.',
      '%2F',
      '%5C',
      '%2e',
      '%00',
      "('",
      "')",
      '$root',
      '%',
      '%E2%82%AC',
    ],
    decode: (input) => {
      const text = input.toString('latin1')
      const context = { query: new Map(), headers: {}, version: '2025-01-05' }
      const services = ['blob', 'queue', 'table', 'file'] as const
      const paths = services.map((service) => {
        try {
          return resolvePath(service, text, context)
        } catch (error) {
          if (error instanceof StorageError) return error.code
          throw error
        }
      })
      return [...paths, decodeSegments(text)]
    },
    refuses: [StorageError],
  }),
  target({
    name: 'headers',
    seeds: [
      'if-match:"a", "b"\nif-none-match:*\nif-modified-since:Thu, 15 Jan 2026 12:00:00 GMT\nx-ms-meta-a:1',
      'range:bytes=0-9\nx-ms-range:bytes=5-\nx-ms-range-get-content-md5:true',
      'x-ms-range:bytes=0-511\nx-ms-if-sequence-number-le:5',
    ],
    words: [
      'bytes=',
      '-',
      '"',
      'W/"',
      ',',
      '*',
      '\nrange:',
      '\nx-ms-range:',
      '\nif-match:',
      '\nx-ms-meta-',
      'true',
      'GMT',
    ],
    decode: (input) => {
      const { fields, raw } = fieldsOf(input)
      const conditions = decodeConditions(fields)
      const range = decodeRange(fields, '2025-01-05', 1_000)
      if (fields['x-ms-write'] !== undefined) decodeWriteRange(fields)
      if (range !== undefined) decodeRangeHash(fields, range)
      return { conditions, range, metadata: decodeMetadata(raw) }
    },
    again: ({ conditions, range, metadata }) => {
      return { conditions, range, metadata: decodeMetadata(metadataHeaders(metadata)) }
    },
    refuses: [StorageError],
  }),
  target({
    name: 'http-date',
    seeds: [
      'Thu, 15 Jan 2026 12:00:00 GMT',
      'Thursday, 15-Jan-26 12:00:00 GMT',
      'Thu Jan 15 12:00:00 2026',
    ],
    words: ['GMT', 'Feb', '29', '24:00:00', '9999', '00'],
    decode: (input) => parseHttpDate(input.toString('latin1')),
    again: (timeMs) => (timeMs === undefined ? undefined : parseHttpDate(formatHttpDate(timeMs))),
    refuses: [],
  }),
  target({
    name: 'multipart',
    seeds: [
      '--b\r\nContent-Type: application/http\r\n\r\nDELETE /c/b HTTP/1.1\r\nx-ms-date: a\r\n\r\n\r\n--b--\r\n',
      '--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\n\r\nGET /T() HTTP/1.1\r\n\r\n\r\n--c--\r\n--b--',
      '--b\nA: 1\n\nPOST http://h/T HTTP/1.1\nContent-Length: 2\n\n{}\n--b--\n',
    ],
    words: [
      '--b',
      '--b--',
      '\r\n',
      '\n',
      '\r\n\r\n',
      ' HTTP/1.1',
      'Content-ID: 1\r\n',
      '--',
      'boundary="b"',
    ],
    lengthMax: 16_384,
    decode: (input) => parseMultipart(input, 'b').map(({ headers, body }) => ({ headers, body })),
    // A part may contain what looks like the boundary of others, but not this one.
    again: (parts) => {
      const sources = parts.map(({ body }) => ({ headers: [], body: [body] }))
      const isUnclear = parts.some(({ body }) => body.includes('--unlikely'))
      if (isUnclear || parts.length === 0) return undefined
      const again = parseMultipart(encodeMultipart('unlikely', sources), 'unlikely')
      return again.map(({ body }, at) => ({ headers: parts[at]?.headers, body }))
    },
    refuses: [StorageError],
  }),
  target({
    name: 'http-part',
    seeds: [
      'GET /a?b=c HTTP/1.1\r\nAccept: x\r\n\r\n',
      "MERGE /T(PartitionKey='a b',RowKey='') HTTP/1.1\nIf-Match: *\n\n{\"A\":1}",
    ],
    words: [' HTTP/1.1', '\r\n', '\n', ' ', '\t', ': ', '%20'],
    decode: (input) => parseHttpRequestPart(input),
    refuses: [StorageError],
  }),
  target({
    name: 'content-type',
    seeds: [
      'multipart/mixed; boundary=batch_1',
      'multipart/mixed; boundary="a b"; charset=x',
      'multipart/mixed; boundary================1==',
    ],
    words: ['boundary=', ';', '"', ' ', 'multipart/mixed'],
    lengthMax: 16_384,
    decode: (input) => parseMultipartBoundary(input.toString('latin1')),
    refuses: [StorageError],
  }),
  target({
    name: 'structured-body',
    seeds: [STRUCTURED],
    words: ['\u0001', '\u0000\u0000\u0000\u0000\u0000\u0000\u0000\u0000'],
    decode: async (input) => {
      const lengths = { messageBytes: input.length, contentBytes: 11 }
      const whole = await joined(decodeStructuredBody(inParts(input, 5), lengths))
      return { whole }
    },
    again: async ({ whole }) => {
      const bytes = await joined(encodeStructuredBody(inParts(whole, 3), whole.length, 5))
      const lengths = { messageBytes: bytes.length, contentBytes: whole.length }
      return { whole: await joined(decodeStructuredBody(inParts(bytes, 2), lengths)) }
    },
    refuses: [StorageError],
  }),
]
