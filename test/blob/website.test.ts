// The static website: GET and HEAD of $web on its own port, with index and error documents.
import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { describe, test } from 'node:test'
import type { BlobServiceClient } from '@azure/storage-blob'
import { ACCOUNT, exchange, type RawResponse } from '../harness.ts'
import { startBlobFixture } from './fixture.ts'

const { server, service, container: web } = await startBlobFixture({ container: '$web' })

const put = (name: string, text: string, blobContentType = 'text/html') =>
  web.getBlockBlobClient(name).upload(text, text.length, { blobHTTPHeaders: { blobContentType } })
await put('index.html', 'home')
await put('docs/index.html', 'docs')
await put('Style.css', 'body {}', 'text/css')
await put('404.html', 'nothing here')
await put('big.bin', 'x'.repeat(20_000), 'application/octet-stream')
const set = (staticWebsite: Parameters<BlobServiceClient['setProperties']>[0]['staticWebsite']) =>
  service.setProperties({ staticWebsite: staticWebsite ?? { enabled: false } })
await set({ enabled: true, indexDocument: 'index.html', errorDocument404Path: '404.html' })

function get(
  path: string,
  headers: Readonly<Record<string, string>> = {},
  method = 'GET',
): Promise<RawResponse> {
  const options = { host: '127.0.0.1', port: server.webPort, path, method, headers }
  return exchange(httpRequest(options))
}

describe('a page', () => {
  const pages = [
    ['/', 200, 'home'],
    ['/index.html', 200, 'home'],
    ['/docs/', 200, 'docs'],
    ['/docs', 200, 'docs'],
    [`/${ACCOUNT}/docs/`, 200, 'docs'],
    ['/index.html?v=1', 200, 'home'],
    ['/Style.css', 200, 'body {}'],
    ['/style.css', 404, 'nothing here'],
    ['/docs/none.html', 404, 'nothing here'],
  ] as const
  for (const [path, status, text] of pages) {
    test(`${path} → ${status} ${text}`, async () => {
      const page = await get(path)
      assert.deepEqual([page.status, page.text], [status, text])
    })
  }

  test('is found by the account in the host', async () => {
    const page = await get('/docs/', { host: `${ACCOUNT}.z1.web.localhost` })
    assert.deepEqual([page.status, page.text], [200, 'docs'])
  })

  test('is refused to a host name that only resolves to this machine (DNS rebinding)', async () => {
    const page = await get('/docs/', { host: `${ACCOUNT}.evil.example` })
    assert.deepEqual([page.status, page.headers['x-ms-error-code']], [400, 'InvalidHeaderValue'])
    assert.match(page.text, /--allowedHosts/)
  })

  test('has the headers of its blob, but no lease or metadata', async () => {
    const { headers } = await get('/Style.css')
    assert.equal(headers['content-type'], 'text/css')
    assert.equal(headers['content-length'], '7')
    assert.equal(headers['accept-ranges'], 'bytes')
    assert.match(headers.etag ?? '', /^"0x/)
    assert.equal(headers['x-ms-lease-state'], undefined)
    assert.equal(headers['x-ms-blob-type'], undefined)
  })

  test('answers HEAD without a body', async () => {
    const page = await get('/Style.css', {}, 'HEAD')
    assert.deepEqual([page.status, page.text, page.headers['content-length']], [200, '', '7'])
  })

  test('is answered with 304 if it is unchanged', async () => {
    const { headers } = await get('/')
    const page = await get('/', { 'if-none-match': headers.etag ?? '' })
    assert.deepEqual([page.status, page.text], [304, ''])
  })

  test('can be read in ranges', async () => {
    const page = await get('/big.bin', { range: 'bytes=10-19' })
    assert.deepEqual([page.status, page.text], [206, 'x'.repeat(10)])
    assert.equal(page.headers['content-range'], 'bytes 10-19/20000')
  })
})

describe('the website', () => {
  test('is read-only', async () => {
    const page = await get('/index.html', {}, 'DELETE')
    assert.equal(page.status, 405)
    assert.equal((await get('/')).text, 'home')
  })

  test('serves nothing else of the account', async () => {
    await service.getContainerClient('secret').create()
    const page = await get(`/${ACCOUNT}/secret?restype=container&comp=list`)
    assert.equal(page.status, 404)
  })

  test('serves one page for every folder with DefaultIndexDocumentPath', async () => {
    await set({ enabled: true, defaultIndexDocumentPath: 'docs/index.html' })
    assert.equal((await get('/')).text, 'docs')
    assert.equal((await get('/deep/folder/')).text, 'docs')
  })

  test('has a plain page for missing files without an error document', async () => {
    await set({ enabled: true, indexDocument: 'index.html' })
    const page = await get('/none')
    assert.equal(page.status, 404)
    assert.equal(page.headers['x-ms-error-code'], 'WebContentNotFound')
    assert.match(page.text, /The requested content does not exist/)
  })

  test('is not served when disabled', async () => {
    await set({ enabled: false })
    assert.equal((await get('/')).status, 404)
    await set({ enabled: true, indexDocument: 'index.html' })
    assert.equal((await get('/')).status, 200)
  })

  test('survives invalid paths', async () => {
    for (const path of ['/%', '/%ff%fe', '//', '/..%2f..%2fetc/passwd', `/${'a/'.repeat(2_000)}`]) {
      const { status } = await get(path)
      assert(status >= 200 && status < 500, `${path.slice(0, 20)} is ${status}`)
    }
  })
})
