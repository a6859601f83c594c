// Takes pictures of the console. `node test/console/pictures.ts` writes those of docs/images/; with a folder, it writes every
// page there, light, dark and narrow, for somebody who changes the looks; with a second word, only pages that begin with it.
import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { ACCOUNT } from '../harness.ts'
import { launchBrowser, openPage, type Look } from './browser.ts'
import { SCENE_RESOURCE, startScene } from './scene.ts'

type Shot = {
  readonly name: string
  readonly path: string
  /** What is done on the page before the picture is taken. */
  readonly act?: (page: Page) => Promise<unknown>
  /** Of the picture in docs/images/; left out: there is none. */
  readonly doc?: { readonly height: number; readonly dark?: boolean }
}

const SHOP = `browse/blob/${ACCOUNT}/shop`
const tab = (name: string) => (page: Page) => page.getByRole('tab', { name }).click()

const SHOTS: readonly Shot[] = [
  { name: 'overview', path: '', doc: { height: 860 } },
  { name: 'browse-containers', path: `browse/blob/${ACCOUNT}` },
  { name: 'browse-blobs', path: SHOP },
  { name: 'browse', path: `${SHOP}?item=prices.csv`, doc: { height: 600 } },
  { name: 'browse-properties', path: `${SHOP}?item=prices.csv`, act: tab('Properties') },
  { name: 'browse-lease', path: `${SHOP}?item=prices.csv`, act: tab('Lease') },
  { name: 'browse-queue', path: `browse/queue/${ACCOUNT}/orders` },
  { name: 'browse-table', path: `browse/table/${ACCOUNT}/customers` },
  { name: 'browse-share', path: `browse/file/${ACCOUNT}/reports?item=notes.txt` },
  { name: 'journal', path: 'journal', doc: { height: 640, dark: true } },
  { name: 'request', path: 'journal?conflicts=true', act: (page) => page.locator('.table-rows a').first().click(), doc: { height: 860 } },
  { name: 'timeline', path: `timeline?resource=${encodeURIComponent(SCENE_RESOURCE)}`, doc: { height: 730 } },
  { name: 'timeline-choose', path: 'timeline' },
  { name: 'timeline-queue', path: `timeline?resource=/${ACCOUNT}/orders` },
  { name: 'timeline-lease', path: `timeline?resource=/${ACCOUNT}/shop/prices.csv` },
  { name: 'timeline-smb', path: `timeline?resource=/${ACCOUNT}/reports` },
  { name: 'held', path: 'held', doc: { height: 420 } },
  { name: 'held-messages', path: 'held?show=messages' },
  { name: 'held-opens', path: 'held?show=opens' },
  { name: 'held-locks', path: 'held?show=locks' },
  { name: 'held-copies', path: 'held?show=copies' },
  { name: 'races', path: 'races', doc: { height: 640 } },
  { name: 'race-test', path: 'races', act: (page) => page.getByRole('button', { name: 'Copy as a test' }).first().click() },
  { name: 'control', path: 'control', doc: { height: 880 } },
] // prettier-ignore

const LOOKS: Readonly<Record<string, Look>> = {
  light: {},
  dark: { dark: true },
  narrow: { width: 390, height: 844 },
}

/** For the plots, which begin empty, and for what appears bit by bit. */
const SETTLE_MS = 500
const PLOT_MS = 24_000

async function visit(page: Page, adminUrl: string, { path, act }: Shot): Promise<void> {
  await page.goto(`${adminUrl}/#/${path}`)
  await page.getByText('Live', { exact: true }).waitFor()
  await page.locator('.loading').first().waitFor({ state: 'detached' })
  await act?.(page)
  await page.waitForTimeout(SETTLE_MS)
}

async function takeForDocs(folder: string): Promise<void> {
  for (const shot of SHOTS.filter(({ doc }) => doc !== undefined)) {
    const scene = await startScene()
    const { page } = await openPage(browser, { width: 1280, ...shot.doc })
    await visit(page, scene.server.adminUrl ?? '', shot)
    if (shot.path === '') {
      const traffic = scene.makeTraffic(PLOT_MS)
      await page.waitForTimeout(PLOT_MS)
      await traffic
    }
    const path = join(folder, `console-${shot.name}.png`)
    await page.screenshot({ path })
    execFileSync('pngquant', ['--force', '--ext', '.png', '--speed', '1', '96', path])
    await page.context().close()
    await scene.close()
  }
}

async function takeAll(folder: string, prefix: string): Promise<void> {
  for (const [look, terms] of Object.entries(LOOKS)) {
    const scene = await startScene()
    const { page, complaints } = await openPage(browser, terms)
    for (const shot of SHOTS.filter(({ name }) => name.startsWith(prefix))) {
      await visit(page, scene.server.adminUrl ?? '', shot)
      await page.screenshot({ path: join(folder, `${shot.name}-${look}.png`), fullPage: true })
    }
    for (const each of complaints) console.log(look, each)
    await page.context().close()
    await scene.close()
  }
}

const [given, prefix = ''] = process.argv.slice(2)
const folder = given ?? fileURLToPath(new URL('../../docs/images/', import.meta.url))
mkdirSync(folder, { recursive: true })
const browser = await launchBrowser()
await (given === undefined ? takeForDocs(folder) : takeAll(folder, prefix))
await browser.close()
