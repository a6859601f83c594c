import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request, type IncomingMessage, type RequestOptions } from 'node:http'
import { connect } from 'node:net'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { near } from '../../../../test/json-schema.ts'
import { NOW, smallParts } from '../../../../test/small-parts.ts'
import { hostRule } from '../../../http/protocol/allowed-host.ts'
import { startAdmin, type Admin, type AdminSettings } from '../admin.ts'
import type { ControlParts } from './parts.ts'
import { routesOf } from './routes.ts'

const admins: Admin[] = []
after(() => Promise.all(admins.map((admin) => admin.close())))

async function start(parts: ControlParts, settings: Partial<AdminSettings> = {}): Promise<Admin> {
  const admin = await startAdmin({
    host: '127.0.0.1',
    port: 0,
    portMayMove: false,
    acceptsHost: hostRule([]),
    ready: () => true,
    metrics: { expose: async () => ({ contentType: 'text/plain', text: '' }) },
    nodes: () => [],
    caPem: undefined,
    access: { control: undefined, token: undefined },
    report: (message, error) => assert.fail(`${message}: ${String(error)}`),
    parts,
    ...settings,
  })
  admins.push(admin)
  return admin
}

const JSON_TYPE = { 'Content-Type': 'application/json' }

type Answered = { readonly status: number; readonly value: unknown; readonly headers: Headers }

async function ask(admin: Admin, line: string, body?: unknown, headers = {}): Promise<Answered> {
  const [method = 'GET', path = ''] = line.split(' ')
  const answer = await fetch(`${admin.url}/api/${path}`, {
    method,
    headers: { ...(method === 'POST' && JSON_TYPE), ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await answer.text()
  return {
    status: answer.status,
    value: text === '' ? '' : JSON.parse(text),
    headers: answer.headers,
  }
}

const DONE: readonly [string, unknown, number, unknown, unknown?][] = [
  ['GET journal?countMax=1', undefined, 200, { lastId: 3, droppedCount: 0 }],
  ['GET journal/2', undefined, 200, { id: 2, resource: '/a/c/b2', client: { name: 'A' } }],
  ['GET leases', undefined, 200, { leases: [{ leaseId: 'l' }] }],
  ['POST leases/break', { resource: '/a/c/b' }, 200, {}, ['break', '/a/c/b']],
  ['GET messages/invisible', undefined, 200, { messages: [] }],
  ['POST messages/visible', { account: 'a', queue: 'q', messageId: 'm' }, 200, {}, ['visible', { account: 'a', queue: 'q', messageId: 'm' }]],
  ['GET opens', undefined, 200, { opens: [] }],
  ['DELETE opens/a%2Fb', undefined, 200, {}, ['close', 'a/b']],
  ['GET locks', undefined, 200, { locks: [] }],
  ['GET copies', undefined, 200, { copies: [] }],
  ['GET uncommitted', undefined, 200, { uncommitted: [] }],
  ['GET races', undefined, 200, { races: [] }],
  ['GET clock', undefined, 200, { isHeld: false }],
  ['POST clock', { hold: true }, 200, { isHeld: true }, ['hold']],
  ['POST clock', { advance: 'PT60S' }, 200, { isHeld: true }, ['advance', 'PT60S']],
  ['POST clock', { set: NOW }, 200, { isHeld: true }, ['set', NOW]],
  ['POST clock', { run: true }, 200, { isHeld: true }, ['run']],
  ['GET barriers', undefined, 200, { barriers: [{ id: '1' }] }],
  ['POST barriers', { at: 'checked', match: { path: '/c/*' } }, 201, { id: '1' }, ['hold', { at: 'checked', match: { path: '/c/*' } }]],
  ['GET barriers/1', undefined, 200, { at: 'checked' }],
  ['GET barriers/1?held=2', undefined, 200, { id: '1' }, ['held', 2, { timeLimit: 60_000 }]],
  ['POST barriers/1/release', undefined, 200, { id: '1' }, ['release']],
  ['POST barriers/1/release', { clients: ['B', 'A'] }, 200, { id: '1' }, ['release', 'B', 'A']],
  ['DELETE barriers/1', undefined, 200, {}],
  ['GET faults', undefined, 200, { faults: [] }],
  ['POST faults', { effect: { status: 503 }, times: 1 }, 201, { id: '1', times: 1 }, ['add', { effect: { status: 503 }, times: 1 }]],
  ['DELETE faults/1', undefined, 200, {}],
  ['GET snapshots', undefined, 200, { snapshots: [{ name: 'one' }] }],
  ['POST snapshots/new', undefined, 201, { name: 'new' }],
  ['POST snapshots/one/restore', undefined, 200, {}, ['restore', 'one']],
  ['DELETE snapshots/one', undefined, 200, {}],
  ['POST reset', {}, 200, {}, ['reset', {}]],
  ['POST reset', { account: 'a', service: 'blob', container: 'c' }, 200, {}, ['reset', { account: 'a', service: 'blob', container: 'c' }]],
  ['POST seed', { folder: '/x' }, 200, {}, ['seed', '/x']],
  ['POST export', { folder: '/x' }, 200, {}, ['export', '/x']],
] // prettier-ignore

for (const [line, body, status, value, question] of DONE) {
  test(`${line} ${body === undefined ? '' : JSON.stringify(body)}`, async () => {
    const { parts, asked } = smallParts()
    const answered = await ask(await start(parts), line, body)
    assert.equal(answered.status, status)
    assert.partialDeepStrictEqual(answered.value, value)
    assert.deepEqual(asked, question === undefined ? [] : [question])
    const [method = '', path = ''] = line.replace(/\?.*/, '').split(' ')
    const route = routesOf(parts, { heartbeatMs: 1_000 }).find(
      (each) =>
        each.method === method &&
        new RegExp(`^${each.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
    )
    assert(route?.answer !== undefined)
    route.answer.decode(answered.value, '')
  })
}

const REFUSED: readonly [string, unknown, number, unknown][] = [
  ['GET nothing', undefined, 404, { message: 'there is no /api/nothing; see /api/openapi.json' }],
  ['GET %ff', undefined, 400, { message: 'the path is not valid percent-encoded UTF-8' }],
  ['GET journal?sinc=1', undefined, 400, { field: 'sinc', message: 'is not a field; expected since, resource, operation, client, status, conflicts, countMax' }],
  ['GET journal?since=-1', undefined, 400, { field: 'since', message: 'must be a whole number of at least 0, not -1' }],
  ['GET journal?since=1&since=2', undefined, 400, { field: 'since', message: 'is given twice' }],
  ['GET journal/9', undefined, 404, { message: 'the journal has no entry 9; its entries are 1 to 3' }],
  ['GET journal/x', undefined, 404, { message: 'the journal has no entry x; its entries are 1 to 3' }],
  ['POST journal', {}, 405, { message: '/api/journal has the methods GET, HEAD, DELETE, OPTIONS' }],
  ['POST clock', '{', 400, { message: 'the body is not valid JSON' }],
  ['POST clock', {}, 400, { message: 'the value must be { "hold" } or { "advance" } or { "set" } or { "run" }, not an object' }],
  ['POST clock', { hold: true, run: true }, 400, { field: 'run', message: 'is not a field; expected hold' }],
  ['POST clock', { hold: false }, 400, { field: 'hold', message: 'must be true, not false' }],
  ['POST clock', { advance: -1 }, 400, { field: 'advance', message: 'must be a number of at least 0 or a text of 1 to 4096 characters, not -1' }],
  ['POST barriers', { at: 'x' }, 400, { field: 'at', message: 'must be one of received, authorized, read, checked, committed, answered, not "x"' }],
  ['GET barriers/2', undefined, 404, { message: 'there is no barrier 2' }],
  ['POST barriers/2/release', {}, 404, { message: 'there is no barrier 2' }],
  ['DELETE barriers/2', undefined, 404, { message: 'there is no barrier 2' }],
  ['DELETE faults/2', undefined, 404, { message: 'there is no fault 2' }],
  ['DELETE snapshots/none', undefined, 404, { message: 'there is no snapshot none' }],
  ['POST leases/break', { resource: '/a/none' }, 404, { message: 'The specified blob does not exist.' }],
  ['POST reset', { service: 'smb' }, 400, { field: 'service', message: 'must be one of blob, queue, table, file, not "smb"' }],
] // prettier-ignore

for (const [line, body, status, error] of REFUSED) {
  test(`${line} ${body === undefined ? '' : JSON.stringify(body)}: ${status}`, async () => {
    const answered = await ask(await start(smallParts().parts), line, body)
    assert.deepEqual([answered.status, answered.value], [status, { error }])
  })
}

test('a part that the server does not have has no routes', async () => {
  const admin = await start({})
  assert.equal((await ask(admin, 'GET journal')).status, 404)
  const { value } = await ask(admin, 'GET openapi.json')
  assert.deepEqual((value as { paths: object }).paths, {})
})

test('HEAD, OPTIONS and Allow', async () => {
  const admin = await start(smallParts().parts)
  const head = await ask(admin, 'HEAD journal')
  assert.deepEqual([head.status, head.value], [200, ''])
  assert(Number(head.headers.get('content-length')) > 100)
  assert.equal((await ask(admin, 'HEAD journal/stream')).status, 200)
  const options = await ask(admin, 'OPTIONS barriers')
  assert.deepEqual(
    [options.status, options.headers.get('allow')],
    [204, 'GET, HEAD, POST, DELETE, OPTIONS'],
  )
  assert.equal(options.headers.get('access-control-allow-origin'), null)
  assert.equal(
    (await ask(admin, 'PUT barriers')).headers.get('allow'),
    'GET, HEAD, POST, DELETE, OPTIONS',
  )
})

async function statusOf(admin: Admin, path: string, options: RequestOptions, body?: string) {
  const sent = request(new URL(path, admin.url), { agent: false, ...options })
  const [answer] = (await once(sent.end(body), 'response')) as [IncomingMessage]
  answer.resume()
  return answer.statusCode
}

test('web pages of other origins, and their forms, are refused', async () => {
  const admin = await start(smallParts().parts)
  const from = (origin: string) =>
    statusOf(
      admin,
      '/api/clock',
      { method: 'POST', headers: { ...JSON_TYPE, origin } },
      '{"run":true}',
    )
  assert.equal(await from('https://evil.example'), 403)
  assert.equal(await from('null'), 403)
  assert.equal(await from('http://127.0.0.1:1'), 403)
  assert.equal(await from(admin.url), 200)
  assert.equal(
    await statusOf(admin, '/api/journal', { headers: { origin: 'https://evil.example' } }),
    403,
  )
  const form = { method: 'POST', headers: { 'content-type': 'text/plain' } }
  assert.equal(await statusOf(admin, '/api/clock', form, '{"run":true}'), 415)
  assert.equal(await statusOf(admin, '/api/clock', { method: 'POST' }), 415)
  assert.equal(await statusOf(admin, '/api/journal', { headers: { host: 'evil.example' } }), 400)
})

test('a body is bounded and needs a length', async () => {
  const { parts, asked } = smallParts()
  const admin = await start(parts)
  const long = `{"advance":"${'x'.repeat(1024 * 1024)}"}`
  assert.deepEqual((await ask(admin, 'POST clock', long)).value, {
    error: { message: 'the body is longer than 1048576 bytes' },
  })
  const chunked = { method: 'POST', headers: { ...JSON_TYPE, 'transfer-encoding': 'chunked' } }
  assert.equal(await statusOf(admin, '/api/clock', chunked, '{"run":true}'), 411)
  assert.deepEqual(asked, [])
})

test('a client that sends half a body does not stall others', async () => {
  const admin = await start(smallParts().parts)
  const socket = connect(Number(new URL(admin.url).port), '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(
    'POST /api/clock HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"a',
  )
  assert.equal((await ask(admin, 'GET clock')).status, 200)
  socket.destroy()
})

const BEARER = { Authorization: 'Bearer secret-of-this-test' }

test('a configured token is required on loopback, too', async () => {
  const admin = await start(smallParts().parts, {
    access: { control: undefined, token: 'secret-of-this-test' },
  })
  for (const line of ['GET journal', 'GET journal/stream', 'POST clock', 'GET nothing']) {
    const { status, headers } = await ask(admin, line)
    assert.deepEqual([status, headers.get('www-authenticate')], [401, 'Bearer realm="lazuli"'])
  }
  assert.equal(
    (await ask(admin, 'GET journal', undefined, { Authorization: 'Bearer other' })).status,
    401,
  )
  assert.equal((await ask(admin, 'GET journal', undefined, BEARER)).status, 200)
  assert.equal((await ask(admin, 'POST clock', { run: true }, BEARER)).status, 200)
  for (const open of ['openapi.json', 'nodes'])
    assert.equal((await ask(admin, `GET ${open}`)).status, 200)
})

test('where accounts have keys of their own, a token of this run is required on loopback, too', async () => {
  const access = { control: undefined, token: undefined, guardsKeys: true }
  const admin = await start(smallParts().parts, { access })
  const bearer = { Authorization: `Bearer ${admin.generatedToken ?? ''}` }
  assert.equal((await ask(admin, 'GET journal')).status, 401)
  assert.equal((await ask(admin, 'POST clock', { run: true })).status, 401)
  assert.equal((await ask(admin, 'GET journal', undefined, bearer)).status, 200)
  assert.equal((await ask(admin, 'POST clock', { run: true }, bearer)).status, 200)
})

const AWAY: readonly [AdminSettings['access'], object, number, number][] = [
  [{ control: undefined, token: undefined }, {}, 403, 403],
  [{ control: undefined, token: 'secret-of-this-test' }, {}, 401, 401],
  [{ control: undefined, token: 'secret-of-this-test' }, BEARER, 200, 403],
  [{ control: false, token: 'secret-of-this-test' }, BEARER, 200, 403],
  [{ control: true, token: 'secret-of-this-test' }, BEARER, 200, 200],
]

for (const [access, headers, reading, changing] of AWAY) {
  test(`where other machines reach the port: ${JSON.stringify([access, headers])}`, async () => {
    const { url, ...admin } = await start(smallParts().parts, { host: '0.0.0.0', access })
    const local = { ...admin, url: url }
    assert.equal((await ask(local, 'GET journal', undefined, headers)).status, reading)
    assert.equal((await ask(local, 'POST clock', { run: true }, headers)).status, changing)
  })
}

test('control without a token gets one for this run, where other machines reach the port', async () => {
  const access = { control: true, token: undefined }
  assert.equal((await start({}, { access })).generatedToken, undefined)
  const { url, generatedToken = '' } = await start(smallParts().parts, { host: '0.0.0.0', access })
  assert.match(generatedToken, /^[\w-]{32}$/)
  const local = { url: url, generatedToken, close: async () => {} }
  const bearer = { Authorization: `Bearer ${generatedToken}` }
  assert.equal((await ask(local, 'POST clock', { run: true })).status, 401)
  assert.equal((await ask(local, 'POST clock', { run: true }, bearer)).status, 200)
})

test('no body makes a route fail in any other way than 400', async () => {
  const { parts } = smallParts()
  const admin = await start(parts)
  const posts = routesOf(parts, { heartbeatMs: 1_000 }).filter(({ method }) => method === 'POST')
  const line = fc
    .constantFrom(...posts)
    .chain(({ path, body }) =>
      fc.tuple(fc.constant(path.replaceAll(/\{\w+\}/g, '1')), near(body?.json ?? {})),
    )
  await fc.assert(
    fc.asyncProperty(line, async ([path, body]) => {
      const { status, value } = await ask(admin, `POST ${path}`, body ?? null)
      assert([200, 201, 400].includes(status), `${status}`)
      if (status === 400) assert.deepEqual(Object.keys(value as object), ['error'])
    }),
    { numRuns: 200 },
  )
})
