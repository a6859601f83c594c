// A page of another origin that uses the services from a browser (Chromium), as --cors allows it, and as it does not.
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { BROWSER_SKIP, launchBrowser } from '../console/browser.ts'
import { accountSas, cleanUp, startServerProcess, stop } from '../server-process.ts'

after(cleanUp)

const ACCOUNT = { name: 'web', key: Buffer.alloc(64, 5).toString('base64') }

/** In the browser: uploads a blob with metadata and reads it back; the error's name if the browser refuses. */
const PROGRAM = `async (url) => {
  try {
    const headers = { 'x-ms-blob-type': 'BlockBlob', 'x-ms-meta-who': 'page', 'x-ms-version': '2023-11-03' }
    const put = await fetch(url, { method: 'PUT', body: 'from a page', headers })
    const got = await fetch(url, { headers: { 'x-ms-version': '2023-11-03' } })
    return [put.status, await got.text(), got.headers.get('x-ms-meta-who'), got.headers.get('etag') === put.headers.get('etag')].join()
  } catch (error) { return error.name }
}`

describe('a web page of another origin', { skip: BROWSER_SKIP }, () => {
  let browser: Browser
  let pages: Server
  let origin: string
  before(async () => {
    browser = await launchBrowser()
    pages = createServer((_, response) => response.end('<!doctype html>'))
    await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve))
    origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`
  })
  after(async () => {
    await browser.close()
    pages.close()
  })

  for (const [cors, expected] of [
    ['its own', '201,from a page,page,true'],
    ['*', '201,from a page,page,true'],
    ['http://other.example', 'TypeError'],
    ['', 'TypeError'],
  ] as const) {
    test(`LAZULI_CORS="${cors}" → ${expected}`, async () => {
      const env = {
        LAZULI_ACCOUNTS: `${ACCOUNT.name}:${ACCOUNT.key}`,
        LAZULI_CORS: cors === 'its own' ? origin : cors,
        LAZULI_CONTAINERS: 'photos',
      }
      const server = await startServerProcess({ args: ['--inMemoryPersistence'], env })
      const page = await browser.newPage()
      await page.goto(origin)
      const url = `${server.blobUrl}/${ACCOUNT.name}/photos/a.txt?${accountSas(ACCOUNT)}`
      assert.equal(await page.evaluate(`(${PROGRAM})(${JSON.stringify(url)})`), expected)
      await page.close()
      await stop(server)
    })
  }
})
