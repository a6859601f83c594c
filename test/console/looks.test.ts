// Every page with something on it, light and dark, wide and narrow: axe-core finds nothing, and nothing overflows.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { ACCOUNT } from '../harness.ts'
import { BROWSER_SKIP } from './browser.ts'
import { onPage, rigOf, violations, type Rig } from './fixture.ts'
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

const PAGES: readonly [path: string, act?: (page: Page) => Promise<unknown>][] = [
  [''],
  [`browse/blob/${ACCOUNT}`],
  [SHOP],
  [`${SHOP}?item=prices.csv`],
  [`browse/queue/${ACCOUNT}/orders`],
  [`browse/table/${ACCOUNT}/customers`],
  [`browse/table/${ACCOUNT}/customers`, (page) => page.getByRole('button', { name: 'Edit north 100' }).click()],
  [`browse/file/${ACCOUNT}/reports?item=notes.txt`],
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
  ['races', (page) => page.getByRole('button', { name: 'Copy as a test' }).click()],
  ['control'],
  ['control', (page) => page.getByText(/^New (barrier|fault)$/).first().click()],
] // prettier-ignore

const WIDTHS = [1280, 390] as const
/** Those that depend on the theme. */
const COLOR_RULES = ['color-contrast', 'link-in-text-block']

test('axe-core finds nothing on any page, and no page is wider than its window', { skip }, () =>
  onPage(rig, '', async (page) => {
    for (const [path, act] of PAGES) {
      await page.goto(`${rig.server.adminUrl}/#/${path}`)
      await page.getByText('Live', { exact: true }).waitFor()
      await page.locator('.loading').first().waitFor({ state: 'detached' })
      await act?.(page)
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 800 })
        const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
        assert(Number(overflow) <= 0, `${path} at ${width} px is ${overflow} px too wide`)
        assert.deepEqual(await violations(page), [], `${path} at ${width} px`)
        await page.emulateMedia({ colorScheme: 'dark' })
        assert.deepEqual(await violations(page, COLOR_RULES), [], `${path} at ${width} px, dark`)
        await page.emulateMedia({ colorScheme: 'light' })
      }
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
