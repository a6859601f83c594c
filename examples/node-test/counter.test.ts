// Races, time and faults in tests of node:test. Each test decides what happens between two requests.
//
//   npm install && npm test
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { BlobServiceClient } from '@azure/storage-blob'
import { startServer, type LazuliServer } from 'lazuli'
import { counterOf } from './client.ts'
import { increment, incrementWithoutCondition, read } from './counter.ts'

let server: LazuliServer

before(async () => {
  server = await startServer({ clock: 'held' })
})
after(() => server.close())

beforeEach(async () => {
  await server.reset()
  server.faults.clear()
  server.journal.clear()
  const service = BlobServiceClient.fromConnectionString(server.connectionString)
  const container = service.getContainerClient('counters')
  await container.create()
  await container.getBlockBlobClient('visits').upload('0', 1)
})

const client = (name: string) => counterOf(server.connectionString, name)

for (const order of [
  ['A', 'B'],
  ['B', 'A'],
]) {
  test(`both increments count if ${order.join(' is before ')}`, async () => {
    const match = { operation: 'Put Blob', path: '/counters/visits' }
    const barrier = server.barriers.hold({ at: 'checked', match, count: 2 })
    const both = Promise.all([increment(client('A')), increment(client('B'))])
    await barrier.held(2) // Both have read 0, and are about to write 1.
    await barrier.release(...order)
    await both
    assert.equal((await read(client('A'))).count, 2)
    await server.expectNoRaces()
  })
}

test('the race detector finds the program without a condition', async () => {
  const match = { operation: 'Put Blob', path: '/counters/visits' }
  const barrier = server.barriers.hold({ at: 'checked', match, count: 2 })
  const both = ['A', 'B'].map((name) => incrementWithoutCondition(client(name)))
  await barrier.held(2)
  await barrier.release('A', 'B')
  await Promise.all(both)
  assert.equal((await read(client('A'))).count, 1)
  assert.deepEqual(server.races().map(({ kind }) => kind), ['lost update']) // prettier-ignore
  await assert.rejects(server.expectNoRaces(), /If-Match/)
})

test('a lease that nobody renews is free after a minute', async () => {
  await client('A').getBlobLeaseClient().acquireLease(60)
  await assert.rejects(client('B').getBlobLeaseClient().acquireLease(60), {
    code: 'LeaseAlreadyPresent',
  })
  await server.clock.advance('PT60S')
  await client('B').getBlobLeaseClient().acquireLease(60)
})

test('an increment survives a busy server', async () => {
  const fault = server.faults.add({
    match: { operation: 'Put Blob' },
    effect: { status: 503, code: 'ServerBusy', retryAfterSeconds: 1 },
    times: 1,
  })
  await increment(client('A'))
  assert.equal(fault.state().struckCount, 1)
  assert.equal((await read(client('A'))).count, 1)
})
