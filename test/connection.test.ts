// HTTP connections: limits on the size of headers and on time, requests in sequence on one connection, and what happens
// to them when the server closes.
import assert from 'node:assert/strict'
import { connect, type AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { parseRequestHead } from '../src/http/protocol/request-head.ts'
import { createControl } from '../src/control/control.ts'
import type { ConnectionLimits } from '../src/http/protocol/connection.ts'
import { createListener, LISTENER_LIMITS } from '../src/http/protocol/listener.ts'
import { tableOf, type Answer, type Operation } from '../src/http/door/operation.ts'
import { errorAnswer } from '../src/http/door/error-answer.ts'
import { handlerOf, type Front } from '../src/http/door/serve.ts'
import { fixedAccounts } from '../src/start/account/accounts.ts'
import { listen } from '../src/start/listen.ts'
import { DEFAULT_SERVICE_PROPERTIES } from '../src/storage/shared/service/service-properties.ts'
import { askBare, BareSocket, headBytes } from './bare-socket.ts'
import { ACCOUNT, rawRequest, startTestServer } from './harness.ts'
import { runTestServer } from './running-server.ts'

/** Operations that wait until the test releases them. */
class Gate {
  /** The number of 1 MiB responses given. */
  bigCount = 0
  /** The lengths of the bodies that were read. */
  readonly sunk: number[] = []
  readonly #held: (() => void)[] = []
  #wake: () => void = () => undefined

  async pass(): Promise<Answer> {
    await new Promise<void>((resolve) => {
      this.#held.push(resolve)
      this.#wake()
    })
    return { status: 200, headers: [], body: 'done' }
  }

  async entered(count: number): Promise<void> {
    while (this.#held.length < count) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  open(): void {
    for (const release of this.#held.splice(0)) release()
  }
}

const accounts = fixedAccounts()

function gatedFront(gate: Gate): Front<Gate> {
  const permission = { resourceType: 's', accountSas: undefined, serviceSas: undefined } as const
  const row = (comp: string, run: Operation<Gate>['run']): Operation<Gate> => ({
    name: comp, methods: ['GET', 'PUT'], level: 'service', comp, writes: false, bodyBytesMax: 1 << 20,
    permission: { ...permission, anonymous: 'container' }, run,
  }) // prettier-ignore
  const wait = row('wait', ({ service }) => service.pass())
  const quick = row('quick', async () => ({ status: 200, headers: [], body: 'quick' }))
  const big = row('big', async ({ service }) => {
    service.bigCount += 1
    return { status: 200, headers: [], body: Buffer.alloc(1 << 20) }
  })
  const sink = row('sink', async ({ request, service }) => {
    const { length } = await request.body.read(1 << 20)
    service.sunk.push(length)
    return { status: 200, headers: [], body: String(length) }
  })
  return {
    name: 'blob',
    serverHeader: 'test',
    table: tableOf([wait, quick, big, sink], () => 'service'),
    service: gate,
    errorAnswer,
    accounts,
    pathStyleOnly: false,
    acceptsHost: () => true,
    strictVersion: false,
    loose: false,
    world: () => ({
      accounts,
      nowMs: 0,
      wallNowMs: 0,
      accessPolicy: async () => undefined,
      publicAccess: async () => 'container',
      bearer: undefined,
    }),
    properties: async () => DEFAULT_SERVICE_PROPERTIES,
    watching: createControl({ clock: Date.now, journal: undefined, decodeHead: parseRequestHead })
      .watching,
    observe: () => undefined,
    logFault: (error) => {
      throw error
    },
  }
}

async function startGated(t: TestContext, limits: Partial<ConnectionLimits> = {}) {
  const gate = new Gate()
  const listener = createListener(
    handlerOf(gatedFront(gate)),
    { ...LISTENER_LIMITS, ...limits },
    undefined,
  )
  const place = { what: 'test', flag: '', host: '127.0.0.1', port: 0 }
  const { port }: AddressInfo = await listen(listener.server, place)
  t.after(() => {
    gate.open()
    return listener.abort()
  })
  return { gate, port, close: () => listener.close() }
}

function get(comp: string, more = ''): string {
  return `GET /${ACCOUNT}/?comp=${comp} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n${more}\r\n`
}

test('the keep-alive time follows the setting and is in the response', async (t) => {
  const { port } = await startGated(t, { keepAliveMs: 2_000 })
  const socket = await BareSocket.open(port)
  socket.send(get('quick'))
  assert.equal((await socket.answer())?.headers['keep-alive'], 'timeout=2')
  socket.close()
  const running = await runTestServer({ blobKeepAliveTimeout: 7, silent: true })
  t.after(() => running.close())
  const answer = await rawRequest(running, {
    method: 'GET',
    path: '?comp=list',
    headers: { connection: 'keep-alive' },
  })
  assert.equal(answer.headers['keep-alive'], 'timeout=7')
})

test('a client that leaves in the middle of its second body is not waited for', async (t) => {
  const { gate, port } = await startGated(t)
  const socket = await BareSocket.open(port)
  const second = `PUT /${ACCOUNT}/?comp=sink HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\nhalf`
  socket.send(get('wait') + second)
  socket.finish()
  await gate.entered(1)
  // By the time a later client is answered, the end of this one has arrived.
  assert.equal((await askBare(port, get('quick')))?.text, 'quick')
  gate.open()
  assert.equal((await socket.answer())?.text, 'done')
  assert.equal(await socket.rest(), '')
  assert.deepEqual(gate.sunk, [])
})

test('an idle connection is closed', async (t) => {
  const { port } = await startGated(t, { keepAliveMs: 1 })
  const socket = await BareSocket.open(port)
  socket.send(get('quick'))
  assert.equal((await socket.answer())?.text, 'quick')
  assert.equal(await socket.rest(), '')
})

test('the connection ends after one response with Connection: close or HTTP/1.0', async (t) => {
  const { port } = await startGated(t)
  for (const head of [
    get('quick', 'Connection: close\r\n'),
    get('quick').replace('/1.1', '/1.0'),
  ]) {
    const socket = await BareSocket.open(port)
    socket.send(head)
    const answer = await socket.answer()
    assert.equal(answer?.headers.connection, 'close')
    assert.equal(await socket.rest(), '')
  }
})

test('a header that is too long is refused with 431', async () => {
  const server = await startTestServer()
  const long = (bytes: number) =>
    headBytes({ method: 'GET', path: '?comp=list' }, { 'x-long': 'x'.repeat(bytes) })
  assert.equal((await askBare(server.blobPort, long(60_000)))?.status, 200)
  assert.equal((await askBare(server.blobPort, long(70_000)))?.status, 431)
  await server.close()
})

for (const beginning of ['', 'GET / HT', `GET / HTTP/1.1\r\nHost: x\r\nx-slow: `]) {
  test(`an incomplete header (${JSON.stringify(beginning)}) times out`, async (t) => {
    const { port } = await startGated(t, { headersMs: 20 })
    const socket = await BareSocket.open(port)
    socket.send(beginning)
    assert.match(await socket.rest(), /^HTTP\/1\.1 408 Request Timeout\r\nConnection: close\r\n/)
  })
}

test('an incomplete body times out', async (t) => {
  const { port } = await startGated(t, { silenceMs: 20 })
  const socket = await BareSocket.open(port)
  socket.send(`PUT /${ACCOUNT}/?comp=sink HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf`)
  assert.equal(await socket.rest(), '')
})

test('requests on one connection are answered in order', async (t) => {
  const { port, gate } = await startGated(t)
  const socket = await BareSocket.open(port)
  socket.send(get('wait') + get('quick') + get('nothing') + get('quick'))
  await gate.entered(1)
  assert.equal(socket.waiting, '')
  gate.open()
  const answers = [
    await socket.answer(),
    await socket.answer(),
    await socket.answer(),
    await socket.answer(),
  ]
  assert.deepEqual(
    answers.map((answer) => answer?.status),
    [200, 200, 400, 200],
  )
  assert.deepEqual(
    [answers[0]?.text, answers[1]?.text, answers[3]?.text],
    ['done', 'quick', 'quick'],
  )
  socket.close()
})

for (const behind of ['nonsense\r\n\r\n', `${get('quick').slice(0, 30)}\0\r\n\r\n`]) {
  test(`a valid request is answered before ${JSON.stringify(behind)} ends the connection`, async (t) => {
    const { port, gate } = await startGated(t)
    const socket = await BareSocket.open(port)
    socket.send(get('wait') + behind)
    await gate.entered(1)
    gate.open()
    const answer = await socket.answer()
    assert.equal(answer?.text, 'done')
    const refused = await socket.answer()
    assert.equal(`${refused?.status} ${refused?.headers.connection}`, '400 close')
    assert.equal(await socket.rest(), '')
  })
}

test('a request and its body may arrive byte by byte', async (t) => {
  const { port } = await startGated(t)
  const socket = await BareSocket.open(port)
  const request = `PUT /${ACCOUNT}/?comp=sink HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc`
  for (const byte of request) socket.send(byte)
  assert.equal((await socket.answer())?.text, '3')
  socket.close()
})

function put(comp: string, ...fields: readonly string[]): string {
  return `PUT /${ACCOUNT}/?comp=${comp} HTTP/1.1\r\n${['Host: x', ...fields].join('\r\n')}\r\n\r\n`
}

test('a body that the operation does not read is discarded, and the next request is answered', async (t) => {
  const { port } = await startGated(t)
  const socket = await BareSocket.open(port)
  socket.send(put('quick', 'Content-Length: 1000000'))
  assert.equal((await socket.answer())?.headers.connection, 'keep-alive')
  socket.send(Buffer.alloc(1_000_000))
  socket.send(get('quick'))
  assert.equal((await socket.answer())?.text, 'quick')
  socket.close()
})

test('a chunked body is refused with 411 and never parsed as a request', async (t) => {
  const { port } = await startGated(t)
  const socket = await BareSocket.open(port)
  socket.send(put('sink', 'Transfer-Encoding: chunked') + '3\r\nabc\r\n0\r\n\r\n' + get('quick'))
  const answer = await socket.answer()
  assert.equal(`${answer?.status} ${answer?.headers.connection}`, '411 close')
  assert.equal(await socket.rest(), '')
})

test('an early response reaches a client that is still sending', async (t) => {
  const { port } = await startGated(t)
  const socket = await BareSocket.open(port)
  socket.send(put('sink', 'Content-Length: 900000000', 'Connection: close'))
  for (let i = 0; i < 50; i += 1) socket.send(Buffer.alloc(1 << 20))
  const answer = await socket.answer()
  assert.equal(`${answer?.status} ${answer?.headers.connection}`, '413 close')
  socket.close()
})

test('a client that has ended its side of the connection gets its response', async (t) => {
  const { port, gate } = await startGated(t)
  const socket = await BareSocket.open(port)
  socket.send(get('wait') + get('quick'))
  socket.finish()
  await gate.entered(1)
  gate.open()
  assert.equal((await socket.answer())?.text, 'done')
  assert.equal((await socket.answer())?.text, 'quick')
  assert.equal(await socket.rest(), '')
})

test('half a request is refused with 400 when the connection ends', async (t) => {
  const { port } = await startGated(t)
  const socket = await BareSocket.open(port)
  socket.send(get('quick').slice(0, 30))
  socket.finish()
  assert.match(await socket.rest(), /^HTTP\/1\.1 400 /)
})

test('an unknown expectation is refused with 417', async (t) => {
  const { port } = await startGated(t)
  assert.equal((await askBare(port, get('quick', 'Expect: miracles\r\n')))?.status, 417)
})

test('the server does not wait for the body of a refused request with 100-continue', async (t) => {
  const { port } = await startGated(t)
  const socket = await BareSocket.open(port)
  socket.send(put('sink', 'Content-Length: 9000000', 'Expect: 100-continue'))
  const answer = await socket.answer()
  assert.equal(`${answer?.status} ${answer?.headers.connection}`, '413 close')
  assert.equal(await socket.rest(), '')
})

test('a body that arrives after its request was answered is not passed to the operation', async (t) => {
  const { port, gate } = await startGated(t)
  const socket = await BareSocket.open(port)
  socket.send(put('sink&timeout=1', 'Content-Length: 3'))
  assert.equal((await socket.answer())?.headers['x-ms-error-code'], 'OperationTimedOut')
  socket.send('abc' + get('quick'))
  assert.equal((await socket.answer())?.text, 'quick')
  assert.deepEqual(gate.sunk, [])
  socket.close()
})

test('the server stops reading from a client that does not read responses', async (t) => {
  const { port, gate } = await startGated(t)
  const socket = connect({ port, host: '127.0.0.1' })
  socket.on('error', () => undefined)
  socket.pause()
  socket.write(get('big').repeat(300))
  // Other clients are served; by then the socket buffers are full.
  for (let i = 0; i < 50; i += 1) assert.equal((await askBare(port, get('quick')))?.status, 200)
  assert.ok(gate.bigCount > 0 && gate.bigCount < 100, `${gate.bigCount} answers of 1 MiB`)
  socket.destroy()
})

test('an operation that exceeds its timeout is answered with 500 OperationTimedOut', async (t) => {
  const { port } = await startGated(t)
  const answer = await askBare(port, get('wait&timeout=1'))
  assert.equal(`${answer?.status} ${answer?.headers['x-ms-error-code']}`, '500 OperationTimedOut')
})

test('close finishes the requests in progress and starts no new ones', async (t) => {
  const { port, gate, close } = await startGated(t)
  const [busy, idle, silent, half] = await Promise.all(
    [1, 2, 3, 4].map(() => BareSocket.open(port)),
  )
  assert.ok(busy && idle && silent && half)
  idle.send(get('quick'))
  await idle.answer()
  half.send('GET / HTTP/1.1\r\nHo')
  busy.send(get('wait') + get('wait'))
  await gate.entered(1)

  const closed = close()
  await assert.rejects(BareSocket.open(port), { code: 'ECONNREFUSED' })
  for (const socket of [idle, silent, half]) assert.equal(await socket.rest(), '')
  gate.open()
  const last = await busy.answer()
  assert.equal(last?.text, 'done')
  assert.equal(last?.headers.connection, 'close')
  assert.equal(await busy.rest(), '')
  await closed
})

test('close stores an upload in progress', async () => {
  const server = await startTestServer({ onDisk: true })
  await rawRequest(server, { method: 'PUT', path: '/box?restype=container' })
  const socket = await BareSocket.open(server.blobPort)
  const headers = { 'x-ms-blob-type': 'BlockBlob', 'content-length': '100000' }
  socket.send(headBytes({ method: 'PUT', path: '/box/b', headers }, { expect: '100-continue' }))
  assert.equal((await socket.answer())?.status, 100)
  const closed = server.close()
  socket.send(Buffer.alloc(100_000))
  const answer = await socket.answer()
  assert.equal(answer?.status, 201)
  assert.equal(answer?.headers.connection, 'close')
  await closed
})
