import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { StorageError } from '../../storage/shared/error.ts'
import {
  encodeHttpResponsePart,
  encodeMultipart,
  parseHttpRequestPart,
  parseMultipart,
  parseMultipartBoundary,
  type HttpRequestPart,
} from './multipart.ts'

const INVALID = { code: 'InvalidInput', status: 400 }

for (const [contentType, boundary] of [
  ['multipart/mixed; boundary=batch_1', 'batch_1'],
  ['Multipart/Mixed;Boundary=batch_1', 'batch_1'],
  ['multipart/mixed; charset=utf-8; boundary="a;b c" ; x=1', 'a;b c'],
  [
    'multipart/mixed; boundary================5306085128869334238==',
    '===============5306085128869334238==',
  ],
  ["multipart/mixed; boundary=0aA'()+_,-./:=?", "0aA'()+_,-./:=?"],
  [`multipart/mixed; boundary=${'b'.repeat(70)}`, 'b'.repeat(70)],
] as const) {
  test(`the boundary of ${contentType}`, () => {
    assert.equal(parseMultipartBoundary(contentType), boundary)
  })
}

for (const contentType of [
  'multipart/mixed',
  'multipart/mixed; boundary=',
  'multipart/mixed; boundary="a ',
  'multipart/mixed; boundary="a "',
  'multipart/mixed; boundary=ä',
  'multipart/form-data; boundary=a',
  'multipart/mixedup; boundary=a',
  `multipart/mixed; boundary=${'b'.repeat(71)}`,
  'application/json',
]) {
  test(`no boundary in ${contentType} → InvalidHeaderValue`, () => {
    assert.throws(() => parseMultipartBoundary(contentType), {
      code: 'InvalidHeaderValue',
      details: { HeaderName: 'Content-Type', HeaderValue: contentType },
    })
  })
}

test('a missing Content-Type and two boundaries are refused', () => {
  assert.throws(() => parseMultipartBoundary(undefined), { code: 'MissingRequiredHeader' })
  assert.throws(() => parseMultipartBoundary(''), { code: 'MissingRequiredHeader' })
  const two = 'multipart/mixed; boundary=a; boundary=b'
  assert.throws(() => parseMultipartBoundary(two), INVALID)
})

function requests(text: string, boundary: string): HttpRequestPart[] {
  const parts = parseMultipart(Buffer.from(text), boundary)
  return parts.map((part) => parseHttpRequestPart(part.body))
}

const BLOB_BATCH = `--batch_1
Content-Type: application/http
Content-Transfer-Encoding: binary
Content-ID: 0

DELETE /container0/blob0 HTTP/1.1
x-ms-date: Thu, 14 Jun 2018 16:46:54 GMT
Authorization: SharedKey account:G4jjBXA7LI/RnWKIOQ8i9xH4p76pAQ+4Fs4R1VxasaE=
Content-Length: 0

--batch_1
content-type: application/http
Content-ID: 1

PUT /container0/blob1?comp=tier HTTP/1.1
x-ms-access-tier: Cool


--batch_1--
`

for (const [what, text] of [
  ['LF', BLOB_BATCH],
  ['CRLF', BLOB_BATCH.replaceAll('\n', '\r\n')],
] as const) {
  test(`a blob batch with lines ending in ${what} is parsed`, () => {
    const parts = parseMultipart(Buffer.from(text), 'batch_1')
    assert.deepEqual(
      parts.map((part) => part.headers['content-id']),
      ['0', '1'],
    )
    assert.deepEqual(
      { ...parts[0]?.headers },
      {
        'content-type': 'application/http',
        'content-transfer-encoding': 'binary',
        'content-id': '0',
      },
    )
    const [first, second] = requests(text, 'batch_1')
    assert.deepEqual(
      { ...first, headers: undefined },
      {
        method: 'DELETE',
        url: '/container0/blob0',
        headers: undefined,
        rawHeaders: [
          'x-ms-date',
          'Thu, 14 Jun 2018 16:46:54 GMT',
          'Authorization',
          'SharedKey account:G4jjBXA7LI/RnWKIOQ8i9xH4p76pAQ+4Fs4R1VxasaE=',
          'Content-Length',
          '0',
        ],
        body: Buffer.alloc(0),
      },
    )
    assert.equal(second?.method, 'PUT')
    assert.equal(second?.url, '/container0/blob1?comp=tier')
    assert.equal(second?.body.length, 0)
  })
}

// As @azure/data-tables sends it: empty lines before the changeset and before a body.
const ENTITY_GROUP_TRANSACTION = `--batch_1
Content-Type: multipart/mixed; boundary=changeset_1


--changeset_1
Content-Type: application/http
Content-Transfer-Encoding: binary

POST http://127.0.0.1:10002/devstoreaccount1/people HTTP/1.1
Accept: application/json;odata=minimalmetadata


{"PartitionKey":"p","RowKey":"é"}
--changeset_1
Content-Type: application/http
Content-Transfer-Encoding: binary

DELETE http://127.0.0.1:10002/devstoreaccount1/people(PartitionKey='p',RowKey='2') HTTP/1.1
If-Match: *


--changeset_1--
--batch_1--
`.replaceAll('\n', '\r\n')

test('an entity group transaction is a changeset in a batch', () => {
  const [changeset, ...more] = parseMultipart(Buffer.from(ENTITY_GROUP_TRANSACTION), 'batch_1')
  assert(changeset !== undefined && more.length === 0)
  const contentType = changeset.headers['content-type']
  assert(typeof contentType === 'string')
  const text = changeset.body.toString()
  const [insert, remove] = requests(text, parseMultipartBoundary(contentType))
  assert.equal(insert?.url, 'http://127.0.0.1:10002/devstoreaccount1/people')
  assert.equal(insert?.body.toString(), '{"PartitionKey":"p","RowKey":"é"}')
  assert.equal(remove?.method, 'DELETE')
  assert.deepEqual(remove?.rawHeaders, ['If-Match', '*'])
  assert.equal(remove?.body.length, 0)
})

for (const [what, text, bodies] of [
  ['no parts', '--b--', []],
  ['a preamble and an epilogue', 'hello\r\n--b\r\n\r\nx\r\n--b--\r\n--b\r\n', ['x']],
  ['blanks after a boundary', '--b \t\r\n\r\nx\r\n--b-- \r\n', ['x']],
  ['a boundary inside a line', '--b\r\n\r\nx--b\r\n y--b--\r\n--b--', ['x--b\r\n y--b--']],
  ['a boundary that is the start of another', '--b\r\n\r\n--bc\r\n--b-\r\n--b--', ['--bc\r\n--b-']],
  ['an empty part', '--b\r\n--b\n--b--', ['', '']],
  ['a part that has only headers', '--b\r\na: 1\r\n--b--', ['']],
  ['line breaks of a body', '--b\r\n\r\n\r\nx\r\n\r\n\r\n--b--', ['\r\nx\r\n\r\n']],
] as const) {
  test(`${what}: ${JSON.stringify(text)}`, () => {
    const parts = parseMultipart(Buffer.from(text), 'b')
    assert.deepEqual(
      parts.map((part) => part.body.toString()),
      bodies,
    )
  })
}

const MANY = '--b\r\n\r\n'.repeat(1001) + '--b--'

for (const [what, text] of [
  ['nothing', ''],
  ['no boundary', 'a: 1\r\n\r\nx'],
  ['no last boundary', '--b\r\n\r\nx\r\n'],
  ['text after the last boundary', '--b\r\n\r\nx\r\n--b--x'],
  ['a header without a colon', '--b\r\nabc\r\n\r\nx\r\n--b--'],
  ['a header without a name', '--b\r\n: abc\r\n\r\nx\r\n--b--'],
  ['a header that goes on in the next line', '--b\r\na: b\r\n c\r\n\r\nx\r\n--b--'],
  ['a blank before the colon', '--b\r\na : b\r\n\r\nx\r\n--b--'],
  ['a control in a header', '--b\r\na: b\0\r\n\r\nx\r\n--b--'],
  ['a CR in a header', '--b\r\na: b\rc: d\r\n\r\nx\r\n--b--'],
  ['headers beyond 64 KiB', `--b\r\na: ${'x'.repeat(65_536)}\r\n\r\nx\r\n--b--`],
  ['1001 parts', MANY],
] as const) {
  test(`${what} → InvalidInput`, () => {
    assert.throws(() => parseMultipart(Buffer.from(text), 'b'), INVALID)
  })
}

test('the caller limits the number of parts', () => {
  const three = Buffer.from('--b\n\n'.repeat(3) + '--b--')
  assert.equal(parseMultipart(three, 'b', 3).length, 3)
  assert.throws(() => parseMultipart(three, 'b', 2), INVALID)
})

for (const [line, method, url] of [
  ['DELETE /c/b HTTP/1.1', 'DELETE', '/c/b'],
  ['DELETE c/b?snapshot=x HTTP/1.0', 'DELETE', 'c/b?snapshot=x'],
  ['GET  https://a/b?c=d%20e  HTTP/1.1 ', 'GET', 'https://a/b?c=d%20e'],
  ['DELETE /c/a blob à HTTP/1.1', 'DELETE', '/c/a%20blob%20%C3%A0'],
] as const) {
  test(`request line: ${line}`, () => {
    const part = parseHttpRequestPart(Buffer.from(`\r\n${line}\r\nA: à\r\n\r\nbody\r\n`))
    assert.equal(part.method, method)
    assert.equal(part.url, url)
    // Latin-1, as in Node's headers.
    assert.deepEqual(part.rawHeaders, ['A', Buffer.from('à').toString('latin1')])
    assert.equal(part.body.toString(), 'body')
  })
}

for (const text of [
  '',
  'DELETE',
  'DELETE /c/b',
  'DELETE  HTTP/1.1',
  '/c/b HTTP/1.1',
  'delete /c/b HTTP/1.1',
  'DELETE /c/b HTTP/2',
  'DELETE /c/\0 HTTP/1.1',
  'DELETE /c/b HTTP/1.1\r\nno header\r\n\r\n',
  `DELETE /${'x'.repeat(65_536)} HTTP/1.1`,
]) {
  test(`request ${JSON.stringify(text.slice(0, 40))} → InvalidInput`, () => {
    assert.throws(() => parseHttpRequestPart(Buffer.from(text)), INVALID)
  })
}

test('repeated headers are joined; names are lower-case', () => {
  const lines = ['DELETE /c/b HTTP/1.1', 'A: 1', 'b: 2', 'a: 3', '__proto__: x']
  const { headers } = parseHttpRequestPart(Buffer.from(`${lines.join('\r\n')}\r\n\r\n`))
  assert.deepEqual(Object.entries(headers), [
    ['a', '1, 3'],
    ['b', '2'],
    ['__proto__', 'x'],
  ])
})

test('the answer to a batch is encoded like the service’s', () => {
  const deleted = encodeHttpResponsePart(202, 'Accepted', ['x-ms-request-id', '1'])
  const missing = encodeHttpResponsePart(
    404,
    'The specified blob does not exist.',
    ['x-ms-error-code', 'BlobNotFound', 'Content-Length', '8'],
    '<Error/>',
  )
  const encoded = encodeMultipart('batchresponse_1', [
    { headers: ['Content-Type', 'application/http', 'Content-ID', '0'], body: deleted },
    { headers: ['Content-Type', 'application/http', 'Content-ID', '1'], body: missing },
  ])
  const expected = `--batchresponse_1
Content-Type: application/http
Content-ID: 0

HTTP/1.1 202 Accepted
x-ms-request-id: 1


--batchresponse_1
Content-Type: application/http
Content-ID: 1

HTTP/1.1 404 The specified blob does not exist.
x-ms-error-code: BlobNotFound
Content-Length: 8

<Error/>
--batchresponse_1--`
  assert.equal(encoded.toString(), expected.replaceAll('\n', '\r\n'))
})

test('a line break in an answer’s header fails an assertion', () => {
  const twoLines = ['a', 'b\r\nc: d']
  assert.throws(() => encodeHttpResponsePart(200, 'OK', twoLines), { name: 'AssertionError' })
  assert.throws(() => encodeHttpResponsePart(200, 'O\nK', []), { name: 'AssertionError' })
  const part = { headers: twoLines, body: [] }
  assert.throws(() => encodeMultipart('b', [part]), { name: 'AssertionError' })
})

test('an encoded batch parses back, whatever its bodies', () => {
  const part = fc.record({
    id: fc.nat(),
    body: fc.uint8Array({ maxLength: 60 }),
  })
  fc.assert(
    fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
      const sources = parts.map(({ id, body }) => ({
        headers: ['Content-ID', String(id)],
        body: [body],
      }))
      const parsed = parseMultipart(encodeMultipart('batch_1', sources), 'batch_1')
      const found = parsed.map(({ headers, body }) => [{ ...headers }, body])
      const expected = parts.map(({ id, body }) => [
        { 'content-id': String(id) },
        Buffer.from(body),
      ])
      assert.deepEqual(found, expected)
    }),
  )
})

test('any text made of pieces of a batch is parsed or refused', () => {
  const pieces = ['--b', '--', '\r\n', '\n', '\r', ' ', 'a: 1', 'GET /x HTTP/1.1', '\0', 'é']
  const text = fc.array(fc.constantFrom(...pieces), { maxLength: 30 }).map((all) => all.join(''))
  // Such a text is almost never a batch, so it is also put between boundaries.
  const batch = text.map((part) => `--b\r\n\r\n${part}\r\n--b--\r\n`)
  const request = text.map((rest) => `--b\r\n\r\nGET /x HTTP/1.1\r\n${rest}\r\n--b--\r\n`)
  let [partCount, requestCount] = [0, 0]
  fc.assert(
    fc.property(fc.oneof(text, batch, request), (body) => {
      try {
        for (const part of parseMultipart(Buffer.from(body), 'b')) {
          partCount += 1
          parseHttpRequestPart(part.body)
          requestCount += 1
        }
      } catch (error) {
        assert(error instanceof StorageError)
      }
    }),
    { numRuns: 1000 },
  )
  assert(partCount > 0 && requestCount > 0, `${partCount} parts, ${requestCount} requests`)
})

// Each would take minutes if any step were quadratic.
for (const [what, piece] of [
  ['almost boundaries', '--b'],
  ['boundaries with blanks', `--b${' '.repeat(1000)}x\n`],
  ['empty lines', '\n'],
  ['blanks', ' '],
  ['carriage returns', '\r'],
  ['short headers', 'a:\n'],
] as const) {
  test(`4 MiB of ${what} are parsed in linear time`, () => {
    const filling = Buffer.alloc(4 * 1024 * 1024, piece)
    const body = Buffer.concat([Buffer.from('--b\r\n\r\nGET /'), filling, Buffer.from('\r\n--b--')])
    const [part] = parseMultipart(body, 'b')
    assert(part !== undefined)
    assert.throws(() => parseHttpRequestPart(part.body), INVALID)
    assert.throws(() => parseHttpRequestPart(filling), INVALID)
    const longLine = Buffer.concat([Buffer.from('GET /'), filling.subarray(0, 65_000)])
    assert.throws(() => parseHttpRequestPart(longLine), INVALID)
    const contentType = `multipart/mixed${filling.toString('latin1', 0, 65_000)}`
    assert.throws(() => parseMultipartBoundary(contentType), { code: 'InvalidHeaderValue' })
  })
}
