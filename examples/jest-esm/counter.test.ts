// Races, time and faults in tests of Jest, as ES modules. Each test decides what happens between two requests.
//
//   npm install && npm test
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { BlobServiceClient } from '@azure/storage-blob'
import { startServer, type LazuliServer } from 'lazuli'
import { counterOf } from './client.js'
import { increment, incrementWithoutCondition, read } from './counter.js'

let server: LazuliServer

beforeAll(async () => {
  server = await startServer({ clock: 'held' })
})
afterAll(() => server.close())

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
    expect((await read(client('A'))).count).toBe(2)
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
  expect((await read(client('A'))).count).toBe(1)
  expect(server.races().map(({ kind }) => kind)).toEqual(['lost update'])
  await expect(server.expectNoRaces()).rejects.toThrow(/If-Match/)
})

test('a lease that nobody renews is free after a minute', async () => {
  await client('A').getBlobLeaseClient().acquireLease(60)
  const refused = client('B').getBlobLeaseClient().acquireLease(60)
  await expect(refused).rejects.toMatchObject({ code: 'LeaseAlreadyPresent' })
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
  expect(fault.state().struckCount).toBe(1)
  expect((await read(client('A'))).count).toBe(1)
})
