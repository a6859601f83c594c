// How often an operation asks the database: reads are statements, commits are calls. The engine is in memory; what is
// counted is what the runner asks it.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { TableClient, AzureNamedKeyCredential } from '@azure/data-tables'
import { BlobServiceClient, StorageSharedKeyCredential } from '@azure/storage-blob'
import { QueueServiceClient } from '@azure/storage-queue'
import { ShareServiceClient } from '@azure/storage-file-share'
import type { Engine, Snapshot } from '../../src/kv/engine/engine.ts'
import { openMemoryEngine } from '../../src/kv/engine/memory.ts'
import { ACCOUNT, ACCOUNT_KEY } from '../harness.ts'
import { startCluster } from './cluster.ts'

class Counts {
  reads = 0
  snapshotReads = 0
  commits = 0

  watch(engine: Engine): Engine {
    const watched = (snapshot: Snapshot): Snapshot => ({
      ...snapshot,
      read: (wanted) => {
        this.snapshotReads += 1
        return snapshot.read(wanted)
      },
    })
    return {
      ...engine,
      read: (wanted) => {
        this.reads += 1
        return engine.read(wanted)
      },
      snapshot: async () => watched(await engine.snapshot()),
      commit: (transactions) => {
        this.commits += 1
        return engine.commit(transactions)
      },
    }
  }

  async of(work: () => Promise<unknown>): Promise<string> {
    this.reads = 0
    this.snapshotReads = 0
    this.commits = 0
    await work()
    return `${this.reads} ${this.snapshotReads} ${this.commits}`
  }
}

async function openWorld(t: TestContext) {
  const counts = new Counts()
  const engine = counts.watch(openMemoryEngine({ isShared: true }))
  const { nodes } = await startCluster(t, { count: 1, engine })
  const [node] = nodes
  assert(node !== undefined)
  const credential = new StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY)
  const at = (port: number) => `http://127.0.0.1:${port}/${ACCOUNT}`
  const blobs = new BlobServiceClient(at(node.blobPort), credential)
  const queues = new QueueServiceClient(at(node.queuePort), credential as never)
  const table = new TableClient(
    at(node.tablePort),
    'things',
    new AzureNamedKeyCredential(ACCOUNT, ACCOUNT_KEY),
    { allowInsecureConnection: true },
  )
  const shares = new ShareServiceClient(at(node.filePort), credential as never)
  return { counts, blobs, queues, table, shares }
}

const BYTES = Buffer.alloc(4_096, 'x')

test('explore', async (t) => {
  const { counts, blobs, queues, table, shares } = await openWorld(t)
  const container = blobs.getContainerClient('box')
  await container.create()
  const show = async (name: string, work: (n: number) => Promise<unknown>) => {
    for (let n = 0; n < 3; n += 1) await work(n)
    console.log(name, await counts.of(() => work(3)))
  }
  await show('put blob', (n) => container.getBlockBlobClient(`b${n}`).upload(BYTES, BYTES.length))
  await show('put blob same', () =>
    container.getBlockBlobClient(`same`).upload(BYTES, BYTES.length),
  )
  const large = Buffer.alloc(1 << 20)
  await show('put blob 1M', (n) =>
    container.getBlockBlobClient(`l${n}`).upload(large, large.length),
  )
  await show('get blob', () => container.getBlockBlobClient('same').downloadToBuffer())
  await show('get blob other', (n) => container.getBlockBlobClient(`b${n}`).downloadToBuffer())
  await show('get blob 1M', () => container.getBlockBlobClient('l1').downloadToBuffer())
  await show('head', () => container.getBlockBlobClient('same').getProperties())
  await show('set metadata', () => container.getBlockBlobClient('same').setMetadata({ a: 'b' }))
  await show('lease', (n) =>
    container.getBlockBlobClient(`b${n}`).getBlobLeaseClient().acquireLease(60),
  )
  await show('snapshot', () => container.getBlockBlobClient('same').createSnapshot())
  await show('delete', (n) => container.getBlockBlobClient(`l${n}`).delete())
  const append = container.getAppendBlobClient('append')
  await append.create()
  await show('append', () => append.appendBlock(BYTES, BYTES.length))
  const page = container.getPageBlobClient('page')
  await page.create(1 << 20)
  await show('put page', (n) => page.uploadPages(BYTES, n * 4096, BYTES.length))
  await show('get page blob', () => page.downloadToBuffer())
  await show('copy', (n) =>
    container
      .getBlockBlobClient(`copy${n}`)
      .syncCopyFromURL(container.getBlockBlobClient('same').url),
  )
  for (let n = 0; n < 60; n += 1)
    await container.getBlockBlobClient(`dir${n % 30}/x${n}`).upload('', 0)
  const drain = async (list: AsyncIterable<unknown>) => {
    for await (const one of list) void one
  }
  await show('list', () => drain(container.listBlobsFlat()))
  await show('list delimiter', () => drain(container.listBlobsByHierarchy('/')))
  await show('list include', () =>
    drain(container.listBlobsFlat({ includeSnapshots: true, includeVersions: true })),
  )
  await show('list containers', () => drain(blobs.listContainers()))
  const blocks = container.getBlockBlobClient('blocks')
  const ids = Array.from({ length: 1000 }, (_, n) =>
    Buffer.from(String(n).padStart(6, '0')).toString('base64'),
  )
  for (const id of ids) await blocks.stageBlock(id, 'x', 1)
  console.log(
    'stage',
    await counts.of(() => blocks.stageBlock(Buffer.from('zzzzzz').toString('base64'), 'x', 1)),
  )
  console.log('put block list 1000', await counts.of(() => blocks.commitBlockList(ids)))
  console.log('get block list 1000', await counts.of(() => blocks.getBlockList('all')))
  console.log('get blob 1000 blocks', await counts.of(() => blocks.downloadToBuffer()))
  console.log('put block list again 1000', await counts.of(() => blocks.commitBlockList(ids)))
  const queue = queues.getQueueClient('box')
  await queue.create()
  await show('put message', () => queue.sendMessage('hello'))
  for (let n = 0; n < 160; n += 1) await queue.sendMessage('hello')
  await show('get message', () => queue.receiveMessages())
  await show('get 32 messages', () => queue.receiveMessages({ numberOfMessages: 32 }))
  await show('peek 32', () => queue.peekMessages({ numberOfMessages: 32 }))
  await show('get+delete', async () => {
    const {
      receivedMessageItems: [m],
    } = await queue.receiveMessages()
    if (m) await queue.deleteMessage(m.messageId, m.popReceipt)
  })
  await table.createTable()
  await show('insert entity', (n) =>
    table.createEntity({ partitionKey: 'p', rowKey: String(n), a: 1 }),
  )
  await show('get entity', () => table.getEntity('p', '1'))
  await show('merge entity', () => table.updateEntity({ partitionKey: 'p', rowKey: '1', a: 2 }))
  await show('batch 100', (n) =>
    table.submitTransaction(
      Array.from({ length: 100 }, (_, at) => [
        'create',
        { partitionKey: 'p', rowKey: `${n}-${at}` },
      ]),
    ),
  )
  await show('batch 100 update', () =>
    table.submitTransaction(
      Array.from({ length: 100 }, (_, at) => [
        'update',
        { partitionKey: 'p', rowKey: `1-${at}`, b: 2 },
      ]),
    ),
  )
  await show('query', () =>
    drain(table.listEntities({ queryOptions: { filter: "PartitionKey eq 'p'" } })),
  )
  const share = shares.getShareClient('box')
  await share.create()
  let directory = share.getDirectoryClient('d')
  await directory.create()
  for (let n = 0; n < 9; n += 1) {
    directory = directory.getDirectoryClient(`d${n}`)
    await directory.create()
  }
  const file = directory.getFileClient('f')
  await show('create file', (n) => directory.getFileClient(`f${n}`).create(4_096))
  await file.create(4_096)
  await show('put range', () => file.uploadRange(BYTES, 0, BYTES.length))
  await show('get file', () => file.downloadToBuffer())
  await show('get file props', () => file.getProperties())
  await show('list dir', () => drain(directory.listFilesAndDirectories()))
})
