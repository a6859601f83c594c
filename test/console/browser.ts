// Debian's Chromium for the tests of the console. It loads nothing from elsewhere: any request to another address fails the
// test, and so does any error in the page's log.
import { existsSync } from 'node:fs'
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core'

const PROGRAM = '/usr/bin/chromium'

/** Why the browser tests are skipped, if they are. */
export const BROWSER_SKIP = existsSync(PROGRAM) ? false : 'chromium is not installed'

/** Playwright starts it with a new folder for its data. */
export function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: PROGRAM,
    args: [
      '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
      '--disable-background-networking', '--disable-component-update', '--disable-sync',
    ],
  }) // prettier-ignore
}

export type Look = {
  readonly width?: number
  readonly height?: number
  readonly dark?: boolean
}

export type Watched = {
  readonly page: Page
  /** Errors in its log, violations of its policy, and requests to other addresses. */
  readonly complaints: string[]
}

const REPORT_VIOLATIONS = `addEventListener('securitypolicyviolation', (event) =>
  console.error('policy: ' + event.violatedDirective + ' ' + event.blockedURI))`

export async function openPage(browser: Browser, look: Look = {}): Promise<Watched> {
  return openTab(await newContext(browser, look))
}

export function newContext(
  browser: Browser,
  { width = 1280, height = 800, dark = false }: Look = {},
): Promise<BrowserContext> {
  return browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? 'dark' : 'light',
    permissions: ['clipboard-read', 'clipboard-write'],
  })
}

/** Tabs of one context share the browser's cache. */
export async function openTab(context: BrowserContext): Promise<Watched> {
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  page.on('request', (request) => {
    const { hostname, protocol } = new URL(request.url())
    if (/^https?:$/.test(protocol) && hostname !== '127.0.0.1') complaints.push(request.url())
  })
  await page.addInitScript(REPORT_VIOLATIONS)
  return { page, complaints }
}
