// Queues and shares in the page Browse.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { ACCOUNT, rawRequest } from '../harness.ts'
import { BROWSER_SKIP } from './browser.ts'
import { HOSTILE, inBrowse, nothingRan, placeOf, startRig, type Rig } from './fixture.ts'

const skip = BROWSER_SKIP
let rig: Rig

before(async () => {
  if (skip === false) rig = await startRig()
})
after(async () => {
  if (skip === false) await rig.close()
})

async function queueOf(name: string) {
  const client = rig.queues.getQueueClient(name)
  await client.create()
  return client
}

const visible = (page: Page) => page.getByRole('region', { name: 'Visible messages' })
const invisible = (page: Page) => page.getByRole('region', { name: 'Invisible messages' })

test('a queue is created; messages are put, seen, and cleared', { skip }, () =>
  inBrowse(rig, `queue/${ACCOUNT}`, async (page) => {
    await page.getByRole('button', { name: 'Create queue' }).first().click()
    await page.getByLabel('Name', { exact: true }).fill('made')
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    await page.getByText('No message is visible').waitFor()
    await page.getByRole('button', { name: 'Put a message' }).click()
    await page.getByLabel('Text').fill(`<a&b> "é" ${HOSTILE}`)
    await page.getByRole('button', { name: 'Put', exact: true }).click()
    await visible(page).getByText(HOSTILE).waitFor()
    const client = rig.queues.getQueueClient('made')
    const { peekedMessageItems } = await client.peekMessages()
    assert.equal(peekedMessageItems[0]?.messageText, `<a&b> "é" ${HOSTILE}`)
    await client.sendMessage(Buffer.from('{"order":1}').toString('base64'))
    await visible(page).getByRole('button', { name: 'eyJvcmRlciI6MX0=' }).click()
    await page.getByRole('dialog').getByText('"order": 1').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
    await nothingRan(page)
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Clear' }).click()
    await page.getByText('No message is visible').waitFor()
    await page.getByRole('link', { name: 'Queues' }).first().click()
    await page.getByRole('button', { name: 'Delete the queue made' }).click()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByText('There is no queue yet').waitFor()
  }),
)

test('a message that somebody has got is on the shelf, and comes back', { skip }, async () => {
  const client = await queueOf('shelf')
  for (const text of ['one', 'two']) await client.sendMessage(text)
  await inBrowse(rig, placeOf('queue', 'shelf'), async (page) => {
    await visible(page).getByText('one').waitFor()
    const { receivedMessageItems } = await client.receiveMessages({ visibilityTimeout: 300 })
    const [got] = receivedMessageItems
    assert(got !== undefined)
    await invisible(page).getByText(got.messageId).waitFor()
    await invisible(page)
      .getByText(/127\.0\.0\.1 #\d+, 1 ×/)
      .waitFor()
    await invisible(page)
      .getByText(/^[45]:\d\d$/)
      .waitFor()
    await visible(page).getByText('one').waitFor({ state: 'detached' })
    await invisible(page).getByRole('button', { name: 'Make it visible' }).click()
    await visible(page).getByText('one').waitFor()
    await assert.rejects(client.deleteMessage(got.messageId, got.popReceipt), { statusCode: 404 })

    await page.getByRole('button', { name: 'Get messages' }).click()
    await page.getByLabel('At most').fill('2')
    await page.getByRole('dialog').getByRole('button', { name: 'Get', exact: true }).click()
    await page.getByText('No message is visible').waitFor()
    const buttons = invisible(page).getByRole('button', { name: 'Delete the message' })
    await buttons.nth(1).waitFor()
    await buttons.first().click()
    await buttons.nth(1).waitFor({ state: 'detached' })
    await buttons.first().click()
    await page.getByText('Nobody has got a message').waitFor()
    assert.equal((await client.getProperties()).approximateMessagesCount, 0)
  })
})

test('a directory, an upload in ranges, a rename, a delete', { skip }, async () => {
  const share = rig.shares.getShareClient('files')
  await share.create()
  await inBrowse(rig, placeOf('file', 'files'), async (page) => {
    await page.getByText('The directory is empty').waitFor()
    await page.getByRole('button', { name: 'Directory' }).click()
    await page.getByLabel('Name', { exact: true }).fill('papers')
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    await page.getByRole('link', { name: 'papers' }).first().click()
    const buffer = Buffer.alloc(5 * 1024 * 1024, 'lazuli ')
    const file = { name: 'long.txt', mimeType: 'text/plain', buffer }
    await page.getByLabel('Files to upload').setInputFiles(file)
    await page.getByText('Uploaded, 5 MiB').waitFor()
    const client = share.getDirectoryClient('papers').getFileClient('long.txt')
    assert((await client.downloadToBuffer()).equals(buffer))
    await page.getByLabel('Files to upload').setInputFiles({ ...file, buffer: Buffer.from('x') })
    await page.getByText('There is one with this name already.').waitFor()
    await page.getByRole('link', { name: 'long.txt' }).click()
    await page.locator('pre').filter({ hasText: 'lazuli lazuli' }).waitFor()
    await page.getByRole('button', { name: 'Rename' }).click()
    await page.getByLabel('Path within the share').fill('papers/short & sweet.txt')
    await page.getByRole('dialog').getByRole('button', { name: 'Rename' }).click()
    await page.getByRole('heading', { name: 'short & sweet.txt' }).waitFor()
    assert.equal(await client.exists(), false)
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByText('The directory is empty').waitFor()
  })
})

test('a snapshot of a share shows what was there; names are text', { skip }, async () => {
  const share = rig.shares.getShareClient('states')
  await share.create()
  // A share has no < and > in its names.
  const name = `'&quot;; ran=1;.txt`
  const file = share.rootDirectoryClient.getFileClient(name)
  await file.create(3, { metadata: { evil: HOSTILE } })
  await file.uploadRange('old', 0, 3)
  await inBrowse(rig, placeOf('file', 'states'), async (page) => {
    await page.getByRole('button', { name: 'Snapshot' }).click()
    await page.getByText('A snapshot was made').waitFor()
    await file.uploadRange('new', 0, 3)
    await page.getByRole('link', { name }).click()
    await page.locator('pre').filter({ hasText: 'new' }).waitFor()
    await page.getByRole('tab', { name: 'Metadata' }).click()
    assert.equal(await page.getByLabel('Metadata 1: value').inputValue(), HOSTILE)
    await page.getByRole('button', { name: 'Close the details' }).click()
    await page.getByLabel('State', { exact: true }).selectOption({ index: 1 })
    await page.getByRole('link', { name }).click()
    await page.locator('pre').filter({ hasText: 'old' }).waitFor()
    assert.equal(await page.getByRole('button', { name: 'Delete', exact: true }).count(), 0)
    await nothingRan(page)
  })
})

test('a share is created and deleted', { skip }, () =>
  inBrowse(rig, `file/${ACCOUNT}`, async (page) => {
    await page.getByRole('button', { name: 'Create share' }).first().click()
    await page.getByLabel('Name', { exact: true }).fill('brief')
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    await page.getByText('The directory is empty').waitFor()
    await page.getByRole('link', { name: 'Shares' }).first().click()
    await page.getByRole('button', { name: 'Delete the share brief' }).click()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByRole('link', { name: 'brief' }).waitFor({ state: 'detached' })
  }),
)

const KINDS = [
  ['blob', 'container', 'ContainerDeleteRetentionPolicy'],
  ['file', 'share', 'ShareDeleteRetentionPolicy'],
] as const

for (const [service, kind, policy] of KINDS) {
  test(`with soft delete, the delete of a ${kind} is undone`, { skip }, async () => {
    const { server } = rig
    const keep = '<Enabled>true</Enabled><Days>7</Days>'
    const body = `<StorageServiceProperties><${policy}>${keep}</${policy}></StorageServiceProperties>`
    const blobPort = service === 'blob' ? server.blobPort : server.filePort
    const path = '/?restype=service&comp=properties'
    assert.equal((await rawRequest({ blobPort }, { method: 'PUT', path, body })).status, 202)
    const client =
      service === 'blob' ? rig.blobs.getContainerClient('soft') : rig.shares.getShareClient('soft')
    await client.create({ metadata: { kept: 'yes' } })
    await inBrowse(rig, `${service}/${ACCOUNT}`, async (page) => {
      await page.getByRole('button', { name: `Delete the ${kind} soft` }).click()
      await page.getByRole('button', { name: 'Delete', exact: true }).click()
      await page.getByText(`Deleted the ${kind} soft`).waitFor()
      assert.equal(await client.exists(), false)
      await page.getByRole('button', { name: 'Undo' }).click()
      await page.getByRole('link', { name: 'soft' }).waitFor()
      assert.deepEqual((await client.getProperties()).metadata, { kept: 'yes' })
    })
  })
}
