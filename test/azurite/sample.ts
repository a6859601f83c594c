// Data of every kind that Azurite has, written through the SDKs; and a picture of it, read through the SDKs, to compare.
import { TableClient, TableServiceClient } from '@azure/data-tables'
import { BlobServiceClient, type BlobItem, type ContainerClient } from '@azure/storage-blob'
import { QueueServiceClient } from '@azure/storage-queue'
import { randomFrom } from '../random.ts'

export type Place = {
  readonly blobPort: number
  readonly queuePort: number
  readonly tablePort: number
}

export type SampleAccount = { readonly name: string; readonly key: string }

export const LEASE_ID = '11111111-1111-4111-8111-111111111111'

export function clientsOf(place: Place, { name, key }: SampleAccount) {
  const endpoint = (service: string, port: number) =>
    `${service}Endpoint=http://127.0.0.1:${port}/${name};`
  const text =
    `DefaultEndpointsProtocol=http;AccountName=${name};AccountKey=${key};` +
    endpoint('Blob', place.blobPort) + endpoint('Queue', place.queuePort) + endpoint('Table', place.tablePort) // prettier-ignore
  return {
    blobs: BlobServiceClient.fromConnectionString(text),
    queues: QueueServiceClient.fromConnectionString(text),
    tables: TableServiceClient.fromConnectionString(text, { allowInsecureConnection: true }),
    table: (table: string) =>
      TableClient.fromConnectionString(text, table, { allowInsecureConnection: true }),
  }
}

export type Clients = ReturnType<typeof clientsOf>

const LATER = new Date(Date.UTC(2090, 0, 1))

export async function fill({ blobs, queues, table }: Clients): Promise<void> {
  await fillBlobs(blobs)
  await fillQueues(queues)
  await fillTables(table)
}

async function fillBlobs(service: BlobServiceClient): Promise<void> {
  const rule = {
    allowedOrigins: 'http://a.example', allowedMethods: 'GET,PUT', allowedHeaders: 'x-a',
    exposedHeaders: 'x-b', maxAgeInSeconds: 5,
  } // prettier-ignore
  await service.setProperties({
    cors: [rule],
    defaultServiceVersion: '2020-02-10',
    staticWebsite: { enabled: true, indexDocument: 'index.html' },
  })
  const container = service.getContainerClient('photos')
  await container.create({ metadata: { Owner: 'Ann' }, access: 'blob' })
  const accessPolicy = { startsOn: new Date(0), expiresOn: LATER, permissions: 'rl' }
  await container.setAccessPolicy('container', [{ id: 'read', accessPolicy }])
  await service.createContainer('empty')
  await fillBlockBlobs(container)
  await fillOtherBlobs(container)
  await container.getBlobLeaseClient(LEASE_ID).acquireLease(-1)
}

async function fillBlockBlobs(container: ContainerClient): Promise<void> {
  const large = randomFrom(7).bytes(300_000)
  const blob = container.getBlockBlobClient('a folder/ä b.txt')
  await blob.upload('first', 5, {
    metadata: { Key1: 'v' },
    tags: { 'a b': '1+1' },
    tier: 'Cool',
    blobHTTPHeaders: {
      blobContentType: 'text/plain; charset=utf-8', blobCacheControl: 'no-cache', blobContentLanguage: 'de',
      blobContentDisposition: 'attachment', blobContentEncoding: 'x-none',
    },
  }) // prettier-ignore
  await blob.createSnapshot()
  await blob.createSnapshot({ metadata: { kept: 'yes' } })
  await blob.upload('second', 6)
  await container.getBlockBlobClient('zero').upload('', 0)
  await container.getBlockBlobClient('archived').upload('cold', 4, { tier: 'Archive' })
  await container.getBlockBlobClient('large').uploadData(large)
  const blocks = container.getBlockBlobClient('blocks')
  const idOf = (text: string) => Buffer.from(text).toString('base64')
  for (const text of ['one', 'two', 'xxx']) await blocks.stageBlock(idOf(text), text, 3)
  await blocks.commitBlockList(['two', 'one', 'two'].map(idOf))
  await blocks.stageBlock(idOf('new'), 'uncommitted', 11)
  await container.getBlockBlobClient('only-staged').stageBlock(idOf('new'), 'uncommitted', 11)
  await (await container.getBlockBlobClient('copied').beginCopyFromURL(blocks.url)).pollUntilDone()
  await blocks.getBlobLeaseClient(LEASE_ID).acquireLease(-1)
}

async function fillOtherBlobs(container: ContainerClient): Promise<void> {
  const log = container.getAppendBlobClient('log')
  await log.create({ metadata: { of: 'app' } })
  for (const line of ['one\n', 'two\n', 'three\n']) await log.appendBlock(line, line.length)
  await log.seal()
  const broken = container.getAppendBlobClient('broken-lease')
  await broken.create()
  await broken.getBlobLeaseClient(LEASE_ID).acquireLease(60)
  await broken.getBlobLeaseClient(LEASE_ID).breakLease(0)
  const disk = container.getPageBlobClient('disk')
  await disk.create(1024 * 1024, { blobSequenceNumber: 7 })
  await disk.uploadPages(Buffer.alloc(2048, 'p'), 512, 2048)
  await disk.clearPages(1024, 512)
  await disk.createSnapshot()
  await disk.uploadPages(Buffer.alloc(512, 'q'), 512 * 1024, 512)
}

async function fillQueues(service: QueueServiceClient): Promise<void> {
  const queue = service.getQueueClient('orders')
  await queue.create({ metadata: { m: '1' } })
  const accessPolicy = { startsOn: new Date(0), expiresOn: LATER, permissions: 'rp' }
  await queue.setAccessPolicy([{ id: 'work', accessPolicy }])
  await queue.sendMessage('held by somebody')
  await queue.receiveMessages({ visibilityTimeout: 300 })
  await queue.sendMessage('<never> & ü', { messageTimeToLive: -1 })
  await queue.sendMessage('later', { visibilityTimeout: 120, messageTimeToLive: 3_600 })
  await service.createQueue('nothing')
}

async function fillTables(table: Clients['table']): Promise<void> {
  const people = table('People')
  await people.createTable()
  const accessPolicy = { start: new Date(0), expiry: LATER, permission: 'r' }
  await people.setAccessPolicy([{ id: 'look', accessPolicy }])
  await people.createEntity({
    partitionKey: "o'Neil ü", rowKey: '', text: 'ü\n"', int: -5, double: 1.5, whole: { type: 'Double', value: '3' },
    nan: { type: 'Double', value: 'NaN' }, least: { type: 'Double', value: '-Infinity' }, yes: true, long: 9007199254740993n,
    when: new Date(Date.UTC(2001, 1, 3, 4, 5, 6, 7)), bytes: new Uint8Array([0, 255]),
    guid: { type: 'Guid', value: '0fa85f64-5717-4562-b3fc-2c963f66afa6' }, looksLikeDate: '2001-02-03T04:05:06Z',
  }) // prettier-ignore
  for (let row = 0; row < 120; row += 1) {
    await people.createEntity({ partitionKey: 'many', rowKey: `r${row}`, row })
  }
  await table('Nothing').createTable()
}

/** Everything that clients see, but for ETags and the ids of messages. */
export async function pictureOf({ blobs, queues, tables, table }: Clients) {
  const { cors, defaultServiceVersion, staticWebsite } = await blobs.getProperties()
  const containers = []
  for await (const { name, properties, metadata } of blobs.listContainers({
    includeMetadata: true,
  })) {
    const { lastModified, leaseState, leaseStatus, leaseDuration, publicAccess } = properties
    const container = blobs.getContainerClient(name)
    const { signedIdentifiers } = await container.getAccessPolicy()
    containers.push({
      name, metadata: plain(metadata), lastModified, leaseState, leaseStatus, leaseDuration, publicAccess, signedIdentifiers,
      blobs: await blobsOf(container),
    }) // prettier-ignore
  }
  return {
    service: { cors, defaultServiceVersion, staticWebsite },
    containers,
    queues: await queuesOf(queues),
    tables: await tablesOf({ tables, table }),
  }
}

async function blobsOf(container: ContainerClient) {
  const items = []
  const included = {
    includeSnapshots: true, includeMetadata: true, includeTags: true, includeCopy: true, includeUncommitedBlobs: true,
  } // prettier-ignore
  for await (const item of container.listBlobsFlat(included))
    items.push(await blobOf(container, item))
  // Azurite lists snapshots after their blob.
  const keyOf = (item: { name: string; snapshot: string }) => `${item.name} ${item.snapshot}`
  return items.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
}

/** Lists of Azure have an empty element for what there is not. */
function told(text: string | undefined): string | undefined {
  return text === '' ? undefined : text
}

/** None is absent, empty or '' in lists. */
function plain(metadata: unknown): object {
  return typeof metadata === 'object' && metadata !== null ? { ...metadata } : {}
}

async function blobOf(container: ContainerClient, item: BlobItem) {
  const { name, snapshot = '', metadata, tags = {}, properties: p } = item
  const client = container.getBlobClient(name).withSnapshot(snapshot)
  const isStagedOnly = name === 'only-staged'
  const isReadable = !isStagedOnly && p.accessTier !== 'Archive'
  return {
    name, snapshot, metadata: plain(metadata), tags,
    ...(!isStagedOnly && { createdOn: p.createdOn, lastModified: p.lastModified }),
    type: p.blobType, length: p.contentLength, contentType: told(p.contentType), encoding: told(p.contentEncoding), language: told(p.contentLanguage),
    disposition: told(p.contentDisposition), cacheControl: told(p.cacheControl), md5: told(p.contentMD5 && Buffer.from(p.contentMD5).toString('hex')),
    sequence: p.blobSequenceNumber, tier: p.accessTierInferred === true ? undefined : p.accessTier,
    tierSet: p.accessTierInferred === true ? undefined : p.accessTierChangedOn,
    lease: snapshot === '' && !isStagedOnly ? [p.leaseState, p.leaseStatus, p.leaseDuration] : [],
    copy: [p.copyStatus, p.copySource, p.copyProgress, p.copyCompletedOn, p.copyId],
    bytes: isReadable ? (await client.downloadToBuffer()).toString('base64') : undefined,
    ...(p.blobType === 'BlockBlob' && (isReadable || isStagedOnly) && snapshot === '' && { blocks: await blocksOf(container, name) }),
    ...(p.blobType === 'PageBlob' && { pages: await pagesOf(container, name, snapshot) }),
    ...(p.blobType === 'AppendBlob' && { append: await appendOf(container, name) }),
  } // prettier-ignore
}

async function blocksOf(container: ContainerClient, name: string) {
  const list = await container.getBlockBlobClient(name).getBlockList('all')
  const { committedBlocks = [], uncommittedBlocks = [] } = list
  return { committedBlocks, uncommittedBlocks }
}

async function pagesOf(container: ContainerClient, name: string, snapshot: string) {
  const { pageRange } = await container
    .getPageBlobClient(name)
    .withSnapshot(snapshot)
    .getPageRanges()
  return pageRange?.map(({ offset, count }) => [offset, count])
}

async function appendOf(container: ContainerClient, name: string) {
  const { isSealed, blobCommittedBlockCount } = await container.getBlobClient(name).getProperties()
  return { isSealed: isSealed ?? false, blobCommittedBlockCount }
}

async function queuesOf(service: QueueServiceClient) {
  const found = []
  for await (const { name, metadata } of service.listQueues({ includeMetadata: true })) {
    const queue = service.getQueueClient(name)
    const { approximateMessagesCount } = await queue.getProperties()
    const { signedIdentifiers } = await queue.getAccessPolicy()
    const { peekedMessageItems } = await queue.peekMessages({ numberOfMessages: 32 })
    const messages = peekedMessageItems.map(
      ({ messageText, insertedOn, expiresOn, dequeueCount }) => {
        // Both servers have a time of their own for messages that never expire.
        const expires = expiresOn.getUTCFullYear() === 9999 ? 'never' : expiresOn
        return { messageText, insertedOn, expires, dequeueCount }
      },
    )
    found.push({
      name,
      metadata: plain(metadata),
      approximateMessagesCount,
      signedIdentifiers,
      messages,
    })
  }
  return found
}

async function tablesOf({ tables, table }: Pick<Clients, 'tables' | 'table'>) {
  const found = []
  for await (const { name = '' } of tables.listTables()) {
    const entities = []
    for await (const entity of table(name).listEntities()) {
      const { etag: _etag, timestamp = '', ...rest } = entity
      entities.push({ ...rest, timestampMs: Date.parse(timestamp) })
    }
    const policies = await table(name).getAccessPolicy()
    found.push({ name, policies: [...policies], entities })
  }
  return found
}
