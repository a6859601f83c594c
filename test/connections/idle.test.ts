// Ten thousand connections that do nothing, at the ports of HTTP and of SMB: others are served, the memory of the server has a bound, and
// everything comes back when they end.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { after, before, test } from 'node:test'
import { MIB, openSockets, startConnectionWorld, type ConnectionWorld } from './world.ts'

/** Two processes have a descriptor each for a connection, and some more. */
const LIMIT = Number(
  execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).replace('unlimited', '1000000'),
)
const COUNT = Math.min(10_000, LIMIT - 500)

/** What an idle connection may take. A leak of one of its buffers would be more. */
const CONNECTION_BYTES_MAX = 8 * 1_024

let world: ConnectionWorld
before(async () => {
  world = await startConnectionWorld()
  await world.othersAreServed()
})
after(() => world.close())

const HTTP_PORTS = ['blob', 'queue', 'table', 'file', 'dfs'] as const

/** What they have sent before they fall silent. */
const SILENT = ['']
const HTTP_BEGUN = ['', 'G', 'PUT /devstoreaccount1/c/b HTTP/1.1\r\nHost: x\r\nx-ms-meta-a: ']
const SMB_BEGUN = ['', '\0', '\0\0\0\x44\xfeSMB']

async function checkIdle(portOf: (at: number) => number, begun: readonly string[], heldMin: number): Promise<void> {
  const start = await world.measure()
  const sockets = await openSockets(COUNT, portOf)
  for (const [at, socket] of sockets.entries()) socket.write(Buffer.from(begun[at % begun.length] ?? '', 'latin1'))
  await world.othersAreServed()
  const held = await world.measure()
  assert(held.descriptorCount >= heldMin, `${held.descriptorCount} descriptors`)
  const grownBytes = held.heapBytes + held.externalBytes - start.heapBytes - start.externalBytes
  assert(grownBytes < COUNT * CONNECTION_BYTES_MAX, `${grownBytes} bytes for ${COUNT} connections`)
  for (const socket of sockets) socket.destroy()
  const end = await world.descriptorsAtMost(start.descriptorCount + 16)
  const keptBytes = end.heapBytes + end.externalBytes - start.heapBytes - start.externalBytes
  assert(keptBytes < 24 * MIB, `${keptBytes} bytes remain`)
} // prettier-ignore

const httpPort = (at: number): number => world.ports[HTTP_PORTS[at % HTTP_PORTS.length] ?? 'blob']

// Strangers share a limit of memory: at 8 KiB for each connection of HTTP, and 12 KiB of SMB, the oldest are dropped from 8,192 and 5,461 on.
test(`${COUNT} silent connections of HTTP`, async () => {
  await checkIdle(httpPort, SILENT, Math.min(COUNT, 8_000))
})

test(`${COUNT} connections of HTTP, of which two of three have begun a request`, async () => {
  await checkIdle(httpPort, HTTP_BEGUN, 1_000)
})

test(`${COUNT} idle connections of SMB`, async () => {
  await checkIdle(() => world.ports.smb, SMB_BEGUN, 3_000)
})
