// Authentication for the Table service: Shared Key, Shared Key Lite and tokens.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, test } from 'node:test'
import { UnsecuredJWT } from 'jose'
import { ACCOUNT, ACCOUNT_KEY } from '../harness.ts'
import { send, entityPath, newTable, outcome, startTableFixture } from './fixture.ts'

const server = await startTableFixture({ oauth: 'basic' })
const table = await newTable(server)

/** Shared Key Lite signs only the date, the resource and the query parameter `comp`. */
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
      const answer = await send(server, { method, path: named(path), headers, sign: 'none' })
      assert.equal(outcome(answer), expected)
    })
  }

  test('signs the keys of entities as they are sent', async () => {
    const path = entityPath(table, "it's", 'ä %').replaceAll("'", '%27')
    const headers = { 'x-ms-date': date, Authorization: lite(date, path) }
    const put = await send(server, { method: 'PUT', path, headers, body: '{}', sign: 'none' })
    assert.equal(outcome(put), '204')
  })
})

test('Shared Key signs the method and the type of the body', async () => {
  const path = entityPath(table, 'p', 'r')
  assert.equal(outcome(await send(server, { method: 'PUT', path, body: '{}' })), '204')
  assert.equal(outcome(await send(server, { method: 'GET', path })), '200')
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
      const answer = await send(server, { method: 'GET', path: '/Tables', headers, sign: 'none' })
      assert.equal(outcome(answer), expected)
    })
  }

  test('does not permit access policies', async () => {
    const headers = headersFor('https://storage.azure.com')
    for (const method of ['GET', 'PUT']) {
      const path = `/${table}?comp=acl`
      const answer = await send(server, { method, path, headers, sign: 'none' })
      assert.equal(outcome(answer), '404 ResourceNotFound')
      assert.equal(answer.headers['content-type'], 'application/xml')
    }
  })
})
