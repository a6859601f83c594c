// How requests pass to a handler and back: chunk by chunk, no faster than the other side takes them.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request, type ClientRequest, type IncomingMessage } from 'node:http'
import { after, test } from 'node:test'
import type { Exchange } from '../../../../http/protocol/exchange.ts'
import { hostRule } from '../../../../http/protocol/allowed-host.ts'
import { accountKey } from '../../../../storage/shared/account.ts'
import { startAdmin, type Admin } from '../../admin.ts'

const admins: Admin[] = []
after(() => Promise.all(admins.map((admin) => admin.close())))

/** An admin port whose only service is `handle`. */
async function start(handle: (exchange: Exchange) => Promise<void>): Promise<string> {
  const account = { name: 'a', keys: [accountKey('a2V5')] }
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
    parts: {
      storage: {
        accounts: { get: (name) => (name === 'a' ? account : undefined), names: () => ['a'] },
        service: (name) =>
          name === 'blob'
            ? { handler: { handle, logFault: () => undefined }, url: new URL('http://127.0.0.1:1') }
            : undefined,
        wallClock: Date.now,
        sasClock: Date.now,
      },
    },
  })
  admins.push(admin)
  return `${admin.url}/api/storage`
}

function event<T>() {
  let resolve: (value: T) => void = () => undefined
  const promise = new Promise<T>((settle) => (resolve = settle))
  return { promise, resolve: (value: T) => resolve(value) }
}

function ask(url: string, options: object = {}): ClientRequest {
  return request(new URL(url), { agent: false, ...options })
}

async function answerOf(sent: ClientRequest): Promise<IncomingMessage> {
  const [message] = (await once(sent, 'response')) as [IncomingMessage]
  return message
}

test('a service gets the first bytes before the client has sent the last', async () => {
  const first = event<string>()
  let text = ''
  const url = await start(async (exchange) => {
    for await (const chunk of exchange.body.stream()) {
      text += Buffer.from(chunk).toString()
      first.resolve(text)
    }
    exchange.answer(201, [['Content-Length', '0']])
  })
  const sent = ask(`${url}/blob/a/c/b`, { method: 'PUT', headers: { 'Content-Length': 10 } })
  sent.write('first')
  assert.equal(await first.promise, 'first')
  sent.end(' last')
  assert.equal((await answerOf(sent)).statusCode, 201)
  assert.equal(text, 'first last')
})

test('a client gets the first bytes before the service has written the last, and is waited for', async () => {
  const going = event<void>()
  let wasFull = false
  const chunk = Buffer.alloc(1024 * 1024, 'x')
  const countMax = 64
  let count = 0
  const url = await start(async (exchange) => {
    exchange.begin(200, [['Content-Length', String(5 + chunk.length * countMax)]])
    exchange.write(Buffer.from('first'))
    await going.promise
    for (; count < countMax; count += 1) {
      if (exchange.write(chunk)) continue
      wasFull = true
      await exchange.drained()
    }
    exchange.end()
  })
  const got = await answerOf(ask(`${url}/blob/a/c/b`).end())
  const [first] = (await once(got, 'data')) as [Buffer]
  assert.equal(first.toString(), 'first')
  going.resolve()
  let lengthBytes = first.length
  for await (const part of got as AsyncIterable<Buffer>) lengthBytes += part.length
  assert.equal(lengthBytes, 5 + chunk.length * countMax)
  assert(wasFull, 'the service had to wait for the client')
})

test('a service hears that the client has gone', async () => {
  const gone = event<void>()
  const over = event<boolean>()
  const url = await start(async (exchange) => {
    exchange.whenGone(() => gone.resolve())
    exchange.begin(200, [['Content-Length', '10']])
    exchange.write(Buffer.from('first'))
    await gone.promise
    over.resolve(exchange.gone)
  })
  const got = await answerOf(ask(`${url}/blob/a/c/b`).end())
  await once(got, 'data')
  // A client that only stops sending may still read.
  got.socket.resetAndDestroy()
  assert.equal(await over.promise, true)
})

test('the service sees the request as the client sent it, signed, and without what is meant for others', async () => {
  let seen: Exchange | undefined
  const url = await start(async (exchange) => {
    seen = exchange
    exchange.answer(200, [['Content-Length', '0', 'Set-Cookie', 'a=b', 'x-ms-meta-a', 'b']])
  })
  const headers = {
    'If-Match': '"0x1"', 'X-MS-Meta-A': 'b', Cookie: 'a=b', 'Sec-Fetch-Site': 'same-origin',
    Authorization: 'Bearer of-the-admin-port', Origin: new URL(url).origin,
  } // prettier-ignore
  const encoded = url.replace('storage', '%73torage')
  const got = await answerOf(ask(`${encoded}/blob/a/c/%61%2Fb?comp=x&y=%20`, { headers }).end())
  assert.equal(got.headers['x-ms-meta-a'], 'b')
  assert.equal(got.headers['set-cookie'], undefined)
  assert(seen !== undefined)
  assert.equal(seen.head.target, '/a/c/%61%2Fb?comp=x&y=%20')
  assert.equal(seen.head.headers['if-match'], '"0x1"')
  assert.equal(seen.head.headers.host, '127.0.0.1:1')
  assert.match(seen.head.headers.authorization ?? '', /^SharedKey a:.{44}$/)
  for (const name of ['cookie', 'origin', 'sec-fetch-site'])
    assert.equal(seen.head.headers[name], undefined, name)
  assert.equal(seen.via, 'console')
})

test('a service that the server does not offer is named', async () => {
  const url = await start(() => assert.fail('nobody asked for blobs'))
  const answer = await fetch(`${url}/queue/a?comp=list`)
  const message = 'this server does not offer the queue service'
  assert.deepEqual([answer.status, await answer.json()], [404, { error: { message } }])
})

test('getting messages needs control, peeking does not', async () => {
  const admin = await startAdmin({
    host: '0.0.0.0',
    port: 0,
    portMayMove: false,
    acceptsHost: hostRule([]),
    ready: () => true,
    metrics: { expose: async () => ({ contentType: 'text/plain', text: '' }) },
    nodes: () => [],
    caPem: undefined,
    access: { control: undefined, token: 'secret-of-this-test' },
    report: (message, error) => assert.fail(`${message}: ${String(error)}`),
    parts: {
      storage: {
        accounts: { get: () => undefined, names: () => [] },
        service: () => undefined,
        wallClock: Date.now,
        sasClock: Date.now,
      },
    },
  })
  admins.push(admin)
  const url = `${admin.url.replace('0.0.0.0', '127.0.0.1')}/api/storage/queue/a/q/messages`
  const headers = { Authorization: 'Bearer secret-of-this-test' }
  // There is no such account: 404 says that the request got past the doors.
  for (const [query, status] of [
    ['', 403],
    ['?peekonly=false', 403],
    ['?peekonly=true', 404],
    ['?PeekOnly=True', 404],
    ['?peekonly=true&peekonly=false', 403],
  ] as const)
    assert.equal((await fetch(url + query, { headers })).status, status, query)
})
