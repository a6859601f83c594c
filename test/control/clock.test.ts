// A server whose clock people hold and advance: what the time brings about has happened when `advance` resolves, and
// clients that sign with the real time still work.
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { ContainerSASPermissions, BlobServiceClient } from '@azure/storage-blob'
import { QueueServiceClient } from '@azure/storage-queue'
import { startServer, type LazuliServer, type ServerOptions } from '../../src/server.ts'
import { DIALECT } from '../../src/smb/session/dialect.ts'
import { COMMAND } from '../../src/smb/wire/header.ts'
import { ACCOUNT, ACCOUNT_KEY, rawRequest } from '../harness.ts'
import { durableRequest } from '../smb/durable-request.ts'
import { createBody, RawClient } from '../smb/raw-client.ts'

const NO_RETRIES = { retryOptions: { maxTries: 1 } }
const HOUR_MS = 60 * 60 * 1_000

async function start(t: TestContext, options: ServerOptions = {}): Promise<LazuliServer> {
  const server = await startServer({ clock: 'held', ...options })
  t.after(() => server.close())
  return server
}

async function newContainer(server: LazuliServer) {
  const service = BlobServiceClient.fromConnectionString(server.connectionString, NO_RETRIES)
  const container = service.getContainerClient('box')
  await container.create()
  return container
}

test('a lease expires at its second', async (t) => {
  const server = await start(t)
  const container = await newContainer(server)
  const blob = container.getBlockBlobClient('doc')
  await blob.upload('one', 3)
  await blob.getBlobLeaseClient().acquireLease(60)
  await server.clock.advance('PT59.999S')
  await assert.rejects(blob.upload('two', 3), { code: 'LeaseIdMissing' })
  await server.clock.advance(1)
  await blob.upload('two', 3)
})

test('a message becomes visible again, and expires', async (t) => {
  const server = await start(t)
  const queues = QueueServiceClient.fromConnectionString(server.connectionString, NO_RETRIES)
  const queue = queues.getQueueClient('work')
  await queue.create()
  await queue.sendMessage('task', { messageTimeToLive: 3_600 })
  const receive = async () =>
    (await queue.receiveMessages({ visibilityTimeout: 30 })).receivedMessageItems
  assert.equal((await receive()).length, 1)
  assert.equal((await receive()).length, 0)
  await server.clock.advance('PT30S')
  const [again] = await receive()
  assert.equal(again?.dequeueCount, 2)
  await server.clock.advance('PT1H')
  assert.equal((await receive()).length, 0)
  assert.equal((await queue.getProperties()).approximateMessagesCount, 0)
})

test('a deleted blob is gone after its retention, and what used its space is swept', async (t) => {
  const server = await start(t)
  const service = BlobServiceClient.fromConnectionString(server.connectionString, NO_RETRIES)
  await service.setProperties({ deleteRetentionPolicy: { enabled: true, days: 7 } })
  const container = await newContainer(server)
  const blob = container.getBlockBlobClient('doc')
  await blob.upload('one', 3)
  await blob.delete()
  await server.clock.advance('P6D')
  await blob.undelete()
  await blob.delete()
  await server.clock.advance('P1W')
  await assert.rejects(blob.undelete(), { code: 'BlobNotFound' })
})

test('signatures and SAS of real clients stay valid, however far the clock is advanced', async (t) => {
  const server = await start(t)
  const container = await newContainer(server)
  await container.getBlockBlobClient('doc').upload('one', 3)
  const sas = await container.generateSasUrl({
    permissions: ContainerSASPermissions.parse('r'),
    expiresOn: new Date(Date.now() + HOUR_MS),
  })
  const url = sas.replace('/box?', '/box/doc?')
  await server.clock.advance('P365D')
  assert.equal((await fetch(url)).status, 200)
  await container.getBlockBlobClient('doc').getProperties()
  await server.clock.set('2001-01-01')
  assert.equal((await fetch(url)).status, 200)
  await container.getBlockBlobClient('doc').upload('two', 3)
})

test('a clock that is set back does not repeat an ETag, also after a restart', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'lazuli-clock-'))
  t.after(() => rm(folder, { recursive: true }))
  const etags = new Set<string | undefined>()
  for (const time of ['2030-01-01', '2020-01-01']) {
    const server = await startServer({ clock: 'held', location: folder })
    await server.clock.set(time)
    const service = BlobServiceClient.fromConnectionString(server.connectionString, NO_RETRIES)
    const container = service.getContainerClient('box')
    await container.createIfNotExists()
    for (let count = 0; count < 3; count += 1) {
      const { etag } = await container.getBlockBlobClient('doc').upload('same', 4)
      etags.add(etag)
    }
    await server.close()
  }
  assert.equal(etags.size, 6)
  assert.deepEqual([...etags], [...etags].toSorted())
})

test('the program may have its own clock, and still hold and advance it', async (t) => {
  let nowMs = Date.UTC(2027, 0, 1)
  const server = await start(t, { clock: () => nowMs })
  nowMs += 1_000
  assert.equal(server.clock.state().now, '2027-01-01T00:00:01.000Z')
  await server.clock.hold()
  nowMs += 1_000
  assert.equal((await server.clock.advance('PT1M')).now, '2027-01-01T00:01:01.000Z')
})

async function connect(t: TestContext, { smbPort }: LazuliServer): Promise<RawClient> {
  const client = await RawClient.open(smbPort)
  t.after(() => client.close())
  await client.negotiate([DIALECT.smb300])
  assert.equal((await client.setUpSession(ACCOUNT, ACCOUNT_KEY))?.status, 'SUCCESS')
  assert.equal((await client.connectTree('box'))?.status, 'SUCCESS')
  return client
}

const BATCH = 9

test('an SMB client that does not acknowledge a break loses its oplock after 35 seconds', async (t) => {
  const server = await start(t)
  await rawRequest({ blobPort: server.filePort }, { method: 'PUT', path: '/box?restype=share' })
  const holder = await connect(t, server)
  assert.equal((await holder.ask(COMMAND.CREATE, durableRequest(0, BATCH)))?.status, 'SUCCESS')
  const other = await connect(t, server)
  assert.equal((await other.ask(COMMAND.CREATE, createBody('a')))?.status, 'PENDING')
  await holder.answers()
  await server.clock.advance('PT35S')
  const [opened] = (await other.answers()) ?? []
  assert.equal(opened?.status, 'SUCCESS')
})
