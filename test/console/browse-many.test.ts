// A container of 100,000 blobs in the page Browse: a few rows are in the document, and scrolling loads the others.
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { BROWSER_SKIP } from './browser.ts'
import { inBrowse, placeOf, startRig, type Rig } from './fixture.ts'
import { manyName, storeWithMany } from './many-blobs.ts'

const skip = BROWSER_SKIP
const COUNT = 100_000
/** Far fewer than a page of the list. */
const ROWS_MAX = 150

let rig: Rig
let location: string

before(async () => {
  if (skip !== false) return
  location = await storeWithMany('many', COUNT)
  rig = await startRig({ location })
})
after(async () => {
  if (skip !== false) return
  await rig.close()
  await rm(location, { recursive: true, force: true })
})

async function scrollTo(page: Page, where: 'start' | 'end'): Promise<void> {
  const top = where === 'start' ? '0' : 'body.scrollHeight'
  await page.evaluate(
    `{ const body = document.querySelector('.table-body'); body.scrollTop = ${top} }`,
  )
}

test('scrolls from the first of 100,000 blobs to the last', { skip }, () =>
  inBrowse(rig, placeOf('blob', 'many'), async (page) => {
    await page.getByRole('link', { name: manyName(0) }).waitFor()
    const table = page.getByRole('table', { name: 'Blobs of many' })
    const last = page.getByRole('link', { name: manyName(COUNT - 1) })
    for (;;) {
      const shown = await table.getAttribute('aria-rowcount')
      await scrollTo(page, 'end')
      if (shown === String(COUNT + 1)) break
      await page.locator(`[role=table]:not([aria-rowcount="${shown}"])`).waitFor()
    }
    await last.waitFor()
    assert((await page.getByRole('row').count()) < ROWS_MAX)
    await page.getByText('100,000 names').waitFor()
    await scrollTo(page, 'start')
    await page.getByRole('link', { name: manyName(0) }).waitFor()
  }),
)

test('a prefix finds some of 100,000 at once', { skip }, () =>
  inBrowse(rig, placeOf('blob', 'many'), async (page) => {
    await page.getByPlaceholder('Names that begin with').fill('blob-009998')
    await page.getByRole('link', { name: manyName(99_989) }).waitFor()
    await page.getByText('10 names').waitFor()
  }),
)

test('a change is announced where loading again would lose the place', { skip }, () =>
  inBrowse(rig, placeOf('blob', 'many'), async (page) => {
    await page.getByRole('link', { name: manyName(0) }).waitFor()
    await scrollTo(page, 'end')
    await page.locator('[role=table]:not([aria-rowcount="501"])').waitFor()
    await rig.blobs.getContainerClient('many').getBlockBlobClient('another').upload('x', 1)
    await page.getByText('Something has changed.').waitFor()
    await page.getByRole('status').getByRole('button', { name: 'Load again' }).click()
    await scrollTo(page, 'start')
    await page.getByRole('link', { name: 'another' }).waitFor()
  }),
)
