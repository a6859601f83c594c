import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { StorageError } from '../../storage/shared/error.ts'
import { parseAllowCopyFrom } from './copy-source.ts'
import { fetchSource, type FetchedSource, type SourceRequest } from './fetch-source.ts'

type Origin = {
  readonly port: number
  readonly url: URL
  /** Every connection so far. */
  readonly sockets: Socket[]
}

/** A server for one test. */
async function originOf(t: TestContext, listener: RequestListener): Promise<Origin> {
  const sockets: Socket[] = []
  const server: Server = createServer(listener)
  server.on('connection', (socket) => sockets.push(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  assert(typeof address === 'object' && address !== null)
  const url = new URL(`http://127.0.0.1:${address.port}/c/blob%20b?sv=1&sig=a%2Bb`)
  return { port: address.port, url, sockets }
}

/** A server that answers with exactly these bytes, and hangs up if `end`. */
function rawOrigin(t: TestContext, answer: string, end = true): Promise<Origin> {
  return originOf(t, ({ socket }) => (end ? socket.end(answer) : socket.write(answer)))
}

function requestFor(url: URL, change: Partial<SourceRequest> = {}): SourceRequest {
  return {
    url,
    method: 'GET',
    headers: {},
    patterns: parseAllowCopyFrom([url.origin]),
    signal: new AbortController().signal,
    connectTimeoutMs: 30_000,
    idleTimeoutMs: 30_000,
    ...change,
  }
}

async function textOf(source: FetchedSource): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of source.stream()) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

/** Matches a StorageError by code, status and words in its message. */
function storageError(code: string, status: number, words = '') {
  return (error: unknown): boolean => {
    assert(error instanceof StorageError, String(error))
    assert.equal(`${error.status} ${error.code}`, `${status} ${code}`)
    assert(error.message.includes(words), error.message)
    assert(!error.message.includes('sig='), 'the message reveals a SAS')
    return true
  }
}

async function allClosed({ sockets }: Origin): Promise<void> {
  for (const socket of sockets) if (!socket.closed) await once(socket, 'close')
}

const OK = 'HTTP/1.1 200 OK\r\n'
const MD5 = 'XrY7u+Ae7tCTyyK7j1rNww=='

const BLOB_HEADERS = {
  'Content-Type': 'text/plain',
  'Content-Encoding': 'gzip',
  'Content-Language': 'de',
  'Content-Disposition': 'inline',
  'Cache-Control': 'no-store',
  'Content-MD5': MD5,
  ETag: '"0x8D1"',
  'Last-Modified': 'Sun, 06 Nov 1994 08:49:37 GMT',
  'x-ms-meta-Colour': 'blue',
}

test('GET sends the request as given and decodes the answer', async (t) => {
  const seen: string[] = []
  const origin = await originOf(t, (req, res) => {
    const { host, authorization, connection, range } = req.headers
    const encoding = req.headers['accept-encoding']
    seen.push(`${req.method} ${req.url}`, `${host} ${authorization} ${encoding}`)
    seen.push(`${connection} ${range}`)
    res.writeHead(200, { ...BLOB_HEADERS, 'Content-Length': 11 }).end('hello world')
  })
  const headers = { authorization: 'Bearer abc' }
  const source = await fetchSource(requestFor(origin.url, { headers }))
  assert.equal(source.status, 200)
  assert.equal(source.lengthBytes, 11)
  assert.equal(source.etag, '"0x8D1"')
  assert.equal(source.lastModifiedMs, Date.UTC(1994, 10, 6, 8, 49, 37))
  assert.equal(source.headers['x-ms-meta-colour'], 'blue')
  assert.deepEqual(source.metadata, [['Colour', 'blue']])
  assert.deepEqual(source.contentHeaders, {
    contentType: 'text/plain',
    // The blob's property: its bytes are copied as they are.
    contentEncoding: 'gzip',
    contentLanguage: 'de',
    contentDisposition: 'inline',
    cacheControl: 'no-store',
    contentMd5: MD5,
  })
  assert.equal(await textOf(source), 'hello world')
  assert.deepEqual(seen, [
    'GET /c/blob%20b?sv=1&sig=a%2Bb',
    `127.0.0.1:${origin.port} Bearer abc identity`,
    'close undefined',
  ])
  await allClosed(origin)
})

test('HEAD returns the length of the body, and no body', async (t) => {
  const origin = await rawOrigin(t, `${OK}Content-Length: 7\r\n\r\n`, false)
  const source = await fetchSource(requestFor(origin.url, { method: 'HEAD' }))
  assert.equal(source.lengthBytes, 7)
  assert.equal(source.etag, undefined)
  assert.deepEqual([source.contentHeaders, source.metadata], [{}, []])
  await allClosed(origin)
  source.close()
})

for (const lengthBytes of [0, 3_000_000]) {
  test(`a source of ${lengthBytes} bytes arrives whole`, async (t) => {
    const body = Buffer.alloc(lengthBytes, 'abcdefg').toString()
    const { url } = await originOf(t, (_, res) =>
      res.setHeader('Content-Length', lengthBytes).end(body),
    )
    assert.equal(await textOf(await fetchSource(requestFor(url))), body)
  })
}

//  requested range, as sent, Content-Range of the answer, its body
const RANGES = [
  [{ from: 0, to: 4 }, 'bytes=0-3', 'bytes 0-3/9', 'abcd'],
  [{ from: 3 }, 'bytes=3-', 'bytes 3-8/9', 'defghi'],
  [{ from: 3, to: Infinity }, 'bytes=3-', 'bytes 3-8/9', 'defghi'],
  // The source is shorter than the range, and says so.
  [{ from: 3, to: 99 }, 'bytes=3-98', 'bytes 3-8/9', 'defghi'],
  [{ from: 0, to: 1 }, 'bytes=0-0', 'bytes 0-0/*', 'a'],
] as const

for (const [range, sent, contentRange, body] of RANGES) {
  test(`Range: ${sent} → ${contentRange}`, async (t) => {
    const origin = await originOf(t, (req, res) => {
      assert.equal(req.headers.range, sent)
      const headers = { 'Content-Length': body.length, 'Content-Range': contentRange }
      res.writeHead(206, { ...headers, 'Content-MD5': MD5 }).end(body)
    })
    const source = await fetchSource(requestFor(origin.url, { range }))
    assert.equal(source.status, 206)
    assert.equal(source.lengthBytes, body.length)
    assert.equal(source.contentHeaders.contentMd5, undefined, 'Content-MD5 is that of the range')
    assert.equal(await textOf(source), body)
  })
}

test('with a range, x-ms-blob-content-md5 is the MD5 of the whole blob', async (t) => {
  const answer = `HTTP/1.1 206 OK\r\nContent-Length: 1\r\nContent-Range: bytes 0-0/5\r\nx-ms-blob-content-md5: ${MD5}\r\n\r\na`
  const { url } = await rawOrigin(t, answer)
  const source = await fetchSource(requestFor(url, { range: { from: 0, to: 1 } }))
  assert.equal(source.contentHeaders.contentMd5, MD5)
  assert.equal(await textOf(source), 'a')
})

//  of the source                                 to the client
const STATUSES = [
  ['404 The specified blob does not exist.', 404, 'CannotVerifyCopySource'],
  ['401 Unauthorized', 401, 'CannotVerifyCopySource'],
  ['403 Forbidden', 403, 'CannotVerifyCopySource'],
  ['409 Public access is not permitted', 409, 'CannotVerifyCopySource'],
  ['416 The range is invalid', 416, 'CannotVerifyCopySource'],
  ['429 Slow down', 429, 'CannotVerifyCopySource'],
  ['500 Oh', 500, 'CannotVerifyCopySource'],
  ['503 Server Busy', 500, 'CannotVerifyCopySource'],
  ['412 The condition is not met', 412, 'SourceConditionNotMet'],
  ['304 Not Modified', 412, 'SourceConditionNotMet'],
] as const

for (const [line, status, code] of STATUSES) {
  test(`the source answers ${line} → ${status} ${code}`, async (t) => {
    const headers = 'x-ms-error-code: SomeCode\r\nContent-Length: 3\r\n\r\nabc'
    // The source does not hang up; the reader has to.
    const origin = await rawOrigin(t, `HTTP/1.1 ${line}\r\n${headers}`, false)
    const words = code === 'CannotVerifyCopySource' ? line.slice(4) : ''
    await assert.rejects(fetchSource(requestFor(origin.url)), (error: StorageError) => {
      const expected = {
        CopySourceStatusCode: line.slice(0, 3),
        CopySourceErrorCode: 'SomeCode',
        CopySourceErrorMessage: line.slice(4),
      }
      assert.deepEqual(error.details, words === '' ? {} : expected)
      return storageError(code, status, words)(error)
    })
    await allClosed(origin)
  })
}

test('an error code of the source that is not a word is not passed on', async (t) => {
  const head = 'HTTP/1.1 404 Gone\r\nx-ms-error-code: caf\u00e9 1\r\nContent-Length: 0\r\n\r\n'
  const origin = await rawOrigin(t, head, false)
  await assert.rejects(fetchSource(requestFor(origin.url)), (error: StorageError) => {
    assert.equal(error.details['CopySourceErrorCode'], undefined)
    return storageError('CannotVerifyCopySource', 404, 'Gone')(error)
  })
  await allClosed(origin)
})

const RANGE = { from: 2, to: 4 }

//  what is wrong, requested range, status, part of the message, the answer
// prettier-ignore
const UNUSABLE = [
  ['no Content-Length', undefined, 409, 'no Content-Length', `${OK}\r\nabc`],
  ['chunked', undefined, 409, 'no Content-Length', `${OK}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['HTTP/1.0', undefined, 409, 'no Content-Length', 'HTTP/1.0 200 OK\r\n\r\nabc'],
  ['a huge length', undefined, 409, 'no Content-Length', `${OK}Content-Length: 9999999999999999\r\n\r\n`],
  ['not a number', undefined, 500, 'HPE_', `${OK}Content-Length: 1e1\r\n\r\na`],
  ['two lengths', undefined, 500, 'HPE_', `${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\na`],
  ['gzip', undefined, 500, 'HPE_', `${OK}Transfer-Encoding: gzip\r\nContent-Length: 1\r\n\r\na`],
  ['204', undefined, 409, 'answered 204', 'HTTP/1.1 204 No Content\r\n\r\n'],
  ['a redirect', undefined, 409, 'redirects', 'HTTP/1.1 302 Found\r\nLocation: /other\r\n\r\n'],
  ['an upgrade', undefined, 500, '', 'HTTP/1.1 101 Hm\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'],
  ['not HTTP', undefined, 500, 'HPE_', 'SSH-2.0-OpenSSH_9.6\r\n'],
  ['nothing', undefined, 500, 'ECONNRESET', ''],
  ['long headers', undefined, 500, 'HPE_HEADER_OVERFLOW', `${OK}x: ${'x'.repeat(40_000)}\r\n\r\n`],
  ['bad metadata', undefined, 409, 'metadata', `${OK}Content-Length: 0\r\nx-ms-meta-a-b: c\r\n\r\n`],
  ['Range ignored', RANGE, 409, 'range', `${OK}Content-Length: 2\r\n\r\nab`],
  ['not 206', RANGE, 409, 'range', `${OK}Content-Length: 2\r\nContent-Range: bytes 2-3/9\r\n\r\nab`],
  ['no Content-Range', RANGE, 409, 'range', partial('x: y', 'ab')],
  ['another start', RANGE, 409, 'range', partial('Content-Range: bytes 1-2/9', 'ab')],
  ['another end', RANGE, 409, 'range', partial('Content-Range: bytes 2-4/9', 'abc')],
  ['another length', RANGE, 409, 'range', partial('Content-Range: bytes 2-3/9', 'a')],
  ['an unrequested range', undefined, 409, 'range', partial('Content-Range: bytes 0-1/9', 'ab')],
] as const

function partial(header: string, body: string): string {
  return `HTTP/1.1 206 Partial\r\nContent-Length: ${body.length}\r\n${header}\r\n\r\n${body}`
}

for (const [what, range, status, words, answer] of UNUSABLE) {
  test(`an unusable answer: ${what} → ${status}`, async (t) => {
    const origin = await rawOrigin(t, answer)
    const change = range === undefined ? {} : { range }
    const failed = storageError('CannotVerifyCopySource', status, words)
    await assert.rejects(fetchSource(requestFor(origin.url, change)), failed)
    assert.equal(origin.sockets.length, 1, 'there was one request')
    await allClosed(origin)
  })
}

for (const [what, body] of [
  ['shorter', 'ab'],
  ['longer', 'abcd'],
] as const) {
  test(`a body that is ${what} than its Content-Length fails`, async (t) => {
    const { url } = await rawOrigin(t, `${OK}Content-Length: 3\r\n\r\n${body}`)
    const source = await fetchSource(requestFor(url))
    await assert.rejects(textOf(source), storageError('CannotVerifyCopySource', 500))
  })
}

//  patterns, host, its addresses, `allowed` or part of the message
const GUARDED = [
  ['', '127.0.0.1', [], '--allowCopyFrom http://127.0.0.1'],
  ['http://other.example:PORT', 'files.example', ['127.0.0.1'], '--allowCopyFrom http://files'],
  ['http://127.0.0.1:1', '127.0.0.1', [], '--allowCopyFrom http://127.0.0.1'],
  // A wildcard never permits inside addresses, in whatever form.
  ['http://*:PORT', '127.0.0.1', [], 'not public'],
  ['http://*:PORT', '2130706433', [], 'not public'],
  ['http://*:PORT', '0x7f.1', [], 'not public'],
  ['http://*:PORT', '[::1]', [], 'not public'],
  ['http://*:PORT', '[::ffff:127.0.0.1]', [], 'not public'],
  ['http://*:PORT', '169.254.169.254', [], 'not public'],
  ['http://*:PORT', 'localhost', ['127.0.0.1'], 'not public'],
  ['http://*.example:PORT', 'files.example', ['127.0.0.1'], 'not public'],
  ['http://*.example:PORT', 'files.example', ['::1', '10.0.0.1', '127.0.0.1'], 'not public'],
  // A literal host permits inside addresses.
  ['http://files.example:PORT', 'files.example', ['127.0.0.1'], 'allowed'],
  ['http://*.example:PORT,http://files.example:PORT', 'files.example', ['127.0.0.1'], 'allowed'],
  ['http://127.0.0.1:PORT/c/*', '2130706433', [], 'allowed'],
] as const

for (const [patterns, host, addresses, outcome] of GUARDED) {
  test(`--allowCopyFrom '${patterns}': ${host} at [${addresses}] → ${outcome}`, async (t) => {
    const origin = await originOf(t, (_, res) => res.setHeader('Content-Length', 2).end('ok'))
    let lookups = 0
    const request = requestFor(new URL(`http://${host}:${origin.port}/c/b?sig=secret`), {
      patterns: parseAllowCopyFrom([patterns.replaceAll('PORT', String(origin.port))]),
      async resolve(hostname) {
        assert.equal(hostname, host)
        lookups += 1
        return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
      },
    })
    if (outcome === 'allowed') {
      assert.equal(await textOf(await fetchSource(request)), 'ok')
      // There is no second lookup: it connects to the address that it checked.
      assert.equal(lookups, addresses.length === 0 ? 0 : 1)
    } else {
      const refused = storageError('CannotVerifyCopySource', 403, outcome)
      await assert.rejects(fetchSource(request), refused)
      assert.equal(origin.sockets.length, 0, 'there was no connection')
    }
  })
}

test('an unknown host name → 500', async () => {
  const resolve = () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' }))
  const request = requestFor(new URL('http://files.example/b'), { resolve })
  const failed = storageError('CannotVerifyCopySource', 500, 'ENOTFOUND')
  await assert.rejects(fetchSource(request), failed)
})

test('a port where nothing listens → 500', async () => {
  // Port 1 is tcpmux, which nobody uses.
  const failed = storageError('CannotVerifyCopySource', 500, 'ECONNREFUSED')
  await assert.rejects(fetchSource(requestFor(new URL('http://127.0.0.1:1/b'))), failed)
})

test('https to a server that does not speak TLS → 500', async (t) => {
  const { port } = await originOf(t, (_, res) => res.end())
  const request = requestFor(new URL(`https://127.0.0.1:${port}/b`))
  await assert.rejects(fetchSource(request), storageError('CannotVerifyCopySource', 500))
})

const timedOut = storageError('CannotVerifyCopySource', 500, 'within the specified time')

test('no connection in time → 500', async () => {
  const resolve = () => new Promise<never>(() => {})
  const change = { resolve, connectTimeoutMs: 1 }
  await assert.rejects(fetchSource(requestFor(new URL('http://files.example/b'), change)), timedOut)
})

test('a head that is incomplete at the timeout → 500', async (t) => {
  const origin = await rawOrigin(t, 'HTTP/1.1 102 Wait\r\n\r\nHTTP/1.1 200 OK\r\nContent-', false)
  await assert.rejects(fetchSource(requestFor(origin.url, { idleTimeoutMs: 20 })), timedOut)
  await allClosed(origin)
})

for (const body of ['', 'ab']) {
  test(`a body that stalls after ${body.length} bytes → 500`, async (t) => {
    const origin = await rawOrigin(t, `${OK}Content-Length: 3\r\n\r\n${body}`, false)
    const source = await fetchSource(requestFor(origin.url, { idleTimeoutMs: 20 }))
    await assert.rejects(textOf(source), timedOut)
    await allClosed(origin)
  })
}

test('the signal cancels with its reason: before, while waiting, while reading', async (t) => {
  const reason = new Error('the client is gone')
  const isReason = (error: unknown): boolean => error === reason
  const silent = await originOf(t, () => controllers[1]?.abort(reason))
  const stuck = await rawOrigin(t, `${OK}Content-Length: 3\r\n\r\nab`, false)
  const controllers = [1, 2, 3].map(() => new AbortController())
  const [before, waiting, reading] = controllers
  assert(before !== undefined && waiting !== undefined && reading !== undefined)

  before.abort(reason)
  await assert.rejects(fetchSource(requestFor(silent.url, { signal: before.signal })), isReason)
  assert.equal(silent.sockets.length, 0)

  await assert.rejects(fetchSource(requestFor(silent.url, { signal: waiting.signal })), isReason)

  const source = await fetchSource(requestFor(stuck.url, { signal: reading.signal }))
  await assert.rejects(async () => {
    for await (const chunk of source.stream()) {
      assert.equal(chunk.length, 2)
      reading.abort(reason)
    }
  }, isReason)
  await allClosed(silent)
  await allClosed(stuck)
})

test('close ends the connection: unread, half read, and repeatedly', async (t) => {
  const origin = await rawOrigin(t, `${OK}Content-Length: 3\r\n\r\nab`, false)
  const unread = await fetchSource(requestFor(origin.url))
  unread.close()
  unread.close()
  await assert.rejects(textOf(unread), storageError('CannotVerifyCopySource', 500))
  const half = await fetchSource(requestFor(origin.url))
  for await (const chunk of half.stream()) {
    assert.equal(chunk.length, 2)
    break
  }
  assert.throws(() => half.stream(), 'the body can be read once')
  assert.equal(origin.sockets.length, 2)
  await allClosed(origin)
  half.close()
})

test('a source that disconnects before it is read fails only the reader', async (t) => {
  const origin = await rawOrigin(t, `${OK}Content-Length: 3\r\n\r\nab`, false)
  const source = await fetchSource(requestFor(origin.url))
  for (const socket of origin.sockets) socket.destroy()
  await allClosed(origin)
  await assert.rejects(textOf(source), storageError('CannotVerifyCopySource', 500))
})
