// The metrics of what clients hold, and of what they lost: leases, messages, SMB opens, conflicts inside batches.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { AzureNamedKeyCredential, TableClient } from '@azure/data-tables'
import { BlobServiceClient, StorageSharedKeyCredential } from '@azure/storage-blob'
import {
  QueueServiceClient,
  StorageSharedKeyCredential as QueueCredential,
} from '@azure/storage-queue'
import { VERSION } from '../../src/start/version.ts'
import { ACCOUNT, ACCOUNT_KEY } from '../harness.ts'
import { runTestServer, type RunningTestServer } from '../running-server.ts'
import { shareClient } from '../file/fixture.ts'
import { SHARE } from '../smb/client-message.ts'
import { SmbClient } from '../smb/smb-client.ts'

const server = await runTestServer({ onDisk: true })
after(() => server.close())

const url = (port: number) => `http://127.0.0.1:${port}/${ACCOUNT}`
const blobs = new BlobServiceClient(
  url(server.blobPort),
  new StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY),
)
const box = blobs.getContainerClient('box')
await box.create()

async function rowsOf({ metrics }: RunningTestServer): Promise<ReadonlyMap<string, string>> {
  const { text } = await metrics.expose()
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map((line) => {
      const at = line.lastIndexOf(' ')
      return [line.slice(0, at), line.slice(at + 1)]
    }),
  )
}

async function row(name: string): Promise<string | undefined> {
  return (await rowsOf(server)).get(name)
}

test('active leases are counted until they end', async () => {
  const blob = box.getBlockBlobClient('leased')
  await blob.upload('x', 1)
  await blob.getBlobLeaseClient().acquireLease(15)
  await box.getBlobLeaseClient().acquireLease(-1)
  assert.equal(await row('lazuli_leases_active'), '2')
  assert.equal(await row('lazuli_count_is_lower_bound{count="leases"}'), '0')
  server.advance(15_000)
  assert.equal(await row('lazuli_leases_active'), '1')
})

test('invisible messages and stale receipts are counted', async () => {
  const credential = new QueueCredential(ACCOUNT, ACCOUNT_KEY)
  const queue = new QueueServiceClient(url(server.queuePort), credential).getQueueClient('work')
  await queue.create()
  await queue.sendMessage('x')
  const [first] = (await queue.receiveMessages({ visibilityTimeout: 10 })).receivedMessageItems
  assert(first !== undefined)
  assert.equal(await row('lazuli_messages_invisible'), '1')
  server.advance(10_000)
  assert.equal(await row('lazuli_messages_invisible'), '0')
  await queue.receiveMessages()
  await assert.rejects(queue.deleteMessage(first.messageId, first.popReceipt))
  const name =
    'lazuli_conflicts_total{service="queue",operation="Delete Message",code="MessageNotFound"}'
  assert.equal(await row(name), '1')
})

test('SMB sessions and opens are counted', async () => {
  const share = shareClient(server, 'files')
  await share.create()
  await share.rootDirectoryClient.getFileClient('a').create(1)
  assert.equal(await row('lazuli_smb_sessions'), '0')
  const client = await SmbClient.connect({ port: server.smbPort, share: 'files' })
  await client.open('a')
  assert.deepEqual([await row('lazuli_smb_sessions'), await row('lazuli_smb_opens')], ['1', '1'])
  const other = await SmbClient.connect({ port: server.smbPort, share: 'files' })
  await assert.rejects(other.open('a', { share: SHARE.none }), { status: 'SHARING_VIOLATION' })
  const name = 'lazuli_conflicts_total{service="smb",operation="CREATE",code="SHARING_VIOLATION"}'
  assert.equal(await row(name), '1')
  const names = [...(await rowsOf(server)).keys()]
  assert(!names.some((each) => /duration.*"smb"|failures.*"smb"/.test(each)))
  client.end()
  other.end()
})

test('conflicts inside Submit Batch are counted by the operation of the part', async () => {
  const blob = box.getBlockBlobClient('held')
  await blob.upload('x', 1)
  await blob.getBlobLeaseClient().acquireLease(-1)
  const { subResponsesFailedCount } = await blobs.getBlobBatchClient().deleteBlobs([blob])
  assert.equal(subResponsesFailedCount, 1)
  const name =
    'lazuli_conflicts_total{service="blob",operation="Delete Blob",code="LeaseIdMissing"}'
  assert.equal(await row(name), '1')
  assert.equal(
    await row('lazuli_requests_total{service="blob",operation="Delete Blob",status="412"}'),
    undefined,
  )
})

test('conflicts inside a table batch are counted', async () => {
  const credential = new AzureNamedKeyCredential(ACCOUNT, ACCOUNT_KEY)
  const options = { allowInsecureConnection: true }
  const table = new TableClient(url(server.tablePort), 'People', credential, options)
  await table.createTable()
  const entity = { partitionKey: 'p', rowKey: 'r' }
  await table.createEntity(entity)
  await assert.rejects(table.submitTransaction([['create', entity]]))
  const name =
    'lazuli_conflicts_total{service="table",operation="Entity Group Transaction",code="EntityAlreadyExists"}'
  assert.equal(await row(name), '1')
})

test('a wrong key is a failed login', async () => {
  const wrong = new StorageSharedKeyCredential(ACCOUNT, Buffer.alloc(64).toString('base64'))
  const client = new BlobServiceClient(url(server.blobPort), wrong).getContainerClient('box')
  await assert.rejects(client.getProperties())
  const name = 'lazuli_authentication_failures_total{service="blob",code="AuthenticationFailed"}'
  assert.equal(await row(name), '1')
})

test('the build and the free space of the disk are shown', async () => {
  const { node } = process.versions
  assert.equal(await row(`lazuli_build_info{version="${VERSION}",node="${node}"}`), '1')
  assert(Number(await row('lazuli_disk_free_bytes')) > 0)
})

test('a server in memory and without SMB has no rows for disk and SMB', async () => {
  const other = await runTestServer({ hasSmb: false })
  const names = [...(await rowsOf(other)).keys()]
  await other.close()
  assert(names.includes('lazuli_leases_active'))
  assert.deepEqual(
    names.filter((name) => /disk|smb|opens/.test(name)),
    [],
  )
})
