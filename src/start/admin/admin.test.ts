import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, request, type IncomingMessage } from 'node:http'
import { connect, createServer as createTcpServer } from 'node:net'
import { after, test } from 'node:test'
import { hostRule } from '../../http/protocol/allowed-host.ts'
import { startAdmin, type Admin, type AdminSettings } from './admin.ts'
import type { FoundAdmin } from './find-admin.ts'
import { checkHealth } from './health.ts'
import { listen } from '../listen.ts'

const SETTINGS: AdminSettings = {
  host: '127.0.0.1',
  port: 0,
  portMayMove: false,
  acceptsHost: hostRule(['prometheus.test']),
  ready: () => ready,
  metrics: { expose: async () => ({ contentType: 'text/plain; version=0.0.4', text: 'm 1\n' }) },
  nodes: () => [],
  caPem: undefined,
  parts: {},
  access: { control: undefined, token: undefined },
  report: (message) => reports.push(message),
}

let ready = true
const reports: string[] = []
const admins: Admin[] = []
after(() => Promise.all(admins.map((admin) => admin.close())))

async function start(settings: Partial<AdminSettings> = {}): Promise<Admin> {
  const admin = await startAdmin({ ...SETTINGS, ...settings })
  admins.push(admin)
  return admin
}

async function ask(admin: Admin, path: string, method = 'GET'): Promise<string> {
  const response = await fetch(admin.url + path, { method, headers: { Connection: 'close' } })
  return `${response.status} ${(await response.text()).trim()}`
}

function portOf(admin: Admin): number {
  return Number(new URL(admin.url).port)
}

const ANSWERS: readonly [string, string, string][] = [
  ['GET', '/health/live', '200 live'],
  ['GET', '/health/ready', '200 ready'],
  ['HEAD', '/health/ready', '200 '],
  ['GET', '/health/ready?x=1', '200 ready'],
  ['GET', '/metrics', '200 m 1'],
  ['POST', '/metrics', '405 Only GET and HEAD are allowed.'],
  [
    'GET',
    '/nothing',
    '404 Not found. Available: / /docs/ /health/live /health/ready /metrics /api/nodes /ca.pem /api/openapi.json',
  ],
  ['GET', '/api/nodes', '200 {"nodes":[]}'],
  ['GET', '/ca.pem', '404 There is no CA: the server was started without --https auto.'],
]

test('the admin port answers', async (t) => {
  const admin = await start()
  for (const [method, path, expected] of ANSWERS) {
    await t.test(`${method} ${path}: ${expected}`, async () => {
      assert.equal(await ask(admin, path, method), expected)
    })
  }
})

test('only allowed host names are accepted, on every address', async () => {
  const { port } = new URL((await start({ host: '0.0.0.0' })).url)
  const statusFor = async (host: string): Promise<number | undefined> => {
    const options = { host: '127.0.0.1', port, path: '/metrics', headers: { host }, agent: false }
    const [answer] = (await once(request(options).end(), 'response')) as [IncomingMessage]
    answer.resume()
    return answer.statusCode
  }
  for (const host of ['127.0.0.1', `localhost:${port}`, '192.0.2.7', 'prometheus.test']) {
    assert.equal(await statusFor(host), 200, host)
  }
  assert.equal(await statusFor('evil.example'), 400)
})

test('a server that is not ready answers 503, and lazuli health reports it', async () => {
  const admin = await start()
  const place = { url: admin.url, id: undefined, notInFolder: undefined }
  assert.deepEqual(await checkHealth(place), { exitCode: 0, line: 'ready' })
  ready = false
  assert.equal(await ask(admin, '/health/ready'), '503 not ready')
  assert.equal(await ask(admin, '/health/live'), '200 live')
  assert.deepEqual(await checkHealth(place), {
    exitCode: 1,
    line: `not ready: ${admin.url}/health/ready answers 503`,
  })
  ready = true
})

test('lazuli health reports a server that does not listen or does not answer', async () => {
  const silent = createTcpServer((socket) => socket.on('error', () => undefined).resume())
  const place = { what: 'test', flag: '', host: '127.0.0.1', port: 0 }
  const { port } = await listen(silent, place)
  const options = { url: `http://127.0.0.1:${port}`, id: undefined, notInFolder: undefined }
  const late = await checkHealth(options, 20)
  assert.equal(late.exitCode, 1)
  assert.match(late.line, /no answer within 0\.02 s$/)
  silent.close()
  await once(silent, 'close')
  const none = await checkHealth(options)
  assert.equal(none.exitCode, 1)
  assert.match(none.line, /^not ready: http:.*: connection refused$/)
})

test('lazuli health takes no other server for the one of its folder', async () => {
  const { url } = await start({ identity: { id: 'one', data: 'folder' } })
  const lineOf = async (admin: Partial<FoundAdmin>) =>
    (await checkHealth({ url, id: undefined, notInFolder: undefined, ...admin })).line
  assert.equal(await lineOf({ id: 'one' }), 'ready')
  assert.match(await lineOf({ id: 'two' }), /^not ready: the server of this data folder has ended/)
  assert.match(await lineOf({ notInFolder: '/d' }), /^not ready: no server uses \/d, and what /)
  const inMemory = await start({ identity: { id: 'three', data: 'memory' } })
  assert.equal(await lineOf({ url: inMemory.url, notInFolder: '/d' }), 'ready')
})

test('/ca.pem is the CA of --https auto', async () => {
  const admin = await start({ caPem: '-----BEGIN CERTIFICATE-----' })
  assert.equal(await ask(admin, '/ca.pem'), '200 -----BEGIN CERTIFICATE-----')
})

test('an internal error is reported and answered with 500', async () => {
  const expose = (): Promise<never> => Promise.reject(new Error('no'))
  const admin = await start({ metrics: { expose } })
  assert.equal(await ask(admin, '/metrics'), '500 Internal error.')
  assert.deepEqual(reports, ['admin request /metrics failed'])
})

const BAD_BYTES: readonly string[] = [
  '\u0000\u0001\u0002\u0003\r\n\r\n',
  'GET\r\n\r\n',
  'GET / HTTP/9.9\r\n\r\n',
  'POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n',
  `GET /${'x'.repeat(100_000)} HTTP/1.1\r\n\r\n`,
  'GET http://[/ HTTP/1.1\r\nHost: x\r\n\r\n',
]

test('malformed requests do no harm', async () => {
  const admin = await start()
  for (const bytes of BAD_BYTES) {
    const socket = connect(portOf(admin), '127.0.0.1')
    socket.on('error', () => undefined)
    socket.end(bytes)
    socket.resume()
    await once(socket, 'close')
  }
  assert.equal(await ask(admin, '/health/live'), '200 live')
})

test('a port in use is an error if it was given, otherwise another one is used', async (t) => {
  const other = createServer()
  t.after(() => other.close())
  const place = { what: 'the blob service', flag: '--blobPort', host: '127.0.0.1', port: 0 }
  const { port } = await listen(other, place)
  const message = (what: string, flag: string): string =>
    `${what} cannot listen on 127.0.0.1:${port}: the port is already in use; choose another with ${flag}`
  await assert.rejects(listen(createServer(), { ...place, port }), {
    name: 'StartError',
    message: message('the blob service', '--blobPort'),
    exitCode: 1,
  })
  await assert.rejects(start({ port }), { message: message('the admin port', '--adminPort') })
  assert.notEqual(portOf(await start({ port, portMayMove: true })), port)
})

test('an address that this machine does not have is an error', async () => {
  const place = { what: 'the blob service', flag: '--blobPort', host: '192.0.2.1', port: 0 }
  await assert.rejects(listen(createServer(), place), /this machine does not have that address/)
})
