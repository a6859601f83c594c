// What clients hold, as each node shows it: leases are in the store, opens only on the home of the files.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { BlobServiceClient, StorageSharedKeyCredential } from '@azure/storage-blob'
import { shareClient } from '../file/fixture.ts'
import { ACCOUNT, ACCOUNT_KEY } from '../harness.ts'
import { SmbClient } from '../smb/smb-client.ts'
import { startCluster, type TestNode } from './cluster.ts'

const ID = '00000000-0000-4000-8000-000000000001'
const AT = `/${ACCOUNT}/box`

function boxOf({ blobPort }: TestNode) {
  const credential = new StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY)
  const url = `http://127.0.0.1:${blobPort}/${ACCOUNT}`
  return new BlobServiceClient(url, credential).getContainerClient('box')
}

async function start(t: TestContext) {
  const { nodes } = await startCluster(t, { count: 2 })
  const [home, other] = nodes
  assert(home !== undefined && other !== undefined)
  await shareClient(home, 'box').create()
  await boxOf(home).create()
  return { home, other }
}

test('every node lists the leases of all, and ends those of blobs', async (t) => {
  const { home, other } = await start(t)
  const blob = boxOf(home).getBlockBlobClient('blob')
  await blob.upload('x', 1)
  await blob.getBlobLeaseClient(ID).acquireLease(-1)
  const file = shareClient(other, 'box').rootDirectoryClient.getFileClient('file')
  await file.create(1)
  await file.getShareLeaseClient(ID).acquireLease()
  for (const node of [home, other]) {
    const resources = (await node.held.leases()).map(({ resource }) => resource)
    assert.deepEqual(resources, [`${AT}/blob`, `${AT}/file`])
  }
  await other.held.breakLease(`${AT}/blob`)
  await blob.delete()
  await assert.rejects(other.held.breakLease(`${AT}/file`), { code: 'ServedElsewhere' })
  await home.held.breakLease(`${AT}/file`)
  for (const node of [home, other]) assert.deepEqual(await node.held.leases(), [])
})

test('opens are those of the home, which alone can close them', async (t) => {
  const { home, other } = await start(t)
  const file = shareClient(home, 'box').rootDirectoryClient.getFileClient('file')
  await file.create(1)
  const client = await SmbClient.connect({ port: other.smbPort, share: 'box' })
  t.after(() => client.end())
  await client.open('file')
  const [open] = await home.held.opens()
  assert.deepEqual([open?.resource, open?.user], [`${AT}/file`, ACCOUNT])
  assert.deepEqual(await other.held.opens(), [])
  assert.match((await home.metrics.expose()).text, /^lazuli_smb_opens 1$/m)
  assert.doesNotMatch((await other.metrics.expose()).text, /^lazuli_smb_(opens|sessions) /m)
  await assert.rejects(other.held.closeOpen(open?.id ?? ''), { code: 'ServedElsewhere' })
  await home.held.closeOpen(open?.id ?? '')
  assert.deepEqual(await home.held.opens(), [])
})
