// The Blob and Queue services with azure-storage, the predecessor of @azure/storage-blob and @azure/storage-queue: the
// calls that most programs use.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import azure from 'azure-storage'
import { startTestServer, type TestServer } from '../harness.ts'
import { call, refused } from './azure-storage-legacy.ts'

const HOUR_MS = 3_600_000

let server: TestServer
let blobs: azure.BlobService
let queues: azure.QueueService

before(async () => {
  server = await startTestServer()
  blobs = azure.createBlobService(server.connectionString)
  queues = azure.createQueueService(server.connectionString)
  await call((done) => blobs.createContainer('box', done))
})
after(() => server.close())

function put(name: string, text: string): Promise<azure.BlobService.BlobResult> {
  return call((done) => blobs.createBlockBlobFromText('box', name, text, done))
}

function text(name: string, options = {}): Promise<string> {
  return call((done) => blobs.getBlobToText('box', name, options, done))
}

test('a blob is put with metadata, listed, read and deleted', async () => {
  const options = { metadata: { owner: 'me' }, contentSettings: { contentType: 'text/plain' } }
  await call((done) =>
    blobs.createBlockBlobFromText('box', 'größe & co.txt', 'grüße', options, done),
  )
  const found = await call<azure.BlobService.BlobResult>((done) =>
    blobs.getBlobProperties('box', 'größe & co.txt', done),
  )
  assert.deepEqual(found.metadata, { owner: 'me' })
  assert.equal(found.contentSettings?.contentType, 'text/plain')
  assert.equal(await text('größe & co.txt'), 'grüße')
  const first = null as unknown as azure.common.ContinuationToken
  const { entries } = await call<azure.BlobService.ListBlobsResult>((done) =>
    blobs.listBlobsSegmentedWithPrefix('box', 'größe', first, done),
  )
  const names = entries.map(({ name }) => name)
  assert.deepEqual(names, ['größe & co.txt'])
  await call((done) => blobs.deleteBlob('box', 'größe & co.txt', done))
  const { exists } = await call<azure.BlobService.BlobResult>((done) =>
    blobs.doesBlobExist('box', 'größe & co.txt', done),
  )
  assert.equal(exists, false)
})

test('a blob is put in blocks', async () => {
  for (const id of ['block-1', 'block-2']) {
    await call((done) => blobs.createBlockFromText(id, 'box', 'blocks', `<${id}>`, done))
  }
  const list = { LatestBlocks: ['block-2', 'block-1'] }
  await call((done) => blobs.commitBlocks('box', 'blocks', list, done))
  assert.equal(await text('blocks'), '<block-2><block-1>')
})

test('a write with an unmet condition is refused', async () => {
  const { etag: EtagMatch } = await put('conditional', 'first')
  assert(EtagMatch)
  await put('conditional', 'second')
  const accessConditions = { EtagMatch }
  await refused('412 ConditionNotMet', (done) =>
    blobs.createBlockBlobFromText('box', 'conditional', 'third', { accessConditions }, done),
  )
})

test('writes to a leased blob need the lease id', async () => {
  await put('leased', 'first')
  const { id } = await call<azure.BlobService.LeaseResult>((done) =>
    blobs.acquireLease('box', 'leased', { leaseDuration: 15 }, done),
  )
  await refused('412 LeaseIdMissing', (done) =>
    blobs.createBlockBlobFromText('box', 'leased', 'second', done),
  )
  await refused('409 LeaseAlreadyPresent', (done) => blobs.acquireLease('box', 'leased', done))
  await call((done) =>
    blobs.createBlockBlobFromText('box', 'leased', 'second', { leaseId: id }, done),
  )
  await call((done) => blobs.releaseLease('box', 'leased', id, done))
  await put('leased', 'third')
  assert.equal(await text('leased'), 'third')
})

test('a snapshot keeps the content', async () => {
  await put('kept', 'first')
  const snapshotId = await call<string>((done) => blobs.createBlobSnapshot('box', 'kept', done))
  await put('kept', 'second')
  assert.equal(await text('kept', { snapshotId }), 'first')
  assert.equal(await text('kept'), 'second')
})

test('a SAS for reading does not permit writes', async () => {
  await put('shared', 'first')
  const AccessPolicy = { Permissions: 'r', Expiry: new Date(Date.now() + HOUR_MS) }
  const sas = blobs.generateSharedAccessSignature('box', 'shared', { AccessPolicy })
  const guest = azure.createBlobServiceWithSas(server.blobEndpoint, sas)
  const read = await call<string>((done) => guest.getBlobToText('box', 'shared', done))
  assert.equal(read, 'first')
  await refused('403 AuthorizationPermissionMismatch', (done) =>
    guest.deleteBlob('box', 'shared', done),
  )
})

test('a message is put, peeked, received, updated and deleted', async () => {
  await call((done) => queues.createQueue('letters', done))
  await call((done) => queues.createMessage('letters', 'grüße <b>', done))
  const peeked = await call<azure.QueueService.QueueMessageResult>((done) =>
    queues.peekMessage('letters', done),
  )
  assert.equal(peeked.messageText, 'grüße <b>')
  const got = await call<azure.QueueService.QueueMessageResult>((done) =>
    queues.getMessage('letters', done),
  )
  assert.equal(got.messageText, 'grüße <b>')
  assert(got.messageId && got.popReceipt)
  const { messageId, popReceipt } = got
  const updated = await call<azure.QueueService.QueueMessageResult>((done) =>
    queues.updateMessage('letters', messageId, popReceipt, 30, { messageText: 'other' }, done),
  )
  await refused('404 MessageNotFound', (done) =>
    queues.deleteMessage('letters', messageId, popReceipt, done),
  )
  await call((done) => queues.deleteMessage('letters', messageId, updated.popReceipt ?? '', done))
  const left = await call<azure.QueueService.QueueResult>((done) =>
    queues.getQueueMetadata('letters', done),
  )
  assert.equal(left.approximateMessageCount, 0)
})
