// Unauthenticated connections share a memory limit: when it is reached, the oldest of them is closed. Authenticated
// connections are kept.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test, type TestContext } from 'node:test'
import { connect as connectTcp } from 'node:net'
import { connect } from 'node:tls'
import { UnauthenticatedMemory } from '../src/memory/unauthenticated-memory.ts'
import type { Exchange } from '../src/http/protocol/exchange.ts'
import { createListener, LISTENER_LIMITS, type TlsContext } from '../src/http/protocol/listener.ts'
import { makeCa, makeServerCertificate } from '../src/start/tls/certificate.ts'
import { listen } from '../src/start/listen.ts'
import { BareSocket, headBytes } from './bare-socket.ts'
import { ACCOUNT } from './harness.ts'
import { runTestServer } from './running-server.ts'

const KIB = 1024
const MIB = 1024 * KIB
const OK = Buffer.from('ok')
const BIG = Buffer.alloc(4 * MIB)
const PART_OF_HEAD = `GET /slow HTTP/1.1\r\nHost: x\r\nx-slow: ${'x'.repeat(50 * KIB)}`

/** `/known` counts as authenticated, `/public` as public access, other paths as unauthenticated. */
async function handle(exchange: Exchange): Promise<void> {
  const { target } = exchange.head
  if (target === '/known' || target === '/public') exchange.admit(target === '/known')
  const body = target === '/big' ? BIG : OK
  exchange.answer(200, [['Content-Length', String(body.length)]], body)
}

async function start(t: TestContext, bytesMax: number, tls?: TlsContext) {
  const memory = new UnauthenticatedMemory(bytesMax)
  const handler = { handle, logFault: assert.ifError }
  const { server, abort } = createListener(handler, LISTENER_LIMITS, tls, {
    unauthenticated: memory,
  })
  const { port } = await listen(server, { what: 'test', flag: '', host: '127.0.0.1', port: 0 })
  t.after(() => abort())
  return { memory, port }
}

const get = (target: string): string => `GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`

/** Sends a request on a new connection and waits for its response, so that all earlier bytes have arrived. */
async function open(port: number, target: string): Promise<BareSocket> {
  const socket = await BareSocket.open(port)
  socket.send(get(target))
  assert.equal((await socket.answer())?.text, 'ok')
  return socket
}

test('the oldest unauthenticated connection is closed at the limit', async (t) => {
  const { memory, port } = await start(t, 100 * KIB)
  const first = await open(port, '/stranger')
  first.send(PART_OF_HEAD)
  const second = await open(port, '/stranger')
  second.send(PART_OF_HEAD)
  assert.equal(await first.answer(), undefined)
  second.send('\r\n\r\n')
  assert.equal((await second.answer())?.text, 'ok')
  assert(memory.bytes <= 100 * KIB)
})

test('an authenticated connection is kept, whatever it sends', async (t) => {
  const { port } = await start(t, 100 * KIB)
  const known = await open(port, '/known')
  known.send(PART_OF_HEAD)
  const strangers = [await open(port, '/stranger'), await open(port, '/public')]
  for (const socket of strangers) socket.send(PART_OF_HEAD)
  assert.equal(await strangers[0]?.answer(), undefined)
  known.send('\r\n\r\n')
  assert.equal((await known.answer())?.text, 'ok')
})

test('from a client that does not read responses, the server reads no more than the kernel buffers', async (t) => {
  const { memory, port } = await start(t, 1024 * 1024 * KIB)
  const socket = connectTcp({ port, host: '127.0.0.1' })
  t.after(() => socket.destroy())
  socket.pause()
  socket.write(
    `GET /big HTTP/1.1\r\nHost: x\r\nx-fill: ${'x'.repeat(50 * KIB)}\r\n\r\n`.repeat(1_000),
  )
  // Another client is served; by then everything has arrived.
  for (let at = 0; at < 200; at++) (await open(port, '/known')).close()
  assert(memory.bytes < 8 * MIB, `${memory.bytes} bytes`)
})

test('a closed connection returns its memory', async (t) => {
  const { memory, port } = await start(t, 1024 * KIB)
  const sockets = [await open(port, '/stranger'), await open(port, '/known')]
  assert(memory.bytes > 0 && memory.bytes < 50 * KIB)
  for (const socket of sockets) {
    socket.send('nonsense\r\n\r\n')
    assert.equal((await socket.answer())?.status, 400)
    assert.equal(await socket.rest(), '')
  }
  // The server notices the end of a connection a little later than its client.
  while (memory.bytes > 0) (await open(port, '/known')).close()
})

test('a client in the middle of a TLS handshake counts as unauthenticated', async (t) => {
  const nowMs = Date.now()
  const ca = await makeCa(nowMs)
  const { certPem, keyPem } = await makeServerCertificate(ca, ['localhost'], nowMs)
  const { memory, port } = await start(t, 100 * KIB, { cert: certPem, key: keyPem })
  const silent = await BareSocket.open(port)
  const socket = connect({ port, host: '127.0.0.1', servername: 'localhost', ca: ca.certPem })
  t.after(() => socket.destroy())
  await once(socket, 'secureConnect')
  assert.equal(await silent.rest(), '')
  socket.write(get('/known'))
  await once(socket, 'data')
  assert.equal(memory.bytes, 0)
})

test('a valid signature authenticates a connection', async (t) => {
  const server = await runTestServer({ silent: true })
  t.after(() => server.close())
  const socket = await BareSocket.open(server.blobPort)
  t.after(() => socket.close())
  const heldBytes = async () => {
    const { text } = await server.metrics.expose()
    return Number(/^lazuli_unauthenticated_bytes (\d+)$/m.exec(text)?.[1])
  }
  const request = { method: 'GET', path: '?comp=list' }
  socket.send(headBytes(request, { authorization: `SharedKey ${ACCOUNT}:AAAA` }))
  assert.equal((await socket.answer())?.status, 403)
  assert(await heldBytes())
  socket.send(headBytes(request))
  assert.equal((await socket.answer())?.status, 200)
  assert.equal(await heldBytes(), 0)
})
