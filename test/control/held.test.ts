// `server.held`: what clients hold, who they are, and how an operator ends it.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, describe, test } from 'node:test'
import { BlobServiceClient, type BlockBlobClient } from '@azure/storage-blob'
import { QueueServiceClient } from '@azure/storage-queue'
import { ShareServiceClient } from '@azure/storage-file-share'
import { ACCOUNT, startTestServer } from '../harness.ts'
import { ACCESS, LEASE, SHARE } from '../smb/client-message.ts'
import { LOCK } from '../smb/client-message-info.ts'
import { SmbClient } from '../smb/smb-client.ts'
import { startSourceServer, untilCopied } from '../source-server.ts'

const source = await startSourceServer()
const server = await startTestServer({ allowCopyFrom: [source.origin], onDisk: true })
const clients: SmbClient[] = []
after(async () => {
  for (const client of clients) client.end()
  await server.close()
  await source.close()
})

const { held } = server
const blobs = BlobServiceClient.fromConnectionString(server.connectionString)
const shares = ShareServiceClient.fromConnectionString(server.connectionString)
const queue = QueueServiceClient.fromConnectionString(server.connectionString).getQueueClient(
  'work',
)
const box = blobs.getContainerClient('box')
const share = shares.getShareClient('box')
await box.create()
await share.create()
await queue.create()

const ID = '00000000-0000-4000-8000-000000000001'

async function blob(name: string): Promise<BlockBlobClient> {
  const created = box.getBlockBlobClient(name)
  await created.upload('text', 4)
  return created
}

async function smbClient(): Promise<SmbClient> {
  const client = await SmbClient.connect({ port: server.smbPort, share: 'box' })
  clients.push(client)
  return client
}

const at = (name: string): string => `/${ACCOUNT}/box/${name}`

async function codeOf(running: Promise<unknown>): Promise<string> {
  try {
    await running
    return 'ok'
  } catch (error) {
    return String((error as { readonly code?: unknown }).code)
  }
}

describe('leases', () => {
  test('are listed with time left, client and the entry with which they began', async () => {
    const held1 = (await blob('held')).getBlobLeaseClient(ID)
    await held1.acquireLease(60)
    server.advance(20_000)
    const [lease, ...others] = await held.leases()
    assert.deepEqual(others, [])
    assert(lease !== undefined)
    const { client, entry, since, address, ...rest } = lease
    assert.deepEqual(rest, {
      kind: 'blob',
      resource: at('held'),
      leaseId: ID,
      state: 'leased',
      secondsLeft: 40,
    })
    assert(entry !== undefined && client !== undefined && client !== '')
    assert.equal(address, '127.0.0.1')
    assert.equal(since, new Date(server.now() - 20_000).toISOString())
    await held1.breakLease(10)
    const [breaking] = await held.leases()
    assert.deepEqual([breaking?.state, breaking?.secondsLeft], ['breaking', 10])
    assert.equal(breaking?.entry, entry, 'whoever breaks it does not hold it')
    server.advance(10_000)
    assert.deepEqual(await held.leases(), [])
  })

  test('that never expire are ended at once, of each kind', async () => {
    const leased = [
      [box.getBlobLeaseClient(ID), `/${ACCOUNT}/box`, 'container'],
      [(await blob('a/b.txt')).getBlobLeaseClient(ID), at('a/b.txt'), 'blob'],
    ] as const
    for (const [client] of leased) await client.acquireLease(-1)
    const file = share.rootDirectoryClient.getFileClient('f.txt')
    await file.create(1)
    await file.getShareLeaseClient(ID).acquireLease()
    const listed = (await held.leases()).map(({ kind, resource }) => `${kind} ${resource}`)
    assert.deepEqual(listed, [
      `container /${ACCOUNT}/box`,
      `blob ${at('a/b.txt')}`,
      `file ${at('f.txt')}`,
    ])
    for (const [client, resource] of leased) {
      await held.breakLease(resource)
      assert.equal(await codeOf(client.renewLease()), 'LeaseIsBrokenAndCannotBeRenewed')
    }
    await held.breakLease(at('f.txt'))
    await file.setMetadata({ a: 'b' })
    assert.deepEqual(await held.leases(), [])
    assert.equal(await codeOf(held.breakLease(at('a/b.txt'))), 'NotHeld')
  })

  test('of a blob and a file with the same path are told apart by their kind', async () => {
    await (await blob('same')).getBlobLeaseClient(ID).acquireLease(-1)
    const file = share.rootDirectoryClient.getFileClient('same')
    await file.create(1)
    await file.getShareLeaseClient(ID).acquireLease()
    await assert.rejects(held.breakLease(at('same')), {
      code: 'Ambiguous',
      message: `a blob and a file are leased at ${at('same')}: say which kind is meant`,
    })
    await held.breakLease(at('same'), 'file')
    assert.deepEqual(
      (await held.leases()).map(({ kind }) => kind),
      ['blob'],
    )
    await held.breakLease(at('same'))
    assert.deepEqual(await held.leases(), [])
  })

  test('of a share and of its snapshot are two leases', async () => {
    const snapshot = (await share.createSnapshot()).snapshot ?? ''
    const old = shares.getShareClient('box').withSnapshot(snapshot)
    await share.getShareLeaseClient(ID).acquireLease(-1)
    await old.getShareLeaseClient(ID).acquireLease(-1)
    const resources = (await held.leases()).map(({ resource }) => resource)
    const name = `/${ACCOUNT}/box`
    assert.deepEqual(resources, [name, `${name}?sharesnapshot=${snapshot}`])
    await held.breakLease(`${name}?sharesnapshot=${snapshot}`)
    assert.deepEqual(
      (await held.leases()).map(({ resource }) => resource),
      [name],
    )
    await held.breakLease(name)
    assert.deepEqual(await held.leases(), [])
  })

  test('of a renamed file are found under its new name', async () => {
    const { rootDirectoryClient: root } = share
    await root.createSubdirectory('folder')
    const file = root.getFileClient('old.txt')
    await file.create(1)
    await file.getShareLeaseClient(ID).acquireLease()
    await file.rename('folder/new.txt', { sourceLeaseAccessConditions: { leaseId: ID } })
    const [lease] = await held.leases()
    assert.equal(lease?.resource, at('folder/new.txt'))
    await held.breakLease(at('folder/new.txt'))
    assert.deepEqual(await held.leases(), [])
  })

  test('of a blob with only uncommitted blocks stay when it is committed', async () => {
    const staged = box.getBlockBlobClient('staged-lease')
    const id = Buffer.from('1').toString('base64')
    await staged.stageBlock(id, 'text', 4)
    await staged.getBlobLeaseClient(ID).acquireLease(-1)
    assert.deepEqual(
      (await held.leases()).map(({ resource }) => resource),
      [at('staged-lease')],
    )
    await staged.commitBlockList([id], { conditions: { leaseId: ID } })
    await server.sweep()
    assert.deepEqual(
      (await held.leases()).map(({ resource }) => resource),
      [at('staged-lease')],
    )
    await held.breakLease(at('staged-lease'))
    await staged.delete()
  })
})

test('a message is made visible, and the receipt of its receiver is stale', async () => {
  await queue.sendMessage('task')
  assert.deepEqual(await held.invisibleMessages(), [])
  const { receivedMessageItems } = await queue.receiveMessages({ visibilityTimeout: 300 })
  const [got] = receivedMessageItems
  assert(got !== undefined)
  server.advance(100_000)
  const [message] = await held.invisibleMessages()
  assert.deepEqual(
    [
      message?.queue,
      message?.messageId,
      message?.popReceipt,
      message?.dequeueCount,
      message?.secondsLeft,
    ],
    ['work', got.messageId, got.popReceipt, 1, 200],
  )
  assert.equal(message?.address, '127.0.0.1')
  const place = { account: ACCOUNT, queue: 'work', messageId: got.messageId }
  await held.makeVisible(place)
  assert.deepEqual(await held.invisibleMessages(), [])
  assert.equal(await codeOf(queue.deleteMessage(got.messageId, got.popReceipt)), 'MessageNotFound')
  assert.equal((await queue.receiveMessages()).receivedMessageItems[0]?.dequeueCount, 2)
  await held.makeVisible(place)
  await assert.rejects(held.makeVisible(place), {
    code: 'NotHeld',
    field: 'messageId',
    message: `the message ${got.messageId} in the queue /${ACCOUNT}/work is visible already`,
  })
  assert.equal(await codeOf(held.makeVisible({ ...place, queue: 'none' })), 'NotHeld')
  assert.equal(await codeOf(held.makeVisible({ ...place, messageId: ID })), 'NotHeld')
})

test('opens, their locks and their caches are listed, and end when the open is closed', async () => {
  const file = share.rootDirectoryClient.getFileClient('open.txt')
  await file.create(100)
  const client = await smbClient()
  const open = await client.open('open.txt', {
    access: ACCESS.read | ACCESS.write,
    share: SHARE.R,
    lease: { key: randomBytes(16), state: LEASE.RWH },
  })
  await open.lock(10, 5, LOCK.exclusive)
  const opens = await held.opens()
  assert.equal(opens.length, 1)
  const [found] = opens
  assert(found !== undefined)
  assert.deepEqual(
    [found.resource, found.user, found.access, found.shares, found.caches],
    [at('open.txt'), ACCOUNT, ['read', 'write'], ['read'], ['read', 'write', 'handle']],
  )
  assert.match(found.address, /^127\.0\.0\.1:\d+$/)
  assert.equal(found.since, new Date(server.now()).toISOString())
  assert(found.entry !== undefined, 'its CREATE is in the journal')
  const [lock] = await held.locks()
  assert(lock?.entry !== undefined && lock.entry > found.entry, 'and so is the LOCK')
  assert.deepEqual(
    [lock?.openId, lock?.resource, lock?.offset, lock?.length, lock?.isExclusive],
    [found.id, at('open.txt'), '10', '5', true],
  )
  await held.closeOpen(found.id)
  assert.deepEqual([await held.opens(), await held.locks()], [[], []])
  await assert.rejects(open.read(0, 1), { status: 'FILE_CLOSED' })
  await assert.rejects(held.closeOpen(found.id), {
    code: 'NotHeld',
    message: `there is no open ${found.id}`,
  })
})

test('a copy in progress is listed until it ends', async () => {
  let finish = (): void => undefined
  const finished = new Promise<void>((resolve) => (finish = resolve))
  source.answer('/slow', (res) => {
    res.writeHead(200, { 'content-length': 10, 'content-type': 'text/plain' })
    res.write('01234')
    void finished.then(() => res.end('56789'))
  })
  const copied = box.getBlockBlobClient('copied')
  await copied.beginCopyFromURL(`${source.origin}/slow`)
  const [copy, ...others] = await held.copies()
  assert.deepEqual(others, [])
  assert.deepEqual(
    [copy?.kind, copy?.resource, copy?.source, copy?.totalBytes, copy?.address],
    ['blob', at('copied'), `${source.origin}/slow`, 10, '127.0.0.1'],
  )
  finish()
  await untilCopied(copied)
  assert.deepEqual(await held.copies(), [])
})

test('uncommitted blocks are listed until they are committed or expire', async () => {
  const staged = box.getBlockBlobClient('staged')
  for (const id of ['1', '2']) {
    await staged.stageBlock(Buffer.from(id).toString('base64'), 'text', 4)
  }
  const [blocks, ...others] = await held.uncommitted()
  assert.deepEqual(others, [])
  assert(blocks !== undefined)
  assert.deepEqual([blocks.resource, blocks.blockCount, blocks.bytes], [at('staged'), 2, 8])
  assert.equal(blocks.expiresAt, new Date(server.now() + 7 * 86_400_000).toISOString())
  assert.equal(blocks.address, '127.0.0.1')
  server.advance(7 * 86_400_000)
  assert.deepEqual(await held.uncommitted(), [])
})

test('lists have a limit', async () => {
  for (const name of ['x', 'y', 'z']) {
    await box.getBlockBlobClient(name).stageBlock(Buffer.from('1').toString('base64'), 'text', 4)
  }
  assert.equal((await held.uncommitted({ countMax: 2 })).length, 2)
  for (const countMax of [0, 10_001, 1.5, Number.NaN]) {
    await assert.rejects(held.leases({ countMax }), {
      code: 'InvalidField',
      field: 'countMax',
      message: 'countMax must be a whole number from 1 to 10000',
    })
  }
})

const WRONG: readonly [string, () => Promise<void>, string][] = [
  ['a path without a slash', () => held.breakLease('box/a'), 'InvalidField'],
  ['an account alone', () => held.breakLease(`/${ACCOUNT}`), 'InvalidField'],
  ['a container that does not exist', () => held.breakLease(`/${ACCOUNT}/none`), 'NotHeld'],
  ['a blob that does not exist', () => held.breakLease(at('none')), 'NotHeld'],
  ['a wrong snapshot', () => held.breakLease(`/${ACCOUNT}/box?sharesnapshot=x`), 'InvalidField'],
  [
    'a kind that the path cannot be',
    () => held.breakLease(`/${ACCOUNT}/box`, 'blob'),
    'InvalidField',
  ],
  ['an open that is no number', () => held.closeOpen('x'), 'InvalidField'],
  ['an open that does not exist', () => held.closeOpen('12345'), 'NotHeld'],
]

for (const [what, run, code] of WRONG) {
  test(`${what} is refused`, async () => {
    assert.equal(await codeOf(run()), code)
  })
}
