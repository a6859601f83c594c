// The Blob and the Queue service through azure-storage, the package before @azure/storage-blob and
// @azure/storage-queue: the calls that most of its programs have.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import azure from 'azure-storage'
import { startTestServer, type TestServer } from '../harness.ts'
import { asked, refused } from './azure-storage-legacy.ts'

const HOUR_MS = 3_600_000

let server: TestServer
let blobs: azure.BlobService
let queues: azure.QueueService

before(async () => {
  server = await startTestServer()
  blobs = azure.createBlobService(server.connectionString)
  queues = azure.createQueueService(server.connectionString)
  await asked((done) => blobs.createContainer('box', done))
})
after(() => server.close())

function put(name: string, text: string): Promise<azure.BlobService.BlobResult> {
  return asked((done) => blobs.createBlockBlobFromText('box', name, text, done))
}

function text(name: string, options = {}): Promise<string> {
  return asked((done) => blobs.getBlobToText('box', name, options, done))
}

test('a blob is put with metadata, listed, got and deleted', async () => {
  const options = { metadata: { owner: 'me' }, contentSettings: { contentType: 'text/plain' } }
  await asked((done) =>
    blobs.createBlockBlobFromText('box', 'größe & co.txt', 'grüße', options, done),
  )
  const found = await asked<azure.BlobService.BlobResult>((done) =>
    blobs.getBlobProperties('box', 'größe & co.txt', done),
  )
  assert.deepEqual(found.metadata, { owner: 'me' })
  assert.equal(found.contentSettings?.contentType, 'text/plain')
  assert.equal(await text('größe & co.txt'), 'grüße')
  const first = null as unknown as azure.common.ContinuationToken
  const { entries } = await asked<azure.BlobService.ListBlobsResult>((done) =>
    blobs.listBlobsSegmentedWithPrefix('box', 'größe', first, done),
  )
  const names = entries.map(({ name }) => name)
  assert.deepEqual(names, ['größe & co.txt'])
  await asked((done) => blobs.deleteBlob('box', 'größe & co.txt', done))
  const { exists } = await asked<azure.BlobService.BlobResult>((done) =>
    blobs.doesBlobExist('box', 'größe & co.txt', done),
  )
  assert.equal(exists, false)
})

test('a blob is put in blocks', async () => {
  for (const id of ['block-1', 'block-2']) {
    await asked((done) => blobs.createBlockFromText(id, 'box', 'blocks', `<${id}>`, done))
  }
  const list = { LatestBlocks: ['block-2', 'block-1'] }
  await asked((done) => blobs.commitBlocks('box', 'blocks', list, done))
  assert.equal(await text('blocks'), '<block-2><block-1>')
})

test('a condition that does not hold is refused', async () => {
  const { etag: EtagMatch } = await put('conditional', 'first')
  assert(EtagMatch)
  await put('conditional', 'second')
  const accessConditions = { EtagMatch }
  await refused('412 ConditionNotMet', (done) =>
    blobs.createBlockBlobFromText('box', 'conditional', 'third', { accessConditions }, done),
  )
})

test('a lease guards writes', async () => {
  await put('leased', 'first')
  const { id } = await asked<azure.BlobService.LeaseResult>((done) =>
    blobs.acquireLease('box', 'leased', { leaseDuration: 15 }, done),
  )
  await refused('412 LeaseIdMissing', (done) =>
    blobs.createBlockBlobFromText('box', 'leased', 'second', done),
  )
  await refused('409 LeaseAlreadyPresent', (done) => blobs.acquireLease('box', 'leased', done))
  await asked((done) =>
    blobs.createBlockBlobFromText('box', 'leased', 'second', { leaseId: id }, done),
  )
  await asked((done) => blobs.releaseLease('box', 'leased', id, done))
  await put('leased', 'third')
  assert.equal(await text('leased'), 'third')
})

test('a snapshot keeps what was', async () => {
  await put('kept', 'first')
  const snapshotId = await asked<string>((done) => blobs.createBlobSnapshot('box', 'kept', done))
  await put('kept', 'second')
  assert.equal(await text('kept', { snapshotId }), 'first')
  assert.equal(await text('kept'), 'second')
})

test('a shared access signature reads and does not write', async () => {
  await put('shared', 'first')
  const AccessPolicy = { Permissions: 'r', Expiry: new Date(Date.now() + HOUR_MS) }
  const sas = blobs.generateSharedAccessSignature('box', 'shared', { AccessPolicy })
  const guest = azure.createBlobServiceWithSas(server.blobEndpoint, sas)
  const read = await asked<string>((done) => guest.getBlobToText('box', 'shared', done))
  assert.equal(read, 'first')
  await refused('403 AuthorizationPermissionMismatch', (done) =>
    guest.deleteBlob('box', 'shared', done),
  )
})

test('a message is put, peeked at, got, updated and deleted', async () => {
  await asked((done) => queues.createQueue('letters', done))
  await asked((done) => queues.createMessage('letters', 'grüße <b>', done))
  const peeked = await asked<azure.QueueService.QueueMessageResult>((done) =>
    queues.peekMessage('letters', done),
  )
  assert.equal(peeked.messageText, 'grüße <b>')
  const got = await asked<azure.QueueService.QueueMessageResult>((done) =>
    queues.getMessage('letters', done),
  )
  assert.equal(got.messageText, 'grüße <b>')
  assert(got.messageId && got.popReceipt)
  const { messageId, popReceipt } = got
  const updated = await asked<azure.QueueService.QueueMessageResult>((done) =>
    queues.updateMessage('letters', messageId, popReceipt, 30, { messageText: 'other' }, done),
  )
  await refused('404 MessageNotFound', (done) =>
    queues.deleteMessage('letters', messageId, popReceipt, done),
  )
  await asked((done) => queues.deleteMessage('letters', messageId, updated.popReceipt ?? '', done))
  const left = await asked<azure.QueueService.QueueResult>((done) =>
    queues.getQueueMetadata('letters', done),
  )
  assert.equal(left.approximateMessageCount, 0)
})
