// The documentation at the admin port: every page and every link on it, and what a browser makes of a page.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startServer, type LazuliServer } from '../../src/server.ts'
import { checkLooks } from './fixture.ts'
import { BROWSER_SKIP, launchBrowser, openPage } from './browser.ts'

let server: LazuliServer
before(async () => {
  server = await startServer({ adminPort: 0 })
})
after(() => server.close())

const ask = (path: string, init: RequestInit = {}) => fetch(`${server.adminUrl}${path}`, init)

type Found = { readonly type: string; readonly text: string }

/** All that can be reached from the first page by links, images and style sheets. */
async function crawl(): Promise<ReadonlyMap<string, Found>> {
  const found = new Map<string, Found>()
  const open = ['/docs/']
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (found.has(path)) continue
    const response = await ask(path)
    assert.equal(response.status, 200, path)
    const type = response.headers.get('content-type') ?? ''
    const text = await response.text()
    found.set(path, { type, text })
    if (path.startsWith('/docs/') && type.startsWith('text/html')) {
      open.push(...targetsOf(text).map((target) => target.split('#', 1)[0] ?? ''))
    }
  }
  return found
}

/** Within the server. */
function targetsOf(html: string): readonly string[] {
  const targets = [...html.matchAll(/ (?:href|src)="([^"]*)"/g)].map(([, target = '']) => target)
  return targets.filter((target) => target.startsWith('/'))
}

test('every link on every page leads to a page, and to a heading on it', async () => {
  const found = await crawl()
  assert.match(found.get('/docs/style.css')?.text ?? '', /--surface:[^]*\.docs \{/)
  const pages = [...found].filter(([path]) => path.startsWith('/docs/'))
  assert(pages.length > 70, `${pages.length} pages`)
  for (const [path, { text, type }] of pages) {
    if (!type.startsWith('text/html')) continue
    assert.match(text, /<h1 id=/, path)
    assert.doesNotMatch(text, /<script|<style| style=|javascript:/, path)
    for (const target of text.matchAll(/ href="([^"]*)#([^"]+)"/g)) {
      const [, page = '', anchor] = target
      if (page.startsWith('http')) continue
      const at = found.get(page === '' ? path : page)
      assert(at?.text.includes(` id="${anchor}"`), `${path}: ${page}#${anchor}`)
    }
  }
})

test('a page may load nothing but style sheets and images of the server', async () => {
  const { headers } = await ask('/docs/testing')
  assert.equal(
    headers.get('content-security-policy'),
    "default-src 'none'; style-src 'self'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  )
  assert.equal(headers.get('x-content-type-options'), 'nosniff')
})

test('a browser that has a page gets it again only if it has changed', async () => {
  const first = await ask('/docs/limits')
  const etag = first.headers.get('etag') ?? ''
  const again = await ask('/docs/limits', { headers: { 'If-None-Match': etag } })
  assert.deepEqual([first.status, again.status, await again.text()], [200, 304, ''])
})

const REFUSED = [
  ['GET', '/docs/nothing', 404],
  ['GET', '/docs/..%2fpackage.json', 404],
  ['GET', '/docs/repository/package.json', 404],
  ['GET', '/docs/repository/examples/../package.json', 404],
  ['POST', '/docs/', 405],
] as const
for (const [method, path, status] of REFUSED) {
  test(`${method} ${path} gets ${status}`, async () => {
    const response = await ask(path, { method })
    assert.equal(response.status, status)
    await response.text()
  })
}

test(
  'pages are readable in all looks and for a screen reader',
  { skip: BROWSER_SKIP },
  async () => {
    const browser = await launchBrowser()
    try {
      const { page, complaints } = await openPage(browser)
      await page.goto(`${server.adminUrl}/`)
      await page.getByRole('link', { name: 'Docs' }).click()
      for (const [name, heading] of PAGES) {
        await page.getByRole('navigation').getByRole('link', { name, exact: true }).click()
        await page.getByRole('heading', { level: 1, name: heading }).waitFor()
        assert.equal(await page.locator('nav [aria-current]').textContent(), name)
        await checkLooks(page, name)
      }
      assert.deepEqual(complaints, [])
    } finally {
      await browser.close()
    }
  },
)

/** With programs, and with tables and a picture. */
const PAGES = [
  ['Testing', 'Testing with Lazuli'],
  ['What Lazuli is', 'Lazuli'],
] as const
