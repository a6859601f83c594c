// RFC 9112, parsed strictly. Accepted heads are compared with Node's own parser: a request that two parsers read
// differently could be smuggled past a proxy.
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { test } from 'node:test'
import { mutate } from '../../../test/mutation.ts'
import { randomFrom } from '../../../test/random.ts'
import { parseRequestHead, Refusal, type RequestHead } from './request-head.ts'

function parse(...lines: readonly string[]): RequestHead {
  return parseRequestHead(lines.map((line) => `${line}\r\n`).join(''))
}

const HOST = 'Host: x'

test('a head is parsed', () => {
  const head = parse('PUT /a/b?c=d HTTP/1.1', HOST, 'x-ms-Meta-A:  1 ', 'Content-Length: 12')
  assert.equal(`${head.method} ${head.target} ${head.httpVersion}`, 'PUT /a/b?c=d 1.1')
  assert.deepEqual({ ...head.headers }, { host: 'x', 'x-ms-meta-a': '1', 'content-length': '12' })
  assert.deepEqual(head.rawHeaders, ['Host', 'x', 'x-ms-Meta-A', '1', 'Content-Length', '12'])
  assert.equal(head.lengthBytes, 12)
  assert.equal(head.keepAlive, true)
  assert.equal(head.expectsContinue || head.chunked, false)
})

test('200 header lines are accepted, and no more', () => {
  const lines = (count: number) => Array.from({ length: count }, (_, at) => `x-ms-meta-a${at}: 1`)
  assert.equal(parse('GET / HTTP/1.1', HOST, ...lines(199)).rawHeaders.length, 400)
  const isRefused = (error: unknown) => error instanceof Refusal && error.status === 400
  assert.throws(() => parse('GET / HTTP/1.1', HOST, ...lines(200)), isRefused)
})

test('a value keeps every byte except the blanks around it', () => {
  const { headers } = parse(
    'GET / HTTP/1.1',
    HOST,
    'x-a:\t \xa0\xff a\tb\xc3\xa0 \t',
    'x-b:',
    'x-c: \t',
  )
  assert.equal(headers['x-a'], '\xa0\xff a\tb\xc3\xa0')
  assert.equal(headers['x-b'], '')
  assert.equal(headers['x-c'], '')
})

test('fields inherit nothing, and may have any name', () => {
  const { headers } = parse(
    'GET / HTTP/1.1',
    HOST,
    '__proto__: 1',
    'Constructor: 2',
    'x-ms-date: 3',
  )
  assert.equal(Object.getOwnPropertyDescriptor(headers, '__proto__')?.value, '1')
  assert.equal(headers['constructor'], '2')
  assert.equal(headers['toString'], undefined)
})

// prettier-ignore
const REPEATED: readonly [name: string, joined: string][] = [
  ['x-ms-meta-a', 'one, two'], ['if-match', 'one, two'], ['cookie', 'one; two'],
  ['authorization', 'one'], ['content-type', 'one'], ['user-agent', 'one'],
]

for (const [name, joined] of REPEATED) {
  test(`repeated ${name} is ${joined}`, () => {
    const { headers, rawHeaders } = parse(
      'GET / HTTP/1.1',
      HOST,
      `${name}: one`,
      `${name.toUpperCase()}: two`,
    )
    assert.equal(headers[name], joined)
    assert.equal(rawHeaders.length, 6)
  })
}

// prettier-ignore
const REFUSED: readonly [what: string, status: number, lines: readonly string[]][] = [
  ['an unknown method', 400, ['FETCH / HTTP/1.1', HOST]],
  ['a method in lower case', 400, ['get / HTTP/1.1', HOST]],
  ['no method', 400, [' / HTTP/1.1', HOST]],
  ['no target', 400, ['GET  HTTP/1.1', HOST]],
  ['two blanks', 400, ['GET  / HTTP/1.1', HOST]],
  ['a blank in the target', 400, ['GET /a b HTTP/1.1', HOST]],
  ['an unencoded byte', 400, ['GET /\xfc HTTP/1.1', HOST]],
  ['no version', 400, ['GET /', HOST]],
  ['HTTP/1.2', 400, ['GET / HTTP/1.2', HOST]],
  ['HTTP/2.0', 400, ['GET / HTTP/2.0', HOST]],
  ['no host', 400, ['GET / HTTP/1.1']],
  ['two hosts', 400, ['GET / HTTP/1.1', HOST, HOST]],
  ['a line without a colon', 400, ['GET / HTTP/1.1', HOST, 'nonsense']],
  ['a colon only in the next line', 400, ['GET / HTTP/1.1', HOST, 'nonsense', 'a: b']],
  ['no name', 400, ['GET / HTTP/1.1', HOST, ': a']],
  ['a blank before the colon', 400, ['GET / HTTP/1.1', HOST, 'Content-Length : 1']],
  ['a folded line', 400, ['GET / HTTP/1.1', HOST, 'a: b', ' c: d']],
  ['LF alone', 400, ['GET / HTTP/1.1', HOST, 'a: b\nc: d']],
  ['CR alone', 400, ['GET / HTTP/1.1', HOST, 'a: b\rc: d']],
  ['NUL', 400, ['GET / HTTP/1.1', HOST, 'a: \0']],
  ['DEL', 400, ['GET / HTTP/1.1', HOST, 'a: \x7f']],
  ['two equal lengths', 400, ['PUT / HTTP/1.1', HOST, 'Content-Length: 1', 'Content-Length: 1']],
  ['a list of lengths', 400, ['PUT / HTTP/1.1', HOST, 'Content-Length: 1, 1']],
  ['a length with a sign', 400, ['PUT / HTTP/1.1', HOST, 'Content-Length: +1']],
  ['a length in hex', 400, ['PUT / HTTP/1.1', HOST, 'Content-Length: 0x1']],
  ['an empty length', 400, ['PUT / HTTP/1.1', HOST, 'Content-Length:']],
  ['a length beyond 2^53', 400, ['PUT / HTTP/1.1', HOST, 'Content-Length: 9007199254740992']],
  ['a length and chunks', 400, ['PUT / HTTP/1.1', HOST, 'Content-Length: 1', 'Transfer-Encoding: chunked']],
  ['an encoding before the chunks', 400, ['PUT / HTTP/1.1', HOST, 'Transfer-Encoding: gzip, chunked']],
  ['an encoding after the chunks', 400, ['PUT / HTTP/1.1', HOST, 'Transfer-Encoding: chunked, gzip']],
  ['chunks twice', 400, ['PUT / HTTP/1.1', HOST, 'Transfer-Encoding: chunked', 'Transfer-Encoding: chunked']],
  ['chunks in HTTP/1.0', 400, ['PUT / HTTP/1.0', HOST, 'Transfer-Encoding: chunked']],
  ['an unknown expectation', 417, ['PUT / HTTP/1.1', HOST, 'Expect: miracles']],
]

for (const [what, status, lines] of REFUSED) {
  test(`${what}: ${status}`, () => {
    assert.throws(
      () => parse(...lines),
      (error) => error instanceof Refusal && error.status === status,
    )
  })
}

// prettier-ignore
const CONNECTIONS: readonly [version: string, connection: string | undefined, keepAlive: boolean][] = [
  ['1.1', undefined, true], ['1.1', 'keep-alive', true], ['1.1', 'close', false], ['1.1', 'Close', false],
  ['1.1', 'TE, close', false], ['1.1', 'Upgrade', true],
  ['1.0', undefined, false], ['1.0', 'Keep-Alive', true], ['1.0', 'TE, keep-alive', true], ['1.0', 'close', false],
]

for (const [version, connection, keepAlive] of CONNECTIONS) {
  test(`HTTP/${version}, Connection: ${connection}: ${keepAlive ? 'stays open' : 'ends'}`, () => {
    const more = connection === undefined ? [] : [`Connection: ${connection}`]
    assert.equal(parse(`GET / HTTP/${version}`, HOST, ...more).keepAlive, keepAlive)
  })
}

test('Expect: 100-continue counts only in HTTP/1.1', () => {
  assert.equal(parse('PUT / HTTP/1.1', HOST, 'Expect: 100-Continue').expectsContinue, true)
  assert.equal(parse('PUT / HTTP/1.0', HOST, 'Expect: 100-continue').expectsContinue, false)
})

const SEED_HEAD =
  'PUT /devstoreaccount1/c/b?comp=block&blockid=AA%3D%3D HTTP/1.1\r\nHost: 127.0.0.1:10000\r\n' +
  'x-ms-version: 2026-04-06\r\nX-Ms-Meta-Name: v\xe4lue \r\nContent-Length: 0\r\nConnection: close\r\n' +
  'if-match: "0x8D"\r\nIf-Match: "0x9D"\r\nAuthorization: SharedKey a:b==\r\n'

type Seen = { readonly line: string; readonly headers: object }

test('Node parses every accepted head the same way', async (t) => {
  const seen: Seen[] = []
  const server = createServer({ insecureHTTPParser: false }, (req: IncomingMessage, res) => {
    seen.push({ line: `${req.method} ${req.url} ${req.httpVersion}`, headers: { ...req.headers } })
    res.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const random = randomFrom(20)
  let acceptedCount = 0
  for (let i = 0; i < 1_500; i += 1) {
    const text = Buffer.from(mutate(Buffer.from(SEED_HEAD, 'latin1'), random)).toString('latin1')
    // A connection would have ended the head there.
    const head = `${text.split('\r\n\r\n', 1)[0] ?? ''}\r\n`.replace(/(\r\n)+$/, '\r\n')
    const ours = accepted(head)
    if (ours === undefined || ours.method === 'TRACE') continue
    acceptedCount += 1
    seen.length = 0
    await exchange(port, `${head}\r\n`)
    const line = `${ours.method} ${ours.target} ${ours.httpVersion}`
    assert.deepEqual(seen, [{ line, headers: { ...ours.headers } }], JSON.stringify(head))
  }
  assert.ok(acceptedCount > 100, `${acceptedCount} of the mutated heads were accepted`)
})

function accepted(head: string): RequestHead | undefined {
  try {
    const parsed = parseRequestHead(head)
    // The next bytes would be read as a body.
    return (parsed.lengthBytes ?? 0) > 0 || parsed.chunked ? undefined : parsed
  } catch (error) {
    assert.ok(error instanceof Refusal, String(error))
    return undefined
  }
}

function exchange(port: number, head: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' }, () =>
      socket.end(Buffer.from(head, 'latin1')),
    )
    socket.on('error', reject)
    socket.on('close', () => resolve())
    socket.resume()
  })
}
