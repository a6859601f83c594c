// Files with a key of the client: created, appended, flushed and read with it over HTTPS.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  keyHeaders,
  MISMATCH,
  newKey,
  startSecureServer,
  USES,
  USES_NOT,
} from '../blob/secure-server.ts'
import type { Headers } from '../harness.ts'
import { expect, LAKE } from './fixture.ts'

const server = await startSecureServer({ silent: true, logLevel: 'error' })
after(async () => {
  await server.close()
  assert.equal(server.logged(), '')
})

const KEY = keyHeaders(newKey())
const OTHER = keyHeaders(newKey())
const JSON_ONLY = { accept: 'application/json' }
const SHA = 'x-ms-encryption-key-sha256'

function send(method: string, path: string, headers: Headers = {}, body?: string) {
  const request = { method, path, headers, sign: 'sharedKey', account: LAKE } as const
  return server.send({ ...request, ...(body !== undefined && { body }) })
}

expect(await send('PUT', '/keys?resource=filesystem'), '201')

for (const lengthBytes of [10, 20_000]) {
  test(`a file of ${lengthBytes} bytes is written and read with its key only`, async () => {
    const file = `/keys/d/${lengthBytes}`
    const created = expect(await send('PUT', `${file}?resource=file`, KEY), '201')
    assert.equal(created.headers[SHA], KEY[SHA])
    const text = 'ab'.repeat(lengthBytes / 2)
    const append = `${file}?action=append&position=0`
    expect(await send('PATCH', append, {}, text), USES)
    expect(await send('PATCH', append, OTHER, text), MISMATCH)
    const appended = expect(await send('PATCH', append, KEY, text), '202')
    assert.equal(appended.headers[SHA], KEY[SHA])
    assert.equal(appended.headers['x-ms-request-server-encrypted'], 'true')
    const flush = `${file}?action=flush&position=${lengthBytes}`
    expect(await send('PATCH', flush), USES)
    expect(await send('PATCH', flush, KEY), '200')
    const more = `${file}?action=append&position=${lengthBytes}&flush=true`
    expect(await send('PATCH', more, KEY, 'more'), '202')
    expect(await send('GET', file, JSON_ONLY), USES)
    expect(await send('GET', file, { ...JSON_ONLY, ...OTHER }), MISMATCH)
    const read = expect(await send('GET', file, { ...JSON_ONLY, ...KEY }), '200')
    assert.equal(read.text, `${text}more`)
    assert.equal((await send('HEAD', file, JSON_ONLY)).status, 409)
    const status = expect(await send('HEAD', `${file}?action=getStatus`), '200')
    assert.equal(status.headers[SHA], KEY[SHA])
    const { text: list } = await send('GET', '/keys?resource=filesystem&recursive=true')
    assert.match(list, /"CustomerProvidedKeySha256":"/)
    const rename = { 'x-ms-rename-source': file }
    expect(await send('PUT', `${file}-renamed`, rename), '201')
    const renamed = expect(await send('GET', `${file}-renamed`, { ...JSON_ONLY, ...KEY }), '200')
    assert.equal(renamed.text, `${text}more`)
  })
}

test('a file without a key takes none', async () => {
  expect(await send('PUT', '/keys/plain?resource=file'), '201')
  const append = '/keys/plain?action=append&position=0'
  expect(await send('PATCH', append, KEY, 'text'), USES_NOT)
  expect(await send('PATCH', append, {}, 'text'), '202')
  expect(await send('PATCH', '/keys/plain?action=flush&position=4', KEY), USES_NOT)
})
