// Everything that the SDKs read from a server, as plain data: to compare two servers whose stores should be the same. And a
// store that has some of everything.
import { createHash } from 'node:crypto'
import { AzureNamedKeyCredential, TableClient, TableServiceClient } from '@azure/data-tables'
import {
  BlobServiceClient,
  StorageSharedKeyCredential,
  type ContainerClient,
} from '@azure/storage-blob'
import {
  ShareServiceClient,
  StorageSharedKeyCredential as FileCredential,
  type ShareDirectoryClient,
} from '@azure/storage-file-share'
import {
  QueueServiceClient,
  StorageSharedKeyCredential as QueueCredential,
} from '@azure/storage-queue'
import { ACCOUNT, ACCOUNT_KEY } from './harness.ts'

export type Ports = {
  readonly blobPort: number
  readonly queuePort: number
  readonly tablePort: number
  readonly filePort: number
}

function clientsOf({ blobPort, queuePort, tablePort, filePort }: Ports) {
  const at = (port: number) => `http://127.0.0.1:${port}/${ACCOUNT}`
  const named = new AzureNamedKeyCredential(ACCOUNT, ACCOUNT_KEY)
  const http = { allowInsecureConnection: true }
  return {
    blobs: new BlobServiceClient(
      at(blobPort),
      new StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY),
    ),
    queues: new QueueServiceClient(at(queuePort), new QueueCredential(ACCOUNT, ACCOUNT_KEY)),
    tables: new TableServiceClient(at(tablePort), named, http),
    table: (name: string) => new TableClient(at(tablePort), name, named, http),
    shares: new ShareServiceClient(at(filePort), new FileCredential(ACCOUNT, ACCOUNT_KEY)),
  }
}

/** One line for each thing, with its ETag and a digest of its bytes. */
export async function contentsOf(ports: Ports): Promise<readonly string[]> {
  const { blobs, queues, tables, table, shares } = clientsOf(ports)
  const lines: string[] = []
  for await (const { name, properties, metadata } of blobs.listContainers({
    includeMetadata: true,
  })) {
    lines.push(line('container', name, properties, metadata))
    lines.push(...(await blobLines(blobs.getContainerClient(name))))
  }
  for await (const { name, metadata } of queues.listQueues({ includeMetadata: true })) {
    const queue = queues.getQueueClient(name)
    const { approximateMessagesCount } = await queue.getProperties()
    const { peekedMessageItems } = await queue.peekMessages({ numberOfMessages: 32 })
    lines.push(line('queue', name, metadata, approximateMessagesCount, peekedMessageItems))
  }
  for await (const { name = '' } of tables.listTables()) {
    for await (const entity of table(name).listEntities()) lines.push(line('entity', name, entity))
  }
  for await (const { name, snapshot, properties } of shares.listShares({
    includeSnapshots: true,
  })) {
    const share = shares.getShareClient(name)
    const shown = snapshot === undefined ? share : share.withSnapshot(snapshot)
    lines.push(line('share', name, snapshot, properties))
    lines.push(...(await directoryLines(shown.rootDirectoryClient)))
  }
  return lines
}

function line(...parts: readonly unknown[]): string {
  return JSON.stringify(parts, (_, value: unknown) =>
    typeof value === 'bigint' ? `${value}n` : value,
  )
}

function digest(bytes: Buffer): string {
  return `${bytes.length} ${createHash('sha256').update(bytes).digest('hex')}`
}

async function blobLines(container: ContainerClient): Promise<readonly string[]> {
  const lines: string[] = []
  const everything = {
    includeSnapshots: true,
    includeUncommitedBlobs: true,
    includeDeleted: true,
    includeMetadata: true,
    includeTags: true,
  }
  for await (const item of container.listBlobsFlat(everything)) {
    const { name, snapshot, deleted, properties } = item
    const blob = container.getBlobClient(name)
    const isUncommitted = properties.etag === ''
    lines.push(line('blob', item))
    if (deleted === true) continue
    const blocks = container.getBlockBlobClient(name)
    if (properties.blobType === 'BlockBlob' && snapshot === undefined) {
      const { committedBlocks, uncommittedBlocks } = await blocks.getBlockList('all')
      lines.push(line('blocks', committedBlocks, uncommittedBlocks))
    }
    if (isUncommitted || properties.contentLength === undefined) continue
    const shown = snapshot === undefined ? blob : blob.withSnapshot(snapshot)
    const bytes = await shown.downloadToBuffer().catch((error: unknown) => {
      // Uncommitted, or encrypted with a key that only its owner has.
      return Buffer.from(String(error instanceof Error && 'code' in error ? error.code : error))
    })
    lines.push(line('bytes', digest(bytes)))
  }
  return lines
}

async function directoryLines(directory: ShareDirectoryClient): Promise<readonly string[]> {
  const lines: string[] = []
  for await (const item of directory.listFilesAndDirectories()) {
    if (item.kind === 'directory') {
      const below = directory.getDirectoryClient(item.name)
      const { etag, metadata, filePermissionKey, fileId } = await below.getProperties()
      lines.push(line('directory', item, etag, metadata, filePermissionKey, fileId))
      lines.push(...(await directoryLines(below)))
      continue
    }
    const file = directory.getFileClient(item.name)
    const { etag, metadata, fileLastWriteOn, fileId, leaseState } = await file.getProperties()
    const bytes = await file.downloadToBuffer()
    lines.push(
      line('file', item, etag, metadata, fileLastWriteOn, fileId, leaseState, digest(bytes)),
    )
  }
  return lines
}

/** Some of everything, small and large. */
export async function fillStore(ports: Ports): Promise<void> {
  const { blobs, queues, tables, table, shares } = clientsOf(ports)
  await blobs.setProperties({ deleteRetentionPolicy: { enabled: true, days: 7 } })
  const box = blobs.getContainerClient('box')
  await box.create({ metadata: { kind: 'new' } })
  await fillBlobs(box)
  const queue = queues.getQueueClient('work')
  await queue.create({ metadata: { a: 'b' } })
  for (const text of ['one', 'two', 'three']) await queue.sendMessage(text)
  await queue.receiveMessages()
  await tables.createTable('People')
  for (let at = 0; at < 300; at += 1) {
    await table('People').createEntity({ partitionKey: `p${at % 7}`, rowKey: `${at}`, age: at, big: 2n ** 60n }) // prettier-ignore
  }
  const share = shares.getShareClient('files')
  await share.create()
  const directory = share.getDirectoryClient('dir')
  await directory.create({ metadata: { in: 'dir' } })
  const note = directory.getFileClient('note.txt')
  await note.create(5)
  await note.uploadRange('hello', 0, 5)
  const large = share.rootDirectoryClient.getFileClient('large.bin')
  await large.uploadData(Buffer.alloc(5_000_000, 'large'))
  await large.clearRange(100_000, 50_000)
  await share.createSnapshot()
  await note.uploadRange('HELLO', 0, 5)
  await large.uploadRange(Buffer.alloc(20_000, 'more'), 7, 20_000)
}

async function fillBlobs(box: ContainerClient): Promise<void> {
  const small = box.getBlockBlobClient('small.txt')
  await small.upload('first', 5, { tags: { colour: 'red' }, metadata: { m: '1' } })
  await small.createSnapshot()
  await small.upload('second', 6, { tags: { colour: 'green' } })
  for (let at = 0; at < 20; at += 1) {
    const body = Buffer.alloc(10_000 + at * 30_000, `body ${at}`)
    await box.getBlockBlobClient(`body-${at}`).upload(body, body.length)
  }
  // Leaves gaps in the extents.
  for (let at = 0; at < 20; at += 3) await box.getBlockBlobClient(`body-${at}`).delete()
  const blocks = box.getBlockBlobClient('blocks.bin')
  const ids = Array.from({ length: 70 }, (_, at) => Buffer.from(String(at).padStart(4)).toString('base64')) // prettier-ignore
  for (const id of ids) await blocks.stageBlock(id, Buffer.alloc(9_000, id), 9_000)
  await blocks.commitBlockList(ids)
  await box
    .getBlockBlobClient('staged-only')
    .stageBlock('b25l', Buffer.alloc(300_000, 's'), 300_000)
  const log = box.getAppendBlobClient('log.txt')
  await log.create()
  for (const text of ['one\n', 'two\n', 'x'.repeat(20_000)])
    await log.appendBlock(text, text.length)
  const page = box.getPageBlobClient('page.vhd')
  await page.create(1_048_576)
  await page.uploadPages(Buffer.alloc(512, 1), 512, 512)
  await page.uploadPages(Buffer.alloc(65_536, 2), 131_072, 65_536)
  await page.createSnapshot()
  await page.uploadPages(Buffer.alloc(512, 3), 512, 512)
  await page.clearPages(131_072, 4_096)
  const leased = box.getBlockBlobClient('leased')
  await leased.upload('l', 1)
  await leased.getBlobLeaseClient().acquireLease(-1)
  await box.getBlockBlobClient('empty').upload('', 0)
}
