import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import {
  connect as connectTls,
  createSecureContext,
  createServer as createTlsServer,
  type TLSSocket,
} from 'node:tls'
import { certificateNames, makeCa, makeServerCertificate } from '../start/tls/certificate.ts'
import { randomFrom } from '../../test/random.ts'
import { readAll, SECRET, startFront, startHome, type Home } from './harness.ts'
import { connectingTls } from './link-tls.ts'
import { ACCEPTED, decodePreamble, encodePreamble, type Preamble } from './preamble.ts'

const CLIENT = {
  remoteAddress: '203.0.113.7',
  remotePort: 50_000,
  localAddress: '10.0.0.1',
  secure: true,
  onLoopback: false,
} as const

async function knock(t: TestContext, { address }: Home): Promise<TLSSocket> {
  const socket = connectTls({ ...connectingTls(SECRET), ...address })
  socket.on('error', () => undefined)
  t.after(() => socket.destroy())
  await once(socket, 'secureConnect')
  return socket
}

async function dial(t: TestContext, { address }: Home): Promise<Socket> {
  const socket = connect(address)
  socket.on('error', () => undefined)
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  return socket
}

test('a front with another secret is refused and reported', async (t) => {
  const home = await startHome(t)
  const front = await startFront(t, home.address, Buffer.alloc(32, 8))
  await readAll((await front.connect()).client)
  assert.deepEqual(front.carried, [false])
  assert.match(home.strangers.join(), /binder/)
  assert.equal(home.unauthenticated.bytes, 0)
})

const STRANGERS: readonly (readonly [what: string, bytes: Buffer])[] = [
  ['an HTTP request', Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n')],
  ['a preamble without TLS', Buffer.from(encodePreamble({ service: 'smb', client: CLIENT }))],
  ['zeros', Buffer.alloc(100_000)],
  ['a TLS record that is too long', Buffer.from([22, 3, 1, 0xff, 0xff, 1, 2, 3])],
]
for (const [what, bytes] of STRANGERS) {
  test(`${what} on the port for nodes ends the connection`, async (t) => {
    const home = await startHome(t)
    const socket = await dial(t, home)
    socket.write(bytes)
    await readAll(socket)
    assert.equal(home.strangers.length, 1)
    assert.equal(home.unauthenticated.bytes, 0)
  })
}

test('a connection that only opens and closes is not worth a report', async (t) => {
  const home = await startHome(t)
  const socket = await dial(t, home)
  socket.end()
  await readAll(socket)
  ;(await knock(t, home)).end()
  const other = await dial(t, home)
  other.write('GET / HTTP/1.1\r\n\r\n')
  await readAll(other)
  assert.equal(home.strangers.length, 1)
})

test('a TLS client without the key is refused', async (t) => {
  const home = await startHome(t)
  const socket = connectTls({ ...home.address, rejectUnauthorized: false })
  await assert.rejects(once(socket, 'secureConnect'))
  assert.equal(home.strangers.length, 1)
})

test('handshakes that do not end are bounded by the memory of strangers', async (t) => {
  const home = await startHome(t)
  const first = await dial(t, home)
  // As if the limit were reached by others.
  while (home.unauthenticated.bytes === 0) await new Promise((resolve) => setImmediate(resolve))
  home.unauthenticated.hold({ drop: () => undefined }, 64 * 1024 * 1024)
  await readAll(first)
})

const CLIENT_TEXT = JSON.stringify(CLIENT)
const REFUSED: readonly (readonly [what: string, text: string])[] = [
  ['not JSON', 'hello\n'],
  ['an empty line', '\n'],
  ['null', 'null\n'],
  ['an unknown service', `{"service":"queue","client":${CLIENT_TEXT}}\n`],
  ['no client', '{"service":"smb"}\n'],
  ['an address that is none', `{"service":"smb","client":${CLIENT_TEXT.replace('203', '999')}}\n`],
  ['a port that is none', `{"service":"smb","client":${CLIENT_TEXT.replace('50000', '70000')}}\n`],
  ['a long line', `${' '.repeat(600)}\n`],
  ['a line without an end', 'x'.repeat(600)],
  ['bytes behind it', `${encodePreamble({ service: 'smb', client: CLIENT })}x`],
]
for (const [what, text] of REFUSED) {
  test(`a first line with ${what} ends the connection`, async (t) => {
    const home = await startHome(t)
    const socket = await knock(t, home)
    socket.write(text)
    assert.equal((await readAll(socket)).length, 0)
    assert.equal(home.strangers.length, 1)
    assert.equal(home.unauthenticated.bytes, 0)
  })
}

test('random bytes, with and without TLS, neither crash the node nor stay in its memory', async (t) => {
  const home = await startHome(t)
  const random = randomFrom(20)
  for (let round = 0; round < 40; round += 1) {
    const bytes = random.bytes(1 + random.below(700))
    const socket = round % 2 === 0 ? await dial(t, home) : await knock(t, home)
    socket.end(bytes)
    await readAll(socket)
  }
  assert.equal(home.unauthenticated.bytes, 0)
  const front = await startFront(t, home.address)
  const { client } = await front.connect()
  client.write('x')
  await home.next()
})

test('a first line in two parts is accepted', async (t) => {
  const home = await startHome(t)
  const socket = await knock(t, home)
  const line = encodePreamble({ service: 'smb', client: CLIENT })
  socket.write(line.slice(0, 10), () => socket.write(line.slice(10)))
  const [answer] = (await once(socket, 'data')) as [Buffer]
  assert.deepEqual([...answer], [ACCEPTED])
  assert.deepEqual((await home.next()).preamble, { service: 'smb', client: CLIENT })
})

test('a preamble survives encoding', () => {
  const preamble: Preamble = {
    service: 'blob',
    client: { ...CLIENT, remoteAddress: 'fe80::1%eth0' },
  }
  assert.deepEqual(decodePreamble(encodePreamble(preamble)), preamble)
})

test('a server with a trusted certificate, but without the key, is not taken for a node', async (t) => {
  const authority = await makeCa(Date.now())
  const own = await makeServerCertificate(authority, certificateNames([]), Date.now())
  const [cert, key, ca] = [own.certPem, own.keyPem, authority.certPem]
  const impostor = createTlsServer({ cert, key, minVersion: 'TLSv1.3' }, (socket) => {
    socket.on('error', () => undefined)
  })
  impostor.listen(0, '127.0.0.1')
  await once(impostor, 'listening')
  t.after(() => impostor.close())
  const { port } = impostor.address() as AddressInfo
  const trusting = { secureContext: createSecureContext({ ca, minVersion: 'TLSv1.3' }) }
  for (const trusted of [{}, trusting]) {
    const socket = connectTls({ ...connectingTls(SECRET), ...trusted, host: '127.0.0.1', port })
    await assert.rejects(once(socket, 'secureConnect'))
    socket.destroy()
  }
  // The same certificate is fine for anybody who asks for one.
  const socket = connectTls({ ca, host: '127.0.0.1', port })
  await once(socket, 'secureConnect')
  socket.destroy()
})
