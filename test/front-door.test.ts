// The checks on every request before its operation: address, headers, version, size and CORS. Tested through real
// sockets, as clients see them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BlobServiceClient } from '@azure/storage-blob'
import { askBare, BareSocket, headBytes } from './bare-socket.ts'
import { startBlobFixture } from './blob/fixture.ts'
import {
  ACCOUNT,
  API_VERSION,
  outcome,
  rawRequest,
  startTestServer,
  xmlText,
  type RawRequest,
} from './harness.ts'
import { runTestServer } from './running-server.ts'

const UNMODIFIED = { 'if-modified-since': 'Fri, 01 Jan 2100 00:00:00 GMT' }

const { server, put } = await startBlobFixture({ allowedHosts: ['storage.example'] })
await put('b', 'hello')

// prettier-ignore
const ADDRESSES: readonly [what: string, method: string, path: string, host: string, outcome: string][] = [
  ['path style', 'GET', `/${ACCOUNT}/box/b`, '127.0.0.1', '200'],
  ['path style, an allowed host', 'GET', `/${ACCOUNT}/box/b`, 'storage.example:10000', '200'],
  ['host style', 'GET', '/box/b', `${ACCOUNT}.blob.localhost`, '200'],
  ['host style, with capitals and a port', 'GET', '/box/b', `DevStoreAccount1.blob.localhost:1`, '200'],
  ['host style, of the service', 'GET', '/?comp=list', `${ACCOUNT}.blob.localhost`, '200'],
  ['of the service, without a trailing slash', 'GET', `/${ACCOUNT}?comp=list`, '127.0.0.1', '200'],
  ['secondary, path style, read', 'GET', `/${ACCOUNT}-secondary/box/b`, '127.0.0.1', '200'],
  ['secondary, host style, read', 'GET', '/box/b', `${ACCOUNT}-secondary.blob.localhost`, '200'],
  ['secondary, write', 'PUT', `/${ACCOUNT}-secondary/box?restype=container`, '127.0.0.1', '403 InsufficientAccountPermissions'],
  ['secondary, delete', 'DELETE', '/box/b', `${ACCOUNT}-secondary.blob.localhost`, '403 InsufficientAccountPermissions'],
  ['an account that does not exist', 'GET', '/nobody/box/b', '127.0.0.1', '404 ResourceNotFound'],
  ['a host without an account', 'GET', '/box/b', 'nobody.blob.localhost', '404 ResourceNotFound'],
  ['no account', 'GET', '/', '127.0.0.1', '404 ResourceNotFound'],
  ["Azure's host name", 'GET', '/box/b', `${ACCOUNT}.blob.core.windows.net`, '200'],
  ['host style, an allowed host', 'GET', '/box/b', `${ACCOUNT}.blob.storage.example`, '200'],
  ['the host of a Docker container', 'GET', `/${ACCOUNT}/box/b`, 'host.docker.internal:10000', '200'],
  ["a web page's host name", 'GET', `/${ACCOUNT}/box/b`, 'evil.example:10000', '400 InvalidHeaderValue'],
  ["a web page's host name with an account", 'GET', '/box/b', `${ACCOUNT}.evil.example`, '400 InvalidHeaderValue'],
]

for (const [what, method, path, host, expected] of ADDRESSES) {
  test(`address: ${what} → ${expected}`, async () => {
    const answer = await rawRequest(server, { method, path, headers: { host }, wholePath: true })
    assert.equal(outcome(answer), expected, answer.text)
  })
}

test('the answer to a host that is not allowed says how to allow it', async () => {
  const answer = await rawRequest(server, {
    method: 'GET',
    path: '/box/b',
    headers: { host: 'evil.example' },
  })
  assert.match(xmlText(answer.text, 'Message') ?? '', /^The host name .* --allowedHosts/)
  assert.equal(xmlText(answer.text, 'HeaderName'), 'Host')
  assert.equal(xmlText(answer.text, 'HeaderValue'), 'evil.example')
})

test('a server that listens on an open address accepts any host name', async (t) => {
  const open = await startTestServer({ host: '0.0.0.0' })
  t.after(() => open.close())
  const headers = { host: 'storage.svc.cluster.local' }
  const request = { method: 'GET', path: '?comp=list', headers }
  assert.equal(outcome(await rawRequest(open, request)), '200')
})

test('--disableProductStyleUrl takes the account from the path only', async (t) => {
  const running = await runTestServer({ disableProductStyleUrl: true, silent: true })
  t.after(() => running.close())
  const headers = { host: `${ACCOUNT}.blob.localhost` }
  const hostStyle = await rawRequest(running, {
    method: 'GET',
    path: '/?comp=list',
    headers,
    wholePath: true,
  })
  assert.equal(outcome(hostStyle), '404 ResourceNotFound')
  assert.equal(
    outcome(await rawRequest(running, { method: 'GET', path: '?comp=list', headers })),
    '200',
  )
})

test('only the secondary has service statistics', async () => {
  const path = (account: string) => `/${account}/?restype=service&comp=stats`
  const secondary = await rawRequest(server, {
    method: 'GET',
    path: path(`${ACCOUNT}-secondary`),
    wholePath: true,
  })
  assert.equal(xmlText(secondary.text, 'Status'), 'live')
  const primary = await rawRequest(server, { method: 'GET', path: path(ACCOUNT), wholePath: true })
  assert.equal(outcome(primary), '400 InvalidQueryParameterValue')
})

// prettier-ignore
const HEADERED: readonly [string, RawRequest, string][] = [
  ['success', { method: 'GET', path: '/box/b' }, '200'],
  ['not found', { method: 'GET', path: '/box/none' }, '404 BlobNotFound'],
  ['HEAD of nothing', { method: 'HEAD', path: '/box/none' }, '404 BlobNotFound'],
  ['not modified', { method: 'GET', path: '/box/b', headers: UNMODIFIED }, '304 ConditionNotMet'],
  ['refused', { method: 'GET', path: '/box/b', sign: 'none' }, '401 NoAuthenticationInformation'],
  ['an unknown operation', { method: 'GET', path: '/box/b?comp=nothing' }, '400 InvalidQueryParameterValue'],
  ['a path that cannot be decoded', { method: 'GET', path: '/box/%ff' }, '400 InvalidUri'],
]

for (const [what, request, expected] of HEADERED) {
  test(`every response has the common headers: ${what}`, async () => {
    const headers = { ...request.headers, 'x-ms-client-request-id': 'mine ü' }
    const sentMs = Date.now()
    const answer = await rawRequest(server, { ...request, headers })
    assert.equal(outcome(answer), expected)
    assert.match(String(answer.headers['x-ms-request-id']), /^[0-9a-f-]{36}$/)
    assert.equal(answer.headers['x-ms-version'], API_VERSION)
    assert.equal(answer.headers['x-ms-client-request-id'], 'mine ü')
    assert.match(String(answer.headers.server), /^Windows-Azure-Blob\//)
    // By the machine's clock, in whole seconds.
    const answeredMs = Date.parse(String(answer.headers.date))
    assert.ok(answeredMs > sentMs - 1_000 && answeredMs <= Date.now(), answer.headers.date)
  })
}

test('an error is XML with its code, message, request id and time', async () => {
  const answer = await rawRequest(server, { method: 'GET', path: '/box/none' })
  const id = String(answer.headers['x-ms-request-id'])
  assert.equal(answer.headers['content-type'], 'application/xml')
  assert.equal(answer.headers['content-length'], String(answer.body.length))
  assert.match(answer.text, /^<\?xml version="1.0" encoding="utf-8"\?><Error><Code>BlobNotFound</)
  const message = `The specified blob does not exist.\nRequestId:${id}\nTime:`
  assert.ok(xmlText(answer.text, 'Message')?.startsWith(message))
  assert.match(answer.text, /Time:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z<\/Message><\/Error>$/)
})

test('an error names the invalid parameter or header, escaped', async () => {
  const query = await rawRequest(server, { method: 'GET', path: '/box/b?timeout=%3Cx%3E' })
  assert.equal(xmlText(query.text, 'QueryParameterName'), 'timeout')
  assert.equal(xmlText(query.text, 'QueryParameterValue'), '&lt;x&gt;')
  const header = await rawRequest(server, {
    method: 'GET',
    path: '/box/b',
    headers: { 'if-modified-since': 'a & b' },
  })
  assert.equal(xmlText(header.text, 'HeaderValue'), 'a &amp; b')
})

test('a response to HEAD and a 304 have no body', async () => {
  for (const request of [
    { method: 'HEAD', path: '/box/none' },
    { method: 'HEAD', path: '/box/b' },
    { method: 'GET', path: '/box/b', headers: UNMODIFIED },
  ]) {
    const socket = await BareSocket.open(server.blobPort)
    socket.send(headBytes(request) + headBytes({ method: 'GET', path: '/box/b' }))
    await socket.answer({ headOnly: true })
    assert.equal((await socket.answer())?.text, 'hello', `after ${request.method} ${request.path}`)
    socket.close()
  }
})

// prettier-ignore
const REQUEST_LINES: readonly [method: string, path: string, outcome: string][] = [
  ['PATCH', '/box/b', '405 UnsupportedHttpVerb'],
  ['POST', '/box?restype=container', '405 UnsupportedHttpVerb'],
  ['GET', '/box/b?comp=nothing', '400 InvalidQueryParameterValue'],
  ['GET', '/box?restype=nothing', '400 InvalidQueryParameterValue'],
  ['GET', '/box?restype=container&comp=nothing', '400 InvalidQueryParameterValue'],
  ['GET', '/box?RESTYPE=Container&Comp=LIST', '200'],
  ['GET', '/box/b?timeout=0', '200'],
  ['GET', '/box/b?timeout=30', '200'],
  ['GET', '/box/b?timeout=999999', '200'],
  ['GET', '/box/b?timeout=-1', '400 InvalidQueryParameterValue'],
  ['GET', '/box/b?timeout=soon', '400 InvalidQueryParameterValue'],
  ['GET', '/box/b?unknown=ignored', '200'],
  ['GET', '/box/%zz', '400 InvalidUri'],
  ['GET', '/box/%c3%28', '400 InvalidUri'],
  ['GET', '/box/%ed%a0%80', '400 InvalidUri'],
  ['GET', '/box/b?prefix=%ff', '400 RequestUrlFailedToParse'],
  ['GET', '/box/b?%zz=1', '400 RequestUrlFailedToParse'],
]

for (const [method, path, expected] of REQUEST_LINES) {
  test(`${method} ${path} → ${expected}`, async () => {
    // A path that cannot be decoded cannot be signed: it is refused before the signature is checked.
    const sign = /%(zz|ff)/.test(path) || /%(c3|ed)/.test(path) ? 'none' : 'sharedKey'
    const answer = await rawRequest(server, { method, path, sign })
    assert.equal(outcome(answer), expected, answer.text)
  })
}

test('a request with an invalid timeout changes nothing', async () => {
  const refused = await rawRequest(server, {
    method: 'PUT',
    path: '/unmade?restype=container&timeout=x',
  })
  assert.equal(outcome(refused), '400 InvalidQueryParameterValue')
  const failing = await rawRequest(server, { method: 'GET', path: '/box/none?timeout=x' })
  assert.equal(outcome(failing), '400 InvalidQueryParameterValue')
  assert.equal(
    outcome(await rawRequest(server, { method: 'GET', path: '/unmade?restype=container' })),
    '404 ContainerNotFound',
  )
})

test('405 lists the allowed methods', async () => {
  const answer = await rawRequest(server, { method: 'POST', path: '/box?restype=container' })
  assert.equal(answer.headers.allow, 'PUT, GET, HEAD, DELETE')
})

// prettier-ignore
const TARGETS: readonly [string, string, number][] = [
  ['absolute form', `GET http://other.example/${ACCOUNT}/box/b`, 401],
  ['absolute form without a path', 'GET http://other.example', 404],
  ['asterisk form', 'OPTIONS *', 400],
  ['authority form', 'CONNECT 127.0.0.1:80', 400],
  ['an unknown method', 'NONSENSE /', 400],
]

for (const [what, line, expected] of TARGETS) {
  test(`${what}: ${line} → ${expected}`, async () => {
    const head = `${line} HTTP/1.1\r\nHost: localhost\r\nx-ms-version: ${API_VERSION}\r\n\r\n`
    assert.equal((await askBare(server.blobPort, head))?.status, expected)
  })
}

test('a request in absolute form is signed by its path', async () => {
  const head = headBytes({ method: 'GET', path: '/box/b' }).replace(' /', ' http://other.example/')
  assert.equal((await askBare(server.blobPort, head))?.text, 'hello')
})

test('bytes in a path that should have been encoded are refused with 400', async () => {
  const head = `GET /${ACCOUNT}/box/grün HTTP/1.1\r\nHost: localhost\r\n\r\n`
  for (const encoding of ['utf8', 'latin1'] as const) {
    assert.equal((await askBare(server.blobPort, Buffer.from(head, encoding)))?.status, 400)
  }
})

// prettier-ignore
const VERSIONS: readonly [version: string, strict: boolean, outcome: string][] = [
  ['2009-09-19', false, '200'],
  ['2026-10-06', false, '200'],
  ['2099-12-31', false, '200'],
  ['2099-12-31', true, '400 InvalidHeaderValue'],
  ['2026-10-06', true, '200'],
  ['2026-13-01', false, '400 InvalidHeaderValue'],
  ['latest', false, '400 InvalidHeaderValue'],
]

test('any well-formed x-ms-version is accepted and echoed', async (t) => {
  const strict = await runTestServer({ strictApiVersion: true, silent: true })
  t.after(() => strict.close())
  for (const [version, isStrict, expected] of VERSIONS) {
    const path = '?comp=list'
    const request = { method: 'GET', path, headers: { 'x-ms-version': version } }
    const answer = await rawRequest(isStrict ? strict : server, request)
    assert.equal(outcome(answer), expected, `${version}, strict: ${isStrict}`)
    if (answer.status === 200) assert.equal(answer.headers['x-ms-version'], version)
  }
})

test("a request without a version gets the account's default", async (t) => {
  const own = await startTestServer()
  t.after(() => own.close())
  const bare = `GET /${ACCOUNT}/box/b HTTP/1.1\r\nHost: localhost\r\n\r\n`
  assert.equal((await askBare(own.blobPort, bare))?.headers['x-ms-version'], '2014-02-14')
  const client = BlobServiceClient.fromConnectionString(own.connectionString)
  await client.setProperties({ defaultServiceVersion: '2021-12-02' })
  const answer = await askBare(own.blobPort, bare)
  assert.equal(answer?.headers['x-ms-version'], '2021-12-02')
  assert.equal(answer?.status, 401)
})

// prettier-ignore
const PREFLIGHTS: readonly [origin: string, method: string, headers: string | undefined, expected: string][] = [
  ['https://app.example', 'PUT', 'x-ms-meta-one, content-type', '200'],
  ['https://app.example', 'PUT', undefined, '200'],
  ['https://app.example', 'DELETE', undefined, '403 CorsPreflightFailure'],
  ['https://app.example', 'PUT', 'x-secret', '403 CorsPreflightFailure'],
  ['https://other.example', 'PUT', undefined, '403 CorsPreflightFailure'],
]

test('CORS', async (t) => {
  const own = await startTestServer()
  t.after(() => own.close())
  const client = BlobServiceClient.fromConnectionString(own.connectionString)
  const preflight = (origin: string, method: string, requested?: string) => {
    const headers = { origin, 'access-control-request-method': method }
    const more = requested === undefined ? {} : { 'access-control-request-headers': requested }
    const all = { ...headers, ...more }
    return rawRequest(own, { method: 'OPTIONS', path: '/box/b', headers: all, sign: 'none' })
  }
  const get = (headers: Record<string, string> = {}) =>
    rawRequest(own, { method: 'GET', path: '/box/b', headers })

  await t.test('is off without rules', async () => {
    const refused = await preflight('https://app.example', 'GET')
    assert.equal(outcome(refused), '403 CorsPreflightFailure')
    const answer = await get({ origin: 'https://app.example' })
    assert.equal(answer.headers['access-control-allow-origin'], undefined)
    assert.equal(answer.headers.vary, undefined)
  })

  const rule = {
    allowedOrigins: 'https://app.example',
    allowedMethods: 'GET,PUT',
    allowedHeaders: 'x-ms-meta-*,content-type',
    exposedHeaders: 'x-ms-*,ETag',
    maxAgeInSeconds: 60,
  }
  await client.setProperties({ cors: [rule] })

  for (const [origin, method, requested, expected] of PREFLIGHTS) {
    await t.test(`preflight ${origin} ${method} ${requested ?? '-'} → ${expected}`, async () => {
      const answer = await preflight(origin, method, requested)
      assert.equal(outcome(answer), expected)
      if (answer.status !== 200) return
      assert.equal(answer.headers['access-control-allow-origin'], origin)
      assert.equal(answer.headers['access-control-allow-methods'], method)
      assert.equal(answer.headers['access-control-allow-headers'], requested)
      assert.equal(answer.headers['access-control-max-age'], '60')
      assert.equal(answer.headers['access-control-allow-credentials'], 'true')
    })
  }

  await t.test('a preflight has each header once, also if the rule allows OPTIONS', async () => {
    await client.setProperties({ cors: [{ ...rule, allowedMethods: 'GET,PUT,OPTIONS' }] })
    const answer = await preflight('https://app.example', 'PUT')
    assert.equal(answer.headers['access-control-allow-origin'], 'https://app.example')
    assert.equal(answer.headers['access-control-allow-credentials'], 'true')
    await client.setProperties({ cors: [rule] })
  })

  await t.test('refuses a preflight without its headers with 400', async () => {
    const answer = await rawRequest(own, { method: 'OPTIONS', path: '/box/b', sign: 'none' })
    assert.equal(outcome(answer), '400 InvalidHeaderValue')
  })

  await t.test('sends the origin with responses and with errors', async () => {
    await client.getContainerClient('box').create()
    await client.getContainerClient('box').getBlockBlobClient('b').upload('hello', 5)
    for (const path of ['/box/b', '/box/none']) {
      const headers = { origin: 'https://app.example' }
      const answer = await rawRequest(own, { method: 'GET', path, headers })
      assert.equal(answer.headers['access-control-allow-origin'], 'https://app.example')
      assert.match(String(answer.headers['access-control-expose-headers']), /x-ms-request-id/)
      assert.equal(answer.headers.vary, 'Origin')
    }
  })

  await t.test('sends Vary if the origin is missing or another', async () => {
    for (const headers of [{}, { origin: 'https://other.example' }]) {
      const answer = await get(headers)
      assert.equal(answer.status, 200)
      assert.equal(answer.headers['access-control-allow-origin'], undefined)
      assert.equal(answer.headers.vary, 'Origin')
    }
  })

  await t.test('sends * without Vary for a rule that allows every origin', async () => {
    await client.setProperties({ cors: [{ ...rule, allowedOrigins: '*' }] })
    const answer = await get({ origin: 'https://any.example' })
    assert.equal(answer.headers['access-control-allow-origin'], '*')
    assert.equal(answer.headers.vary, undefined)
  })
})
