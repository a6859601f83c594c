// Shared Key, Shared Key Lite and tokens: who may use the Table service at all.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { UnsecuredJWT } from 'jose'
import { ACCOUNT, ACCOUNT_KEY } from '../harness.ts'
import { ask, entityPath, freshTable, outcome, startTableServer } from './table-server.ts'
import type { TableServer } from './table-server.ts'

let server: TableServer
let table: string

before(async () => {
  server = await startTableServer({ oauth: true })
  table = await freshTable(server)
})
after(() => server.close())

/** Lite signs the date and the resource alone, and of the query `comp`. */
function lite(date: string, resource: string): string {
  const hmac = createHmac('sha256', Buffer.from(ACCOUNT_KEY, 'base64'))
  const signature = hmac.update(`${date}\n/${ACCOUNT}/${ACCOUNT}${resource}`).digest('base64')
  return `SharedKeyLite ${ACCOUNT}:${signature}`
}

describe('Shared Key Lite', () => {
  const date = new Date().toUTCString()
  const ROWS = [
    ['GET', '/Tables?$top=1', '/Tables', '200'],
    ['GET', '/{table}()', '/{table}()', '200'],
    ['GET', '/{table}?comp=acl', '/{table}?comp=acl', '200'],
    ['GET', '/{table}?comp=acl', '/{table}', '403 AuthenticationFailed'],
    ['GET', '/{table}()', '/{table}', '403 AuthenticationFailed'],
  ] as const
  for (const [method, path, signed, expected] of ROWS) {
    test(`${method} ${path} signed as ${signed} → ${expected}`, async () => {
      const named = (text: string) => text.replace('{table}', table)
      const headers = { 'x-ms-date': date, Authorization: lite(date, named(signed)) }
      const answer = await ask(server, { method, path: named(path), headers, sign: 'none' })
      assert.equal(outcome(answer), expected)
    })
  }

  test('keys of entities are signed as they are sent', async () => {
    const path = entityPath(table, "it's", 'ä %').replaceAll("'", '%27')
    const headers = { 'x-ms-date': date, Authorization: lite(date, path) }
    const put = await ask(server, { method: 'PUT', path, headers, body: '{}', sign: 'none' })
    assert.equal(outcome(put), '204')
  })
})

test('Shared Key signs the method and the type of the body', async () => {
  const path = entityPath(table, 'p', 'r')
  assert.equal(outcome(await ask(server, { method: 'PUT', path, body: '{}' })), '204')
  assert.equal(outcome(await ask(server, { method: 'GET', path })), '200')
})

describe('a token', () => {
  const tenant = 'ab1f708d-50f6-404c-a006-d71b2ac7a606'
  const headersFor = (aud: string) => {
    const nowSeconds = Math.floor(Date.now() / 1_000)
    const times = { nbf: nowSeconds - 60, exp: nowSeconds + 3_600 }
    const iss = `https://sts.windows.net/${tenant}/`
    const token = new UnsecuredJWT({ aud, iss, ...times, oid: tenant, tid: tenant }).encode()
    return { Authorization: `Bearer ${token}` }
  }

  const AUDIENCES = [
    ['https://storage.azure.com', '200'],
    [`https://${ACCOUNT}.table.core.windows.net`, '200'],
    ['https://management.azure.com', '401 InvalidAuthenticationInfo'],
  ] as const
  for (const [audience, expected] of AUDIENCES) {
    test(`for ${audience} → ${expected}`, async () => {
      const headers = headersFor(audience)
      const answer = await ask(server, { method: 'GET', path: '/Tables', headers, sign: 'none' })
      assert.equal(outcome(answer), expected)
    })
  }

  test('finds no access policies', async () => {
    const headers = headersFor('https://storage.azure.com')
    for (const method of ['GET', 'PUT']) {
      const path = `/${table}?comp=acl`
      const answer = await ask(server, { method, path, headers, sign: 'none' })
      assert.equal(outcome(answer), '404 ResourceNotFound')
      assert.equal(answer.headers['content-type'], 'application/xml')
    }
  })
})
