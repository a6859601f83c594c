// The root of a service, as a browser sees it and as clients of the API see it.
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { exchange, type RawResponse } from './harness.ts'
import { cleanUp, startServerProcess, type ServerProcess } from './server-process.ts'

after(cleanUp)

const HTML = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

describe('the root of a service', () => {
  let server: ServerProcess
  before(async () => {
    server = await startServerProcess({ args: ['--inMemoryPersistence'] })
  })

  const get = (
    headers: Readonly<Record<string, string>>,
    { path = '/', method = 'GET' } = {},
  ): Promise<RawResponse> =>
    exchange(request({ host: '127.0.0.1', port: server.blobPort, path, method, headers }))

  test('tells a browser what it is and where the console is, and allows the page nothing', async () => {
    const { status, headers, text } = await get({ accept: HTML })
    assert.equal(status, 200)
    assert.equal(headers['content-type'], 'text/html; charset=utf-8')
    assert.match(String(headers['content-security-policy']), /^default-src 'none';/)
    assert.match(text, /This is the Blob service/)
    assert(text.includes(`<a href="${server.adminUrl}/">`), text)
    const head = await get({ accept: HTML }, { method: 'HEAD' })
    assert.deepEqual([head.status, head.text], [200, ''])
  })

  for (const [what, headers, other] of [
    ['a client that accepts anything', { accept: '*/*' }, {}],
    ['a client of the API', { accept: HTML, 'x-ms-version': '2025-11-05' }, {}],
    ['credentials', { accept: HTML, authorization: 'SharedKey a:b' }, {}],
    ['an account in the host', { accept: HTML, host: 'devstoreaccount1.blob.localhost' }, {}],
    ['an account in the path', { accept: HTML }, { path: '/devstoreaccount1' }],
    ['a query', { accept: HTML }, { path: '/?comp=list' }],
    ['another host name', { accept: HTML, host: 'evil.example' }, {}],
    ['a write', { accept: HTML, 'content-length': '0' }, { method: 'PUT' }],
  ] as const) {
    test(`${what} gets the error of the API`, async () => {
      const { status, headers: answered, text } = await get(headers, other)
      assert(status >= 400, String(status))
      assert.match(text, /^\uFEFF?<\?xml [^>]*><Error><Code>\w+<\/Code>/)
      assert.equal(answered['content-type'], 'application/xml')
    })
  }
})
