// Every page with something on it, light and dark, wide and narrow: axe-core finds nothing, and nothing overflows.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { ACCOUNT } from '../harness.ts'
import { BROWSER_SKIP } from './browser.ts'
import { checkLooks, onPage, rigOf, type Rig } from './fixture.ts'
import { SCENE_RESOURCE, startScene, type Scene } from './scene.ts'

const skip = BROWSER_SKIP
let scene: Scene
let rig: Rig

before(async () => {
  if (skip !== false) return
  scene = await startScene()
  rig = await rigOf(scene.server)
})
after(async () => {
  if (skip !== false) return
  await rig.browser.close()
  await scene.close()
})

const SHOP = `browse/blob/${ACCOUNT}/shop`

const button = (name: string) => (page: Page) =>
  page.getByRole('button', { name, exact: true }).click()
const tab = (name: string) => (page: Page) => page.getByRole('tab', { name }).click()

const PAGES: readonly (readonly [path: string, act?: (page: Page) => Promise<unknown>])[] = [
  [''],
  [`browse/blob/${ACCOUNT}`],
  [SHOP],
  [`${SHOP}?item=prices.csv`],
  ...['Properties', 'Metadata', 'Tags', 'Earlier', 'Lease'].map((name) => [`${SHOP}?item=prices.csv`, tab(name)] as const),
  [`${SHOP}?item=prices.csv`, button('SAS')],
  [`browse/queue/${ACCOUNT}/orders`],
  [`browse/table/${ACCOUNT}/customers`],
  [`browse/table/${ACCOUNT}/customers`, button('Edit north 100')],
  [`browse/queue/${ACCOUNT}/orders`, button('Put a message')],
  [`browse/file/${ACCOUNT}/reports?item=notes.txt`],
  ...['Properties', 'Opens and locks'].map((name) => [`browse/file/${ACCOUNT}/reports?item=notes.txt`, tab(name)] as const),
  ['journal'],
  ['journal?conflicts=true', (page) => page.locator('.table-rows a').first().click()],
  ['timeline'],
  [`timeline?resource=${encodeURIComponent(SCENE_RESOURCE)}`],
  [`timeline?resource=/${ACCOUNT}/reports`],
  ['held'],
  ['held?show=messages'],
  ['held?show=opens'],
  ['held?show=copies'],
  ['races'],
  ['races', button('Copy as a test')],
  ['control'],
  ['control', (page) => page.getByText(/^New (barrier|fault)$/).first().click()],
] // prettier-ignore

test('axe-core finds nothing on any page, and no page is wider than its window', { skip }, () =>
  onPage(rig, '', async (page) => {
    for (const [path, act] of PAGES) {
      await page.goto(`${rig.server.adminUrl}/#/${path}`)
      await page.getByText('Live', { exact: true }).waitFor()
      await page.locator('.loading').first().waitFor({ state: 'detached' })
      await act?.(page)
      await page.locator('.loading').first().waitFor({ state: 'detached' })
      await checkLooks(page, path)
      // A dialog would stay.
      if (act !== undefined) await page.keyboard.press('Escape')
    }
  }),
)

test('the keyboard reaches everything: skip link, pages, tabs, dialogs', { skip }, () =>
  onPage(rig, '', async (page) => {
    const press = (key: string): Promise<void> => page.keyboard.press(key)
    const focused = (): Promise<unknown> =>
      page.evaluate('document.activeElement.id || document.activeElement.textContent.trim()')
    await page.getByText('Live', { exact: true }).waitFor()
    await press('Tab')
    assert.equal(await focused(), 'Skip to the page')
    await press('Enter')
    assert.equal(await focused(), 'main')
    await page.getByRole('link', { name: 'Held' }).focus()
    await press('Enter')
    await page.getByRole('heading', { name: 'Held' }).waitFor()
    assert.equal(await focused(), 'main')
    await page.getByRole('tab', { name: 'Leases' }).focus()
    await press('ArrowRight')
    await page.getByRole('table', { name: 'Invisible messages' }).waitFor()
    await page.getByRole('tab', { name: 'Open over SMB' }).click()
    const close = page.getByRole('button', { name: `Close /${ACCOUNT}/reports/minutes.txt` })
    await close.focus()
    await press('Enter')
    const dialog = page.getByRole('dialog')
    await dialog.waitFor()
    assert.equal(await page.evaluate(`document.querySelector('dialog').contains(document.activeElement)`), true)
    await press('Escape')
    await dialog.waitFor({ state: 'detached' })
  }),
) // prettier-ignore
