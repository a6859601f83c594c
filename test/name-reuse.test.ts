// --nameReuseSeconds: the names of deleted containers, queues, tables and shares stay reserved for a while, by the
// server's clock and across a restart. Meanwhile other operations on them fail with 404 for containers and shares and
// with 409 for queues and tables, as documented for their deletes.
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { AzureNamedKeyCredential, TableClient, TableServiceClient } from '@azure/data-tables'
import { BlobServiceClient } from '@azure/storage-blob'
import { ShareServiceClient } from '@azure/storage-file-share'
import { QueueServiceClient } from '@azure/storage-queue'
import { ACCOUNT, ACCOUNT_KEY, rawRequest, startTestServer, type TestServer } from './harness.ts'

const SECONDS = 30
const FAST = { retryOptions: { maxTries: 1 } }

type Clients = {
  readonly server: TestServer
  readonly blobs: BlobServiceClient
  readonly queues: QueueServiceClient
  readonly tables: TableServiceClient
  readonly shares: ShareServiceClient
  table(name: string): TableClient
}

async function start(options: Parameters<typeof startTestServer>[0] = {}): Promise<Clients> {
  const server = await startTestServer({ nameReuseSeconds: SECONDS, ...options })
  const credential = new AzureNamedKeyCredential(ACCOUNT, ACCOUNT_KEY)
  const tableOptions = { allowInsecureConnection: true, retryOptions: { maxRetries: 0 } }
  return {
    server,
    blobs: BlobServiceClient.fromConnectionString(server.connectionString, FAST),
    queues: QueueServiceClient.fromConnectionString(server.connectionString, FAST),
    shares: ShareServiceClient.fromConnectionString(server.connectionString, FAST),
    tables: new TableServiceClient(server.tableEndpoint, credential, tableOptions),
    table: (name) => new TableClient(server.tableEndpoint, name, credential, tableOptions),
  }
}

type Kind = {
  readonly deleted: string
  create(clients: Clients, name: string): Promise<unknown>
  remove(clients: Clients, name: string): Promise<unknown>
}

const KINDS: Readonly<Record<string, Kind>> = {
  container: {
    deleted: 'ContainerBeingDeleted',
    create: ({ blobs }, name) => blobs.getContainerClient(name).create(),
    remove: ({ blobs }, name) => blobs.getContainerClient(name).delete(),
  },
  queue: {
    deleted: 'QueueBeingDeleted',
    create: ({ queues }, name) => queues.getQueueClient(name).create(),
    remove: ({ queues }, name) => queues.getQueueClient(name).delete(),
  },
  table: {
    deleted: 'TableBeingDeleted',
    create: ({ tables }, name) => tables.createTable(name),
    remove: ({ tables }, name) => tables.deleteTable(name),
  },
  share: {
    deleted: 'ShareBeingDeleted',
    create: ({ shares }, name) => shares.getShareClient(name).create(),
    remove: ({ shares }, name) => shares.getShareClient(name).delete(),
  },
}

let clients: Clients

before(async () => {
  clients = await start()
})

after(() => clients.server.close())

/** The tables SDK leaves the error code of a transaction in the message. */
const codeOf = (error: unknown): string => {
  const { code, details } = error as { code?: string; details?: { odataError?: { code?: string } } }
  const inText = /(?:"code":"|<m:code>)(\w+)/.exec(String(error))?.[1]
  return details?.odataError?.code ?? code ?? inText ?? String(error)
}

const outcome = (sent: Promise<unknown>): Promise<string> => sent.then(() => 'done', codeOf)

for (const [kind, { deleted, create, remove }] of Object.entries(KINDS)) {
  describe(`the name of a deleted ${kind}`, () => {
    test('is reserved until its time is over', async () => {
      const { server } = clients
      await create(clients, `${kind}1`)
      await remove(clients, `${kind}1`)
      assert.equal(await outcome(create(clients, `${kind}1`)), deleted)
      server.advance(SECONDS * 1_000 - 1)
      assert.equal(await outcome(create(clients, `${kind}1`)), deleted)
      assert.equal(await outcome(create(clients, `${kind}2`)), 'done')
      server.advance(1)
      assert.equal(await outcome(create(clients, `${kind}1`)), 'done')
    })

    test('stays reserved across a restart', async () => {
      const location = await mkdtemp(join(tmpdir(), 'lazuli-reuse-'))
      let nowMs = Date.now()
      const options = { location, clock: () => nowMs }
      try {
        const first = await start(options)
        await create(first, `${kind}3`)
        await remove(first, `${kind}3`)
        await first.server.close()
        const second = await start(options)
        assert.equal(await outcome(create(second, `${kind}3`)), deleted)
        nowMs += SECONDS * 1_000
        assert.equal(await outcome(create(second, `${kind}3`)), 'done')
        await second.server.close()
      } finally {
        await rm(location, { recursive: true, force: true })
      }
    })

    test('can be reused at once by default', async () => {
      const free = await start({ nameReuseSeconds: 0 })
      try {
        await create(free, `${kind}4`)
        await remove(free, `${kind}4`)
        assert.equal(await outcome(create(free, `${kind}4`)), 'done')
      } finally {
        await free.server.close()
      }
    })
  })
}

describe('while it is being deleted', () => {
  test('every operation on a container except its creation is answered with 404', async () => {
    const container = clients.blobs.getContainerClient('asked')
    await container.create()
    await container.delete()
    const blob = container.getBlockBlobClient('b')
    const operations = [
      () => container.getProperties(),
      () => container.delete(),
      () => container.listBlobsFlat().next(),
      () => blob.upload('x', 1),
      () => blob.download(),
    ]
    for (const run of operations) assert.equal(await outcome(run()), 'ContainerNotFound')
  })

  test('every operation on a share except its creation is answered with 404', async () => {
    const share = clients.shares.getShareClient('asked')
    await share.create()
    await share.delete()
    const operations = [
      () => share.getProperties(),
      () => share.delete(),
      () => share.rootDirectoryClient.getFileClient('f').create(1),
      () => share.rootDirectoryClient.listFilesAndDirectories().next(),
    ]
    for (const run of operations) assert.equal(await outcome(run()), 'ShareNotFound')
  })

  test('every operation on a queue is answered with 409', async () => {
    const queue = clients.queues.getQueueClient('asked')
    const operations = [
      () => queue.getProperties(),
      () => queue.setMetadata({ a: '1' }),
      () => queue.getAccessPolicy(),
      () => queue.sendMessage('hello'),
      () => queue.receiveMessages(),
      () => queue.peekMessages(),
      () => queue.clearMessages(),
      () => queue.delete(),
    ]
    for (const run of operations) assert.equal(await outcome(run()), 'QueueNotFound')
    await queue.create()
    await queue.delete()
    for (const run of operations) assert.equal(await outcome(run()), 'QueueBeingDeleted')
    clients.server.advance(SECONDS * 1_000)
    for (const run of operations) assert.equal(await outcome(run()), 'QueueNotFound')
  })

  test('every operation on a table is answered with 409', async () => {
    const table = clients.table('Asked')
    const entity = { partitionKey: 'p', rowKey: 'r' }
    const operations = [
      () => table.createEntity(entity),
      () => table.upsertEntity(entity),
      () => table.deleteEntity('p', 'r'),
      () => table.getEntity('p', 'r'),
      () => table.listEntities().next(),
      () => table.getAccessPolicy(),
      () => table.submitTransaction([['create', entity]]),
    ]
    for (const run of operations) assert.equal(await outcome(run()), 'TableNotFound')
    await clients.tables.createTable('asked')
    await clients.tables.deleteTable('ASKED')
    for (const run of operations) assert.equal(await outcome(run()), 'TableBeingDeleted')
    clients.server.advance(SECONDS * 1_000)
    for (const run of operations) assert.equal(await outcome(run()), 'TableNotFound')
  })
})

describe('with soft delete', () => {
  const KEEP = '<Enabled>true</Enabled><Days>7</Days>'

  const turn = async (blobPort: number, policy: string) => {
    const body = `<StorageServiceProperties><${policy}>${KEEP}</${policy}></StorageServiceProperties>`
    const path = '/?restype=service&comp=properties'
    assert.equal((await rawRequest({ blobPort }, { method: 'PUT', path, body })).status, 202)
  }

  test('a container can be restored, and its name reused, once the deletion is complete', async () => {
    const { blobs, server } = clients
    await turn(server.blobPort, 'ContainerDeleteRetentionPolicy')
    const container = blobs.getContainerClient('soft')
    await container.create()
    await container.delete()
    const deleted = await blobs.listContainers({ includeDeleted: true, prefix: 'soft' }).next()
    const restore = () => blobs.undeleteContainer('soft', String(deleted.value.version))
    assert.equal(await outcome(restore()), 'ContainerBeingDeleted')
    assert.equal(await outcome(container.create()), 'ContainerBeingDeleted')
    server.advance(SECONDS * 1_000)
    assert.equal(await outcome(restore()), 'done')
    await container.delete()
    server.advance(SECONDS * 1_000)
    assert.equal(await outcome(container.create()), 'done')
  })

  test('a share can be restored, and its name reused, once the deletion is complete', async () => {
    const { shares, server } = clients
    await turn(server.filePort, 'ShareDeleteRetentionPolicy')
    const share = shares.getShareClient('soft')
    await share.create()
    await share.delete()
    const deleted = await shares.listShares({ includeDeleted: true, prefix: 'soft' }).next()
    const restore = () => shares.undeleteShare('soft', String(deleted.value.version))
    assert.equal(await outcome(restore()), 'ShareBeingDeleted')
    assert.equal(await outcome(share.create()), 'ShareBeingDeleted')
    server.advance(SECONDS * 1_000)
    assert.equal(await outcome(restore()), 'done')
    await share.delete()
    server.advance(SECONDS * 1_000)
    assert.equal(await outcome(share.create()), 'done')
  })
})
