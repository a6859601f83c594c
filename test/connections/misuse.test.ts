// Clients that send or read a byte at a time, never end what they send, or never read what they asked for, at every port: others are served,
// the server refuses what has no end, and its memory stays where it was.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Socket } from 'node:net'
import { headBytes } from '../bare-socket.ts'
import { md5Of, rawRequest } from '../harness.ts'
import { MIB, openSocket, sendAll, startConnectionWorld, type ConnectionWorld } from './world.ts'

/** What the server may hold for some dozens of clients: buffers of sockets, and the shared limit for strangers is 64 MiB. */
const GROWN_BYTES_MAX = 96 * MIB
const KEPT_BYTES_MAX = 24 * MIB
/** A client that is not refused by then never will be. */
const SENT_BYTES_MAX = 64 * MIB

let world: ConnectionWorld
before(async () => {
  world = await startConnectionWorld()
  await world.othersAreServed()
  const blobs = { blobPort: world.ports.blob }
  const made = await rawRequest(blobs, { method: 'PUT', path: '/box?restype=container', headers: { 'x-ms-blob-public-access': 'blob' } })
  assert.equal(made.status, 201)
  const body = Buffer.alloc(4 * MIB, 'x')
  const put = await rawRequest(blobs, { method: 'PUT', path: '/box/big', headers: { 'x-ms-blob-type': 'BlockBlob' }, body })
  assert.equal(put.status, 201)
}) // prettier-ignore
after(() => world.close())

/** Runs the clients, looks at the server while they are there, and again when they have gone. */
async function whileThereAre(open: () => Promise<readonly Socket[]>): Promise<void> {
  const start = await world.measure()
  const sockets = await open()
  await world.othersAreServed()
  const held = await world.measure()
  const grownBytes = held.heapBytes + held.externalBytes - start.heapBytes - start.externalBytes
  assert(grownBytes < GROWN_BYTES_MAX, `${grownBytes} bytes more`)
  for (const socket of sockets) socket.destroy()
  const end = await world.descriptorsAtMost(start.descriptorCount + 16)
  const keptBytes = end.heapBytes + end.externalBytes - start.heapBytes - start.externalBytes
  assert(keptBytes < KEPT_BYTES_MAX, `${keptBytes} bytes remain`)
}

const HTTP_PORTS = ['blob', 'queue', 'table', 'file', 'dfs', 'admin'] as const
const TARGET = 'PUT /devstoreaccount1/box/b HTTP/1.1\r\nHost: 127.0.0.1\r\n'
const CHUNKED = `${TARGET}Transfer-Encoding: chunked\r\n\r\n`
const LONG = 'x'.repeat(64 * 1_024)

/** How it begins, and what then comes again and again. */
const ENDLESS: readonly [what: string, begin: string, again: string][] = [
  ['a method', '', LONG],
  ['a request line', 'GET /', LONG],
  ['a header', `${TARGET}x-ms-meta-a: `, LONG],
  ['headers', TARGET, 'x-ms-meta-a: b\r\n'.repeat(2_000)],
  ['empty lines', '', '\r\n'.repeat(20_000)],
  ['a chunk extension', `${CHUNKED}5;`, LONG],
  ['the length of a chunk', CHUNKED, '0'.repeat(64 * 1_024)],
  ['chunks', CHUNKED, `10000\r\n${LONG}\r\n`],
  ['empty trailers', `${CHUNKED}0\r\n`, 'a: b\r\n'.repeat(5_000)],
  [
    'a body longer than its request may have',
    `${TARGET}Content-Length: 999999999999\r\n\r\n`,
    LONG,
  ],
]

for (const [what, begin, again] of ENDLESS) {
  test(`${what} without an end is refused at every port`, async () => {
    await whileThereAre(async () => {
      const sockets = await Promise.all(HTTP_PORTS.map((name, at) => openSocket(world.ports[name], at)))
      await Promise.all(sockets.map((socket, at) => sendUntilRefused(socket, begin, again, HTTP_PORTS[at] ?? '')))
      return sockets
    })
  })
} // prettier-ignore

/** The server ends the connection, or stops reading: then what was sent is in the buffers of the kernel. */
async function sendUntilRefused(socket: Socket, begin: string, again: string, name: string): Promise<void> {
  const refused = new Promise<void>((resolve) => {
    for (const event of ['close', 'end', 'data']) socket.once(event, () => resolve())
  })
  let isRefused = false
  void refused.then(() => {
    isRefused = true
  })
  socket.resume()
  socket.write(Buffer.from(begin, 'latin1'))
  const bytes = Buffer.from(again, 'latin1')
  for (let sent = 0; sent < SENT_BYTES_MAX; sent += bytes.length) {
    await Promise.race([sendAll(socket, bytes), refused])
    if (isRefused || socket.destroyed) return
  }
  assert.fail(`${name} has read ${SENT_BYTES_MAX} bytes and not refused them`)
} // prettier-ignore

test('clients that write a byte at a time get their answer, and so do others meanwhile', async () => {
  const body = 'slow'
  const request = { method: 'PUT', path: '/box/slow', headers: { 'x-ms-blob-type': 'BlockBlob', 'content-md5': md5Of(body) }, body }
  const bytes = Buffer.from(headBytes(request) + body)
  await whileThereAre(async () => {
    const sockets = await Promise.all(Array.from({ length: 40 }, (_, at) => openSocket(world.ports.blob, at)))
    const answers = sockets.map((socket) => firstBytes(socket))
    for (const [at, byte] of bytes.entries()) {
      await Promise.all(sockets.map((socket) => sendAll(socket, Buffer.of(byte))))
      if (at % 100 === 0) await world.othersAreServed()
    }
    for (const answer of await Promise.all(answers)) assert.match(answer, /^HTTP\/1\.1 201 /)
    return sockets
  })
}) // prettier-ignore

function firstBytes(socket: Socket): Promise<string> {
  return new Promise((resolve) => socket.once('data', (bytes: Buffer) => resolve(bytes.toString('latin1'))))
} // prettier-ignore

const GET_BIG = 'GET /devstoreaccount1/box/big HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'

test('clients that send a thousand requests and read no answer hold only what the kernel has for them', async () => {
  await whileThereAre(async () => {
    const sockets = await Promise.all(Array.from({ length: 40 }, (_, at) => openSocket(world.ports.blob, at)))
    for (const socket of sockets) socket.pause().write(GET_BIG.repeat(1_000))
    return sockets
  })
}) // prettier-ignore

test('clients that read a byte at a time hold no more', async () => {
  await whileThereAre(async () => {
    const sockets = await Promise.all(Array.from({ length: 40 }, (_, at) => openSocket(world.ports.blob, at)))
    for (const socket of sockets) socket.pause().write(GET_BIG)
    for (let turn = 0; turn < 20; turn += 1) {
      for (const socket of sockets) socket.read(1)
      if (turn % 5 === 0) await world.othersAreServed()
    }
    return sockets
  })
}) // prettier-ignore

test('at the port of SMB, bytes without an end are refused: frames that are too long, and what is no SMB', async () => {
  const begins = [
    [0, 0xff, 0xff, 0xff],
    [0, 0, 0x10, 0],
    [0x81, 0, 0, 0x44],
    [0, 0, 0, 0x40, 0xfe],
    [0x47, 0x45, 0x54],
  ]
  await whileThereAre(async () => {
    const sockets = await Promise.all(begins.map((_, at) => openSocket(world.ports.smb, at)))
    await Promise.all(sockets.map((socket, at) => sendUntilRefused(socket, Buffer.from(begins[at] ?? []).toString('latin1'), LONG, `frame ${at}`)))
    return sockets
  })
}) // prettier-ignore
