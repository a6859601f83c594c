// The console in a real browser, over a server with the clients of all services.
import assert from 'node:assert/strict'
import axe from 'axe-core'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { BlobServiceClient } from '@azure/storage-blob'
import { QueueServiceClient } from '@azure/storage-queue'
import { ShareServiceClient } from '@azure/storage-file-share'
import { TableClient } from '@azure/data-tables'
import { startServer, type LazuliServer, type ServerOptions } from '../../src/server.ts'
import { ACCOUNT } from '../harness.ts'
import { launchBrowser, newContext, openTab, type Look, type Watched } from './browser.ts'

export type Rig = {
  readonly server: LazuliServer
  readonly browser: Browser
  readonly blobs: BlobServiceClient
  readonly queues: QueueServiceClient
  readonly shares: ShareServiceClient
  table(name: string): TableClient
  /** Opens a tab that looks like this. */
  open(look: Look): Promise<Watched>
  close(): Promise<void>
}

export async function startRig(options: ServerOptions = {}): Promise<Rig> {
  return rigOf(await startServer({ adminPort: 0, ...options }))
}

export async function rigOf(server: LazuliServer): Promise<Rig> {
  const browser = await launchBrowser()
  const { connectionString } = server
  const contexts = new Map<string, Promise<BrowserContext>>()
  return {
    server,
    browser,
    blobs: BlobServiceClient.fromConnectionString(connectionString),
    queues: QueueServiceClient.fromConnectionString(connectionString),
    shares: ShareServiceClient.fromConnectionString(connectionString),
    table: (name) =>
      TableClient.fromConnectionString(connectionString, name, { allowInsecureConnection: true }),
    open: async (look) => {
      const key = JSON.stringify(look)
      const context = contexts.get(key) ?? newContext(browser, look)
      contexts.set(key, context)
      return openTab(await context)
    },
    close: async () => {
      await browser.close()
      await server.close()
    },
  }
}

/** What a browser logs for each answer of 400 and more; tests that provoke one expect it. */
const REFUSED = /Failed to load resource/

/** Opens Browse at `path`, such as `blob/account/container`, and checks at the end that nothing was complained of. */
export function inBrowse(
  rig: Rig,
  path: string,
  visit: (page: Page) => Promise<void>,
  look: Look = {},
): Promise<void> {
  return onPage(rig, `browse/${path}`, visit, look)
}

/** Opens a page, such as `journal?client=A`, and checks at the end that nothing was complained of. */
export async function onPage(
  rig: Rig,
  path: string,
  visit: (page: Page) => Promise<void>,
  look: Look = {},
): Promise<void> {
  const { page, complaints } = await rig.open(look)
  try {
    await page.goto(`${rig.server.adminUrl}/#/${path}`)
    await visit(page)
    assert.deepEqual(
      complaints.filter((each) => !REFUSED.test(each)),
      [],
    )
  } finally {
    await page.close()
  }
}

export function placeOf(service: string, name: string): string {
  return `${service}/${ACCOUNT}/${name}`
}

const LOOKS = [
  { width: 1280, colorScheme: 'light' },
  { width: 390, colorScheme: 'light' },
  { width: 390, colorScheme: 'dark', rules: ['color-contrast', 'link-in-text-block'] },
  { width: 1280, colorScheme: 'dark', rules: ['color-contrast', 'link-in-text-block'] },
] as const

/** The page in all looks: axe-core finds nothing, and nothing is wider than the window. Colors are all that a theme changes. */
export async function checkLooks(page: Page, what: string): Promise<void> {
  for (const { width, colorScheme, ...options } of LOOKS) {
    await page.setViewportSize({ width, height: 800 })
    await page.emulateMedia({ colorScheme })
    const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
    assert(Number(overflow) <= 0, `${what} at ${width} px is ${overflow} px too wide`)
    const runOnly = 'rules' in options ? options.rules : undefined
    assert.deepEqual(await violations(page, runOnly), [], `${what}, ${colorScheme}, ${width} px`)
  }
  await page.setViewportSize({ width: 1280, height: 800 })
}

/** Of all rules of axe-core, or of these. */
export async function violations(
  page: Page,
  runOnly?: readonly string[],
): Promise<readonly string[]> {
  if (!(await page.evaluate(`'axe' in globalThis`))) await page.evaluate(axe.source)
  const options = { resultTypes: ['violations'], ...(runOnly !== undefined && { runOnly }) }
  const found = await page.evaluate(
    `axe.run(document, ${JSON.stringify(options)}).then(({ violations }) =>
      violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 160)).join(' | ')))`,
  )
  return found as readonly string[]
}

/** Text that would run, were it shown as anything but text. */
export const HOSTILE = `<img src=x onerror="globalThis.ran=1">`

export async function nothingRan(page: Page): Promise<void> {
  assert.equal(await page.evaluate('globalThis.ran'), undefined)
  assert.equal(await page.locator('img[src="x"]').count(), 0)
}
