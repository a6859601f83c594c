// The pages Held and Control: what clients hold counts down by the server's clock and is ended; requests are held and failed.
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { namedBlobs, namedQueues, outcomeOf } from '../control/named-clients.ts'
import { ACCOUNT } from '../harness.ts'
import { ACCESS, LEASE, SHARE } from '../smb/client-message.ts'
import { SmbClient } from '../smb/smb-client.ts'
import { startSourceServer, type SourceServer } from '../source-server.ts'
import { BROWSER_SKIP } from './browser.ts'
import { onPage, startRig, type Rig } from './fixture.ts'

const skip = BROWSER_SKIP
let rig: Rig
let source: SourceServer
const folder = join(tmpdir(), `lazuli-console-export-${process.pid}`)

before(async () => {
  if (skip !== false) return
  source = await startSourceServer()
  rig = await startRig({ allowCopyFrom: [source.origin] })
})
after(async () => {
  if (skip !== false) return
  await rig.close()
  await source.close()
  await rm(folder, { recursive: true, force: true })
})

const as = (client: string, container: string) =>
  namedBlobs(rig.server, client).getContainerClient(container)

test('leases count down by the server’s clock, and are broken', { skip }, async () => {
  const { server } = rig
  await server.clock.hold()
  const box = as('Ann', 'leased')
  await box.create()
  await box.getBlobLeaseClient('00000000-0000-4000-8000-000000000003').acquireLease(60)
  await onPage(rig, 'held', async (page) => {
    const row = page.getByRole('row').filter({ hasText: 'leased' })
    await row.getByText('1:00').waitFor()
    await row.getByRole('link', { name: 'Ann' }).waitFor()
    await server.clock.advance(15_000)
    await row.getByText('0:45').waitFor()
    await row.getByRole('button', { name: 'Break the lease' }).click()
    await page.getByText('No leases').waitFor()
    assert.equal((await box.getProperties()).leaseState, 'broken')
  })
  await server.clock.run()
})

test('invisible messages, copies and blocks are listed; a message is made visible', { skip }, async () => {
  const queue = namedQueues(rig.server, 'Bob').getQueueClient('work')
  await queue.create()
  await queue.sendMessage('job')
  await queue.receiveMessages({ visibilityTimeout: 300 })
  const box = as('Ann', 'pending')
  await box.create()
  await box.getBlockBlobClient('staged').stageBlock('MQ==', 'text', 4)
  source.answer('/slow', (res) => {
    res.writeHead(200, { 'content-length': 4_096 })
    res.write('x'.repeat(1_024))
  })
  await box.getBlockBlobClient('copied').beginCopyFromURL(`${source.origin}/slow`)
  await onPage(rig, 'held', async (page) => {
    await page.getByRole('tab', { name: 'Pending copies 1' }).click()
    await page.getByText('of 4 KiB').waitFor()
    await page.getByRole('tab', { name: 'Uncommitted blocks 1' }).click()
    await page.getByRole('link', { name: 'pending/staged' }).waitFor()
    await page.getByRole('tab', { name: 'Invisible messages 1' }).click()
    await page.getByRole('button', { name: /^Make visible: message / }).click()
    await page.getByText('No invisible messages').waitFor()
    assert.equal((await queue.receiveMessages()).receivedMessageItems.length, 1)
  })
}) // prettier-ignore

test('SMB opens with share modes, caches and ranges are listed, and closed', { skip }, async () => {
  const share = rig.shares.getShareClient('office')
  await share.create()
  await share.rootDirectoryClient.getFileClient('plan').create(100)
  const smb = await SmbClient.connect({ port: rig.server.smbPort, share: 'office' })
  try {
    const lease = { key: Buffer.alloc(16, 1), state: LEASE.RWH }
    const open = await smb.open('plan', { access: ACCESS.read, share: SHARE.R, lease })
    await open.lock(10, 5)
    await onPage(rig, 'held?show=locks', async (page) => {
      await page.getByRole('cell', { name: 'exclusive' }).waitFor()
      await page.getByRole('cell', { name: '10', exact: true }).waitFor()
      await page.getByRole('tab', { name: 'Open over SMB 1' }).click()
      await page.getByRole('cell', { name: 'read, write, handle' }).waitFor()
      await page.getByRole('button', { name: `Close /${ACCOUNT}/office/plan` }).click()
      await page.getByRole('button', { name: 'Close it' }).click()
      await page.getByText('Nothing is open over SMB').waitFor()
    })
    await assert.rejects(open.read(0, 1), { status: 'FILE_CLOSED' })
  } finally {
    smb.end()
  }
})

test('the clock is held, advanced and run', { skip }, () =>
  onPage(rig, 'control', async (page) => {
    const { clock } = rig.server
    const card = page.getByRole('region', { name: 'Clock' })
    await card.getByRole('button', { name: 'Hold' }).click()
    await card.getByText('held', { exact: true }).waitFor()
    const before = clock.state()
    assert(before.isHeld)
    await card.getByRole('button', { name: 'Advance the clock by 1 h' }).click()
    await card.getByText(/^1 h 0 min ahead of the clock/).waitFor()
    assert.equal(Date.parse(clock.state().now) - Date.parse(before.now), 3_600_000)
    await card.getByRole('button', { name: 'Run' }).click()
    await card.getByText('running').waitFor()
    assert(!clock.state().isHeld)
  }),
)

test('a barrier holds two clients, and the page decides who is first', { skip }, async () => {
  const doc = (client: string) => as(client, 'barrier').getBlockBlobClient('doc')
  await as('Ann', 'barrier').create()
  const { etag: ifMatch = '' } = await doc('Ann').upload('0', 1)
  const put = (client: string) => outcomeOf(doc(client).upload(client, 3, { conditions: { ifMatch } })) // prettier-ignore
  await onPage(rig, 'control', async (page) => {
    const card = page.getByRole('region', { name: 'Barriers' })
    await card.getByText('New barrier').click()
    await card.getByLabel('Operation').fill('Put Blob')
    await card.getByLabel('Path').fill('/barrier/*')
    await card.getByRole('button', { name: 'Set' }).click()
    await card.getByText('Nobody waits.').waitFor()
    const ann = put('Ann')
    await card.getByText('Ann').waitFor()
    const bob = put('Bob')
    await card.getByRole('button', { name: 'Let Bob go earlier' }).click()
    await card.getByRole('button', { name: 'Release all in this order' }).click()
    assert.deepEqual(await Promise.all([ann, bob]), ['ConditionNotMet', 'ok'])
    await card.getByText('2 requests let go').waitFor()
    await card.getByRole('button', { name: 'Remove the barrier' }).click()
    await card.getByText('No barriers').waitFor()
  })
})

test('a fault is set, strikes and is removed', { skip }, async () => {
  const box = as('Ann', 'faulty')
  await box.create()
  await onPage(rig, 'control', async (page) => {
    const card = page.getByRole('region', { name: 'Faults' })
    await card.getByText('New fault').click()
    await card.getByLabel('Client').fill('Ann')
    await card.getByLabel('Status').selectOption('429')
    await card.getByLabel('At most times').fill('1')
    await card.getByRole('button', { name: 'Set' }).click()
    await card.getByText('struck 0 of 0').waitFor()
    assert.equal(await outcomeOf(box.getProperties()), 'TooManyRequests')
    await card.getByText('struck 1 of 1').waitFor()
    await card.getByRole('button', { name: 'Remove the fault' }).click()
    await card.getByText('No faults').waitFor()
    assert.equal(await outcomeOf(box.getProperties()), 'ok')
  })
})

test('a state is saved and restored, emptied, exported and seeded', { skip }, async () => {
  const kept = as('Ann', 'kept')
  await kept.create()
  await onPage(rig, 'control', async (page) => {
    const saved = page.getByRole('region', { name: 'Snapshots of the store' })
    await saved.getByLabel('Name').fill('first')
    await saved.getByRole('button', { name: 'Save the state' }).click()
    await saved.getByText('first', { exact: true }).waitFor()
    const files = page.getByRole('region', { name: 'Seed and export' })
    await files.getByLabel('Folder').fill(folder)
    await files.getByRole('button', { name: 'Export' }).click()
    await page.getByText('The folder is written').waitFor()
    await page.getByRole('button', { name: 'Reset' }).click()
    await page.getByRole('button', { name: 'Empty it' }).click()
    await page.getByText(/containers, queues, tables and shares removed/).waitFor()
    assert.equal(await kept.exists(), false)
    await saved.getByRole('button', { name: 'Restore first' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click()
    await page.getByText('Restored').waitFor()
    assert.equal(await kept.exists(), true)
    await rig.server.reset()
    await files.getByRole('button', { name: 'Seed' }).click()
    await page.getByText('The store is filled').waitFor()
    assert.equal(await kept.exists(), true)
  })
})
