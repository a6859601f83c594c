// The pages that show what happens, while the SDKs make it happen: overview, journal, timeline and races.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { namedBlobs, outcomeOf } from '../control/named-clients.ts'
import { ACCOUNT } from '../harness.ts'
import { BROWSER_SKIP } from './browser.ts'
import { onPage, startRig, type Rig } from './fixture.ts'

const skip = BROWSER_SKIP
let rig: Rig

before(async () => {
  if (skip === false) rig = await startRig()
})
after(async () => {
  if (skip === false) await rig.close()
})

const as = (client: string, container: string) =>
  namedBlobs(rig.server, client).getContainerClient(container)

async function clipboard(page: Page): Promise<string> {
  await page.getByText('Copied').first().waitFor()
  return String(await page.evaluate('navigator.clipboard.readText()'))
}

/** Both read version 1; the second one overwrites what the first has written. */
async function loseUpdate(container: string): Promise<void> {
  const [a, b] = ['Ann', 'Bob'].map((name) => as(name, container).getBlockBlobClient('doc'))
  assert(a !== undefined && b !== undefined)
  await a.upload('1', 1)
  for (const each of [a, b]) await each.downloadToBuffer()
  await b.upload('2', 1)
  await a.upload('3', 1)
}

test('overview: how to connect, rates and conflicts as they come', { skip }, () =>
  onPage(rig, '', async (page) => {
    await page.getByRole('button', { name: 'Copy the connection string' }).click()
    assert.equal(await clipboard(page), rig.server.connectionString)
    await page.getByText('in memory, lost when the server stops').waitFor()
    const blob = as('Ann', 'overview')
    await blob.create()
    await page.getByText('No conflicts').waitFor()
    const ifMatch = '"0x8D"'
    const upload = blob.getBlockBlobClient('b').upload('x', 1, { conditions: { ifMatch } })
    assert.equal(await outcomeOf(upload), 'ConditionNotMet')
    await page.getByRole('link', { name: 'Ann: Put Blob' }).waitFor()
    await page.getByRole('img', { name: /^Requests over the last minutes; now / }).waitFor()
    // As long as they go on, the rate is shown.
    const shown = page.getByText(/^[1-9]\d*(\.\d)? a second$/).first().waitFor()
    const seen = { done: false }
    void shown.then(() => (seen.done = true))
    while (!seen.done) await blob.getProperties()
    await shown
  }),
) // prettier-ignore

test('journal: requests as they happen, filters, and a pause', { skip }, async () => {
  await as('Ann', 'journal').create()
  await onPage(rig, 'journal', async (page) => {
    const cell = (text: string) => page.getByRole('cell', { name: text, exact: true })
    await cell('Create Container').first().waitFor()
    await as('Ann', 'journal').getAppendBlobClient('log').create()
    await as('Bob', 'journal').getPageBlobClient('disk').create(512)
    await cell('journal/log').waitFor()
    await cell('journal/disk').waitFor()
    await page.getByLabel('Client', { exact: true }).selectOption('Bob')
    await cell('journal/log').waitFor({ state: 'detached' })
    await page.getByLabel('Client', { exact: true }).selectOption('')
    await page.getByPlaceholder('Resource, status, ETag').fill('journal/lo')
    await cell('journal/log').waitFor()
    await cell('journal/disk').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Pause' }).click()
    await as('Ann', 'journal').getAppendBlobClient('log').delete()
    await page.getByRole('button', { name: 'Go on (1 new)' }).click()
    await cell('Delete Blob').waitFor()
  })
})

test('a refused request names its winner, and shows no secret', { skip }, async () => {
  const [ann, bob] = ['Ann', 'Bob'].map((name) => as(name, 'refused'))
  assert(ann !== undefined && bob !== undefined)
  await ann.create()
  const leaseId = '00000000-0000-4000-8000-000000000001'
  await ann.getBlobLeaseClient(leaseId).acquireLease(60)
  assert.equal(await outcomeOf(bob.delete()), 'LeaseIdMissing')
  await onPage(rig, 'journal?conflicts=true&client=Bob', async (page) => {
    await page.getByRole('link', { name: 'lost to Ann' }).waitFor()
    await page.locator('.table-rows a').first().click()
    const outcome = page.getByRole('region', { name: 'The outcome' })
    await outcome.getByText('LeaseIdMissing').waitFor()
    const sent = page.getByRole('region', { name: 'As it was sent' })
    await sent.getByText(`authorization: SharedKey ${ACCOUNT}:(removed)`).waitFor()
    await sent.getByText('x-lazuli-client: Bob').waitFor()
    await outcome.getByRole('link', { name: /^request \d+$/ }).click()
    await page.getByRole('heading', { name: 'Lease Container' }).waitFor()
    await page.getByText('Lease after').waitFor()
  })
})

test('two clients race while the timeline is open: it tells who lost what', { skip }, async () => {
  await as('Ann', 'live').create()
  await onPage(rig, `timeline?resource=/${ACCOUNT}/live/doc`, async (page) => {
    await page.getByText('No requests to this resource').waitFor()
    await loseUpdate('live')
    const race = page.getByRole('article', { name: `lost update on /${ACCOUNT}/live/doc` })
    await race.getByText('What Bob wrote is gone, and nobody was told').waitFor()
    const picture = page.getByRole('region', { name: 'The timeline' })
    await picture.getByText('v2 lost').waitFor()
    await picture.getByText('still has v1').waitFor()
    for (const step of ['1', '2', '3']) await picture.locator('.step', { hasText: step }).waitFor()
    const badge = page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Races' })
    await badge.locator('.badge').waitFor()
    await badge.click()
    const card = page.getByRole('article', { name: `lost update on /${ACCOUNT}/live/doc` })
    await card.getByRole('region', { name: 'The timeline' }).getByText('v2 lost').waitFor()
    await card.getByRole('button', { name: 'Copy as a test' }).click()
    await page.getByRole('button', { name: 'Copy the test' }).click()
    assert.match(await clipboard(page), /startServer[\s\S]*lost update/)
  })
}) // prettier-ignore

test('timeline: bands of leases, marks of conflicts, hover, zoom and keys', { skip }, async () => {
  const [ann, bob] = ['Ann', 'Bob'].map((name) => as(name, 'bands'))
  assert(ann !== undefined && bob !== undefined)
  await ann.create()
  const blob = ann.getBlockBlobClient('held')
  await blob.upload('1', 1)
  await blob.getBlobLeaseClient('00000000-0000-4000-8000-000000000002').acquireLease(-1)
  assert.equal(await outcomeOf(bob.getBlockBlobClient('held').upload('2', 1)), 'LeaseIdMissing')
  await onPage(rig, `timeline?resource=/${ACCOUNT}/bands/held`, async (page) => {
    const picture = page.getByRole('region', { name: 'The timeline' })
    await picture.locator('.band').hover()
    await page.getByText(/^Ann has a lease on held from .* until its client ends it\.$/).waitFor()
    const refused = picture.getByRole('link', { name: 'Bob: Put Blob, LeaseIdMissing.' })
    assert.equal(await refused.locator('.cross').count(), 1)
    await refused.focus()
    await page.locator('.pointed').getByText('It lost to Ann: Lease Blob.').waitFor()
    const width = async () => Number(await picture.locator('svg').getAttribute('width'))
    const before = await width()
    await page.getByRole('button', { name: 'Zoom in' }).click()
    assert((await width()) > before)
    await page.getByLabel('Scale').selectOption('time')
    await picture.locator('.band').waitFor()
    await refused.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('region', { name: 'The outcome' }).getByText('LeaseIdMissing').waitFor()
  })
}) // prettier-ignore
