import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { readAll, startFront, startHome } from './harness.ts'

test('bytes go both ways, and each side may end first', async (t) => {
  const home = await startHome(t)
  const front = await startFront(t, home.address)
  const { client } = await front.connect()
  const { localPort } = client
  client.end('question')
  const { socket, preamble } = await home.next()
  assert.equal(String(await readAll(socket)), 'question')
  socket.end('answer')
  assert.equal(String(await readAll(client)), 'answer')
  assert.deepEqual(preamble, {
    service: 'file',
    client: {
      remoteAddress: '127.0.0.1',
      remotePort: localPort,
      localAddress: '127.0.0.1',
      secure: false,
      onLoopback: true,
    },
  })
  assert.deepEqual(front.carried, [true])
})

test('nothing is counted as unauthenticated once a connection is relayed', async (t) => {
  const home = await startHome(t)
  const front = await startFront(t, home.address)
  const { client } = await front.connect()
  client.write('x')
  const { socket } = await home.next()
  await once(socket, 'data')
  assert.equal(home.unauthenticated.bytes, 0)
  assert.equal(front.unauthenticated.bytes, 0)
})

test('a client that vanishes ends the connection at the home', async (t) => {
  const home = await startHome(t)
  const front = await startFront(t, home.address)
  const { client } = await front.connect()
  client.write('x')
  const { socket } = await home.next()
  const closed = once(socket.resume(), 'end')
  client.resetAndDestroy()
  await closed
  socket.destroy()
})

test('a connection that the home cuts off ends at the client', async (t) => {
  const home = await startHome(t)
  const front = await startFront(t, home.address)
  const { client } = await front.connect()
  client.write('x')
  const { socket } = await home.next()
  socket.destroy()
  assert.equal(String(await readAll(client)), '')
})

test('a client that reads slowly holds no more than a few buffers', async (t) => {
  const home = await startHome(t)
  const front = await startFront(t, home.address)
  const { client, accepted } = await front.connect()
  client.write('x')
  const { socket } = await home.next()
  const totalBytes = 64 * 1024 * 1024
  const chunk = Buffer.alloc(256 * 1024, 1)
  const send = async (): Promise<void> => {
    for (let sentBytes = 0; sentBytes < totalBytes; sentBytes += chunk.length) {
      if (!socket.write(chunk)) await once(socket, 'drain')
    }
    socket.end()
  }
  const sending = send()
  let receivedBytes = 0
  let heldBytesMax = 0
  for await (const read of client as AsyncIterable<Buffer>) {
    receivedBytes += read.length
    heldBytesMax = Math.max(heldBytesMax, accepted.writableLength)
    // Let everybody else run, so that the front is always ahead of this client.
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  }
  await sending
  assert.equal(receivedBytes, totalBytes)
  assert(heldBytesMax > 0, 'the front was ahead of the client')
  assert(heldBytesMax < 1024 * 1024, `the front held ${heldBytesMax} bytes`)
})

test('a node that is not the home refuses, and the connection stays as it was', async (t) => {
  const home = await startHome(t, () => false)
  const front = await startFront(t, home.address)
  const { client } = await front.connect()
  client.write('unread')
  await readAll(client)
  assert.deepEqual(front.carried, [false])
  assert.match(front.unreachable.join(), /not the home/)
  assert.deepEqual(home.strangers, [])
  assert.equal(front.relays.count, 0)
})

test('a home that does not listen is reported', async (t) => {
  const home = await startHome(t)
  const front = await startFront(t, { ...home.address, port: 1 })
  await readAll((await front.connect()).client)
  assert.deepEqual(front.carried, [false])
  assert.match(front.unreachable.join(), /ECONNREFUSED/)
})

test('clients of a home that moved are cut off', async (t) => {
  const home = await startHome(t)
  const front = await startFront(t, home.address)
  const { client } = await front.connect()
  client.write('x')
  await home.next()
  const stays = { ...home.address }
  front.home.move(stays)
  assert.equal(front.relays.count, 1)
  front.home.move({ ...home.address, node: 2 })
  await readAll(client)
  assert.equal(front.relays.count, 0)
})

test('clients are cut off when the front closes', async (t) => {
  const home = await startHome(t)
  const front = await startFront(t, home.address)
  const { client } = await front.connect()
  client.write('x')
  await home.next()
  front.relays.close()
  await readAll(client)
  // Nor is a connection relayed that was accepted just before.
  await readAll((await front.connect()).client)
  assert.equal(front.relays.count, 0)
})
