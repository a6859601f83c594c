// Malicious and broken clients. Whatever they send, the server answers with 4xx or ends the connection, never with 500
// or silence, and it serves the next valid request.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { startAdmin, type Admin } from '../src/start/admin/admin.ts'
import { BareSocket } from './bare-socket.ts'
import { BLOCK_BLOB } from './blob/fixture.ts'
import { ACCOUNT, rawRequest, wireRequest, type RawRequest } from './harness.ts'
import { mutate } from './mutation.ts'
import { randomFrom, type Random } from './random.ts'
import { runTestServer, type RunningTestServer } from './running-server.ts'

let server: RunningTestServer
let admin: Admin
let adminPort: number
const faults: string[] = []

before(async () => {
  server = await runTestServer({ silent: true, logLevel: 'error' })
  const settings = {
    host: '127.0.0.1',
    port: 0,
    portMayMove: false,
    acceptsHost: () => true,
    ready: () => true,
    nodes: () => [],
    parts: server.parts,
    access: { control: undefined, token: undefined },
  }
  const report = (message: string) => faults.push(message)
  admin = await startAdmin({ ...settings, metrics: server.metrics, caPem: undefined, report })
  adminPort = Number(new URL(admin.url).port)
  await rawRequest(server, { method: 'PUT', path: '/box?restype=container' })
  await rawRequest(server, { method: 'PUT', path: '/box/b', headers: BLOCK_BLOB, body: 'hello' })
})
after(async () => {
  await admin.close()
  await server.close()
  assert.equal(server.logged(), '')
  assert.deepEqual(faults, [])
})

async function checkAlive(): Promise<void> {
  const answer = await rawRequest(server, { method: 'GET', path: '/box/b' })
  assert.equal(answer.text, 'hello')
  assert.equal((await fetch(`${admin.url}/health/live`)).status, 200)
}

/** Refused by every port: the admin port has its page at /. */
const LAST = 'GET /none HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'

/**
 * The statuses of all responses to these bytes and to a request with `Connection: close` after them. The client then
 * ends its side: if the server takes that request for part of an earlier body, it would wait for more.
 */
async function statusesOf(port: number, bytes: string | Uint8Array): Promise<readonly number[]> {
  const socket = await BareSocket.open(port)
  socket.send(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
  socket.send(LAST)
  socket.finish()
  const received = await socket.rest()
  socket.close()
  return [...received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => Number(match[1]))
}

const line = (text: string): string => `${text}\r\nHost: localhost\r\n\r\n`
const head = (...fields: string[]): string =>
  `PUT /${ACCOUNT}/box/b HTTP/1.1\r\nHost: localhost\r\n${fields.join('\r\n')}\r\n\r\n`
const random = randomFrom(1)

// prettier-ignore
const BYTES: readonly [string, string | Uint8Array][] = [
  ['nothing', ''],
  ['random bytes', random.bytes(100)],
  ['many random bytes', random.bytes(200_000)],
  ['zeros', new Uint8Array(10_000)],
  ['only line ends', '\r\n'.repeat(5_000)],
  ['half a request line', 'GET /devst'],
  ['half a header', `GET /${ACCOUNT} HTTP/1.1\r\nHost: localhost\r\nAuthor`],
  ['HTTP/0.9', 'GET /\r\n\r\n'],
  ['HTTP/2 with prior knowledge', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0'],
  ['HTTP/3.7', line('GET / HTTP/3.7')],
  ['a TLS hello', Buffer.from('16030100c5010000c10303' + '00'.repeat(190), 'hex')],
  ['an SSH greeting', 'SSH-2.0-OpenSSH_9.6\r\n'],
  ['binary in the request line', line('GET /\x01\x02\x7f HTTP/1.1')],
  ['a line end in the request line', line('GET /a\rb HTTP/1.1')],
  ['a method of 10,000 letters', line(`${'A'.repeat(10_000)} / HTTP/1.1`)],
  ['a URL of 70,000 letters', line(`GET /${'a'.repeat(70_000)} HTTP/1.1`)],
  ['a path with parent directories', line(`GET /${ACCOUNT}/../../etc/passwd HTTP/1.1`)],
  ['a path with encoded parent directories', line(`GET /${ACCOUNT}/box/%2e%2e%2f%2e%2e%2fetc HTTP/1.1`)],
  ['a NUL in the path', line(`GET /${ACCOUNT}/box/%00 HTTP/1.1`)],
  ['half an escape', line(`GET /${ACCOUNT}/box/% HTTP/1.1`)],
  ['an invalid URL', line('GET http://[::1 HTTP/1.1')],
  ['10,000 parameters', line(`GET /${ACCOUNT}?${'a&'.repeat(10_000)} HTTP/1.1`)],
  ['names of JavaScript properties', line('GET /__proto__/constructor?__proto__=1&toString=2 HTTP/1.1')],
  ['no host', `GET /${ACCOUNT} HTTP/1.1\r\n\r\n`],
  ['a binary host', `GET /none HTTP/1.1\r\nHost: \xff\xfe.\x80\r\n\r\n`],
  ['a host of many labels', `GET /none HTTP/1.1\r\nHost: ${'a.'.repeat(5_000)}\r\n\r\n`],
  ['a JavaScript property as the host', 'GET /none HTTP/1.1\r\nHost: constructor.blob.localhost\r\n\r\n'],
  ['a header without a colon', head('nonsense')],
  ['a header without a name', head(': nonsense')],
  ['a header with a space in its name', head('x ms: 1')],
  ['a folded header', head('x-ms-a: 1', ' 2')],
  ['a header with a NUL', head('x-ms-a: \0')],
  ['9,000 headers', head('a: b\r\n'.repeat(9_000).trimEnd())],
  ['a header of 100,000 bytes', head(`x: ${'x'.repeat(100_000)}`)],
  ['lines that end in LF', `GET /${ACCOUNT}?comp=list HTTP/1.1\nHost: x\n\n`],
  ['a negative length', head('Content-Length: -1')],
  ['a length that is not a number', head('Content-Length: 1e3')],
  ['a length with a sign', head('Content-Length: +5')],
  ['a length beyond 64 bits', head('Content-Length: 99999999999999999999')],
  ['a length of 64 bits', head('Content-Length: 18446744073709551615')],
  ['two lengths', head('Content-Length: 1', 'Content-Length: 2')],
  ['a length and chunks', head('Content-Length: 5', 'Transfer-Encoding: chunked')],
  ['invalid chunks', `${head('Transfer-Encoding: chunked')}zz\r\n\r\n`],
  ['a chunk beyond 64 bits', `${head('Transfer-Encoding: chunked')}fffffffffffffffff\r\n`],
  ['a negative chunk', `${head('Transfer-Encoding: chunked')}-5\r\nhello\r\n`],
  ['a chunk extension of 100,000 bytes', `${head('Transfer-Encoding: chunked')}5;${'x'.repeat(100_000)}\r\n`],
  ['an unknown encoding', head('Transfer-Encoding: nonsense')],
  ['chunked, but not last', head('Transfer-Encoding: chunked, gzip')],
  ['an upgrade to WebSocket', head('Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Key: AAAA')],
  ['an upgrade to HTTP/2', head('Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAAA')],
  ['an authorization of 30,000 bytes', head(`Authorization: SharedKey ${ACCOUNT}:${'A'.repeat(30_000)}`)],
  ['a token of 30,000 dots', head(`Authorization: Bearer ${'.'.repeat(30_000)}`)],
  ['a body that ends early', `${head('Content-Length: 1000')}half`],
]

for (const [what, bytes] of BYTES) {
  test(`${what}: refused without harm`, async () => {
    const statuses = await statusesOf(server.blobPort, bytes)
    assert.ok(
      statuses.every((status) => status >= 400 && status < 500),
      statuses.join(),
    )
    const adminStatuses = await statusesOf(adminPort, bytes)
    assert.ok(
      adminStatuses.every((status) => status >= 400 && status < 500),
      adminStatuses.join(),
    )
    await checkAlive()
  })
}

const entities = Array.from({ length: 9 }, (_, i) => `<!ENTITY e${i + 1} "${`&e${i};`.repeat(9)}">`)

// prettier-ignore
const DOCUMENTS: readonly [string, string | Uint8Array][] = [
  ['a billion laughs', `<!DOCTYPE x [<!ENTITY e0 "ha">${entities.join('')}]><x>&e9;</x>`],
  ['a file as an entity', '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>'],
  ['an external DTD', '<!DOCTYPE x SYSTEM "http://127.0.0.1:1/x.dtd"><x/>'],
  ['an unknown entity', '<StorageServiceProperties>&nothing;</StorageServiceProperties>'],
  ['15,000 nested elements', '<a>'.repeat(15_000)],
  ['60 nested elements', `${'<a>'.repeat(60)}${'</a>'.repeat(60)}`],
  ['10,000 elements', `<SignedIdentifiers>${'<a/>'.repeat(10_000)}</SignedIdentifiers>`],
  ['5,000 attributes', `<x ${Array.from({ length: 5_000 }, (_, i) => `a${i}="1"`).join(' ')}/>`],
  ['an attribute twice', '<x a="1" a="2"/>'],
  ['names of JavaScript properties', '<StorageServiceProperties><__proto__/><constructor/></StorageServiceProperties>'],
  ['no end', '<StorageServiceProperties><Cors>'],
  ['two roots', '<SignedIdentifiers/><SignedIdentifiers/>'],
  ['a NUL', '<SignedIdentifiers>\0</SignedIdentifiers>'],
  ['invalid UTF-8', Buffer.from('<SignedIdentifiers>\xff\xfe</SignedIdentifiers>', 'latin1')],
  ['UTF-16', Buffer.from('\ufeff<SignedIdentifiers/>', 'utf16le')],
  ['an encoding that is not supported', '<?xml version="1.0" encoding="utf-7"?><SignedIdentifiers/>'],
  ['text instead of markup', 'hello'],
  ['random bytes', random.bytes(10_000)],
]

const XML_OPERATIONS = ['?restype=service&comp=properties', '/box?restype=container&comp=acl']

for (const [what, body] of DOCUMENTS) {
  test(`XML with ${what} is refused with 400`, async () => {
    for (const path of XML_OPERATIONS) {
      const answer = await rawRequest(server, { method: 'PUT', path, body })
      assert.equal(answer.status, 400, `${path}: ${answer.text}`)
      assert.match(String(answer.headers['x-ms-error-code']), /^InvalidXml/)
    }
    await checkAlive()
  })
}

// Valid requests of each kind, to be mutated.
// prettier-ignore
const GOOD: readonly RawRequest[] = [
  { method: 'PUT', path: '/box/put', headers: { ...BLOCK_BLOB, 'x-ms-meta-one': '1', 'content-md5': 'XUFAKrxLKna5cZ2REBfFkg==', 'if-none-match': '"0x1"' }, body: 'hello' },
  { method: 'GET', path: '/box/b', headers: { range: 'bytes=1-3', 'x-ms-range-get-content-md5': 'true', 'if-modified-since': 'Sun, 15 Nov 2020 00:00:00 GMT' } },
  { method: 'HEAD', path: '/box/b?timeout=5', headers: { 'if-match': '*', 'x-ms-lease-id': '6c1f4b1c-0b0e-4c39-8d6c-7c8f7a2f7d3e' } },
  { method: 'GET', path: '/box?restype=container&comp=list&prefix=a&delimiter=%2F&maxresults=5&include=metadata' },
  { method: 'GET', path: '?comp=list&marker=bmE&prefix=b' },
  { method: 'PUT', path: '/box/put?comp=metadata', headers: { 'x-ms-meta-two': '2', 'x-ms-client-request-id': 'id' } },
  { method: 'PUT', path: '/box/put?comp=properties', headers: { 'x-ms-blob-content-type': 'text/plain', 'x-ms-blob-cache-control': 'no-cache' } },
  { method: 'PUT', path: '/box?restype=container&comp=acl', headers: { 'x-ms-blob-public-access': 'blob' }, body: '<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy><Start>2026-01-01T00:00:00Z</Start><Permission>r</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>' },
  { method: 'PUT', path: '?restype=service&comp=properties', body: '<StorageServiceProperties><Cors><CorsRule><AllowedMethods>GET</AllowedMethods><AllowedOrigins>*</AllowedOrigins><AllowedHeaders>x</AllowedHeaders><ExposedHeaders>y</ExposedHeaders><MaxAgeInSeconds>1</MaxAgeInSeconds></CorsRule></Cors></StorageServiceProperties>' },
  { method: 'OPTIONS', path: '/box/b', headers: { origin: 'https://a.example', 'access-control-request-method': 'GET' } },
  { method: 'GET', path: '/box/b', sign: 'sv=2021-12-02&st=2026-01-01T00%3A00%3A00Z&se=2099-01-01T00%3A00%3A00Z&sr=b&sp=r&sip=127.0.0.1&sig=AAAA' },
]

function bytesOf(request: RawRequest): Buffer {
  const { path, headers } = wireRequest(request)
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}\r\n`)
  const text = `${request.method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${fields.join('')}\r\n`
  return Buffer.concat([Buffer.from(text, 'latin1'), Buffer.from(request.body ?? '')])
}

/** Mutates the request before it is signed, so that it passes authentication. */
function mutateRequest(request: RawRequest, random: Random): RawRequest {
  const text = (value: string): string =>
    mutate(Buffer.from(value), random)
      .toString('latin1')
      .replaceAll(/\p{Cc}/gu, '~')
      .trim()
  const target = random.below(4)
  if (target === 0)
    return { ...request, path: text(request.path).replaceAll(/[ #\x80-\xff]/g, '_') }
  if (target === 1 && request.body !== undefined) {
    return { ...request, body: mutate(Buffer.from(request.body), random) }
  }
  const names = Object.keys(request.headers ?? {})
  const name = names[random.below(names.length || 1)]
  if (name === undefined) return request
  const value = text(String(request.headers?.[name]))
  return { ...request, headers: { ...request.headers, [name]: value } }
}

function mutated(random: Random): Buffer {
  const good = GOOD[random.below(GOOD.length)]
  assert.ok(good)
  if (random.below(2) === 0) return mutate(bytesOf(good), random)
  const request = mutateRequest(good, random)
  try {
    return bytesOf(request)
  } catch (error) {
    // A path that cannot be decoded cannot be signed.
    assert.ok(error instanceof URIError)
    return bytesOf({ ...request, sign: 'none' })
  }
}

const ROUND_COUNT = 10
const CONNECTION_COUNT = 250
const REQUEST_COUNT = 4

test(
  '10,000 mutated requests cause no internal error and no leak',
  { timeout: 60_000 },
  async () => {
    const random = randomFrom(20_261_115)
    const heapBytes: number[] = []
    const seen = new Set<number>()
    for (let round = 0; round < ROUND_COUNT; round++) {
      for (let at = 0; at < CONNECTION_COUNT; at += 25) {
        const batches = Array.from({ length: 25 }, () =>
          Buffer.concat(Array.from({ length: REQUEST_COUNT }, () => mutated(random))),
        )
        const statuses = await Promise.all(
          batches.map((bytes) => statusesOf(server.blobPort, bytes)),
        )
        for (const status of statuses.flat()) seen.add(status)
      }
      heapBytes.push(usedHeapBytes())
      assert.equal(server.logged(), '')
    }
    assert.ok(!seen.has(500), [...seen].join())
    // The requests did reach the operations.
    for (const status of [200, 201, 202, 206, 400, 401, 403, 404, 412]) {
      assert.ok(seen.has(status), `no ${status} among ${[...seen].join()}`)
    }
    const [, second = 0] = heapBytes
    assert.ok((heapBytes.at(-1) ?? 0) - second < 24 * 1024 * 1024, heapBytes.join())
    await rawRequest(server, { method: 'PUT', path: '/box/b', headers: BLOCK_BLOB, body: 'hello' })
    await checkAlive()
  },
)

function usedHeapBytes(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}

test('500 silent connections do not block other clients', async () => {
  const silent = await Promise.all(
    Array.from({ length: 500 }, () => BareSocket.open(server.blobPort)),
  )
  const answer = await rawRequest(server, { method: 'GET', path: '/box/b' })
  assert.equal(answer.text, 'hello')
  for (const socket of silent) socket.close()
})
