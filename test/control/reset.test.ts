// Reset of a running server: what goes, what stays, and that neither leases nor policies nor open files stop it.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { TableClient, TableServiceClient } from '@azure/data-tables'
import { BlobServiceClient } from '@azure/storage-blob'
import { ShareServiceClient } from '@azure/storage-file-share'
import { QueueServiceClient } from '@azure/storage-queue'
import { startServer, type LazuliServer, type ServerOptions } from '../../src/server.ts'
import { DIALECT } from '../../src/smb/session/dialect.ts'
import { COMMAND } from '../../src/smb/wire/header.ts'
import { ACCOUNT, ACCOUNT_KEY, sendTo, setServiceProperties } from '../harness.ts'
import { createBody, RawClient } from '../smb/raw-client.ts'

const NO_RETRIES = { retryOptions: { maxTries: 1, maxRetries: 0 }, allowInsecureConnection: true }

async function start(t: TestContext, options: ServerOptions = {}): Promise<LazuliServer> {
  const server = await startServer(options)
  t.after(() => server.close())
  return server
}

function clientsOf({ connectionString }: LazuliServer) {
  return {
    blobs: BlobServiceClient.fromConnectionString(connectionString, NO_RETRIES),
    queues: QueueServiceClient.fromConnectionString(connectionString, NO_RETRIES),
    shares: ShareServiceClient.fromConnectionString(connectionString, NO_RETRIES),
    tables: TableServiceClient.fromConnectionString(connectionString, NO_RETRIES),
    table: (name: string) => TableClient.fromConnectionString(connectionString, name, NO_RETRIES),
  }
}

/** `one` and `two` of each kind, each with something in it. */
async function fill(server: LazuliServer): Promise<void> {
  const { blobs, queues, shares, table } = clientsOf(server)
  for (const name of ['one', 'two']) {
    await blobs.getContainerClient(name).create()
    await blobs
      .getContainerClient(name)
      .getBlockBlobClient('doc')
      .upload('text', 4, { tags: { a: 'b' } })
    await queues.getQueueClient(name).create()
    await queues.getQueueClient(name).sendMessage('task')
    await table(name).createTable()
    await table(name).createEntity({ partitionKey: 'p', rowKey: 'r' })
    await shares.getShareClient(name).create()
    await shares.getShareClient(name).rootDirectoryClient.createFile('a', 10)
  }
}

async function namesOf(server: LazuliServer): Promise<Readonly<Record<string, readonly string[]>>> {
  const { blobs, queues, shares, tables } = clientsOf(server)
  const collect = async (items: AsyncIterable<{ readonly name?: string | undefined }>) => {
    const names: string[] = []
    for await (const { name } of items) names.push(name ?? '')
    return names
  }
  return {
    blob: await collect(blobs.listContainers({ includeDeleted: true, includeSystem: true })),
    queue: await collect(queues.listQueues()),
    table: await collect(tables.listTables()),
    file: await collect(shares.listShares({ includeDeleted: true })),
  }
}

const FULL = {
  blob: ['one', 'two'],
  queue: ['one', 'two'],
  table: ['one', 'two'],
  file: ['one', 'two'],
}
const EMPTY = { blob: [], queue: [], table: [], file: [] }

test('a reset of everything leaves nothing, not even what was deleted', async (t) => {
  const server = await start(t)
  const { blobs, shares } = clientsOf(server)
  const policy = { enabled: true, days: 7 }
  await blobs.setProperties({ deleteRetentionPolicy: policy })
  const week = '<Enabled>true</Enabled><Days>7</Days>'
  for (const [port, element] of [
    [server.blobPort, 'ContainerDeleteRetentionPolicy'],
    [server.filePort, 'ShareDeleteRetentionPolicy'],
  ] as const) {
    await setServiceProperties(sendTo(port), `<${element}>${week}</${element}>`)
  }
  await fill(server)
  await blobs.getContainerClient('two').delete()
  await shares.getShareClient('two').delete()
  assert.deepEqual(await namesOf(server), FULL)
  const { removedCount } = await server.reset()
  assert.equal(removedCount, 8)
  assert.deepEqual(await namesOf(server), EMPTY)
  assert.equal((await blobs.getProperties()).deleteRetentionPolicy?.enabled, false)
  await fill(server)
  const found: string[] = []
  for await (const { name } of blobs.findBlobsByTags(`a='b'`)) found.push(name)
  assert.deepEqual(found, ['doc', 'doc'])
  await server.sweep()
  assert.deepEqual(await namesOf(server), FULL)
})

for (const service of ['blob', 'queue', 'table', 'file'] as const) {
  test(`a reset of the ${service} service, or of one name in it, leaves the others`, async (t) => {
    const server = await start(t)
    await fill(server)
    assert.deepEqual(await server.reset({ service, container: 'one' }), { removedCount: 1 })
    assert.deepEqual(await namesOf(server), { ...FULL, [service]: ['two'] })
    assert.deepEqual(await server.reset({ service, account: ACCOUNT, container: 'none' }), {
      removedCount: 0,
    })
    assert.deepEqual(await server.reset({ account: ACCOUNT, service }), { removedCount: 1 })
    assert.deepEqual(await namesOf(server), { ...FULL, [service]: [] })
  })
}

test('a reset of one account leaves the other', async (t) => {
  const accounts = { first: ACCOUNT_KEY, second: ACCOUNT_KEY }
  const server = await start(t, { accounts })
  await fill(server)
  const second = {
    ...server,
    connectionString: server.connectionString.replaceAll('first', 'second'),
  }
  await fill(second)
  await server.reset({ account: 'first' })
  assert.deepEqual(await namesOf(server), EMPTY)
  assert.deepEqual(await namesOf(second), FULL)
  await server.reset({ service: 'queue', container: 'two' })
  assert.deepEqual(await namesOf(second), { ...FULL, queue: ['one'] })
})

test('leases and reserved names do not stop a reset', async (t) => {
  const server = await start(t, { nameReuseSeconds: 30 })
  await fill(server)
  const { blobs, shares } = clientsOf(server)
  await blobs.getContainerClient('one').getBlobLeaseClient().acquireLease(-1)
  await blobs
    .getContainerClient('one')
    .getBlockBlobClient('doc')
    .getBlobLeaseClient()
    .acquireLease(-1)
  await shares.getShareClient('one').getShareLeaseClient().acquireLease(-1)
  await blobs.getContainerClient('two').delete()
  await assert.rejects(blobs.getContainerClient('two').create(), { code: 'ContainerBeingDeleted' })
  await server.reset()
  await fill(server)
})

test('SMB clients lose what they have open in a share', async (t) => {
  const server = await start(t)
  await fill(server)
  const client = await RawClient.open(server.smbPort)
  t.after(() => client.close())
  await client.negotiate([DIALECT.smb300])
  await client.setUpSession(ACCOUNT, ACCOUNT_KEY)
  await client.connectTree('one')
  const opened = await client.ask(COMMAND.CREATE, createBody('a'))
  assert.equal(opened?.status, 'SUCCESS')
  const fileId = opened.message.subarray(128, 144)
  await server.reset({ service: 'file' })
  const close = Buffer.alloc(24)
  close.writeUInt16LE(24, 0)
  fileId.copy(close, 8)
  assert.equal((await client.ask(COMMAND.CLOSE, close))?.status, 'FILE_CLOSED')
})

test('thousands of containers are removed', async (t) => {
  const server = await start(t)
  const { queues } = clientsOf(server)
  const names = Array.from({ length: 1_000 }, (_, at) => `queue-${at}`)
  await Promise.all(names.map((name) => queues.getQueueClient(name).create()))
  assert.equal((await server.reset({ service: 'queue' })).removedCount, 1_000)
  assert.deepEqual((await namesOf(server)).queue, [])
})

const WRONG: readonly (readonly [object, RegExp])[] = [
  [{ account: 'nobody' }, /there is no account "nobody"; there is devstoreaccount1/],
  [{ service: 'smb' }, /service must be blob, queue, table or file/],
  [{ container: 'one' }, /container needs a service/],
  [{ service: 'blob', container: '' }, /container must be the name/],
  [{ share: 'one' }, /share is not part of a scope/],
]
for (const [scope, message] of WRONG) {
  test(`${JSON.stringify(scope)} is refused and removes nothing`, async (t) => {
    const server = await start(t)
    await fill(server)
    await assert.rejects(server.reset(scope), message)
    assert.deepEqual(await namesOf(server), FULL)
  })
}
