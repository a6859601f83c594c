// Access to queues with a service SAS, stored policies, an account SAS, a user delegation SAS, Shared Key Lite and
// tokens. The test controls the clock.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, test } from 'node:test'
import {
  AccountSASPermissions,
  AccountSASResourceTypes,
  AccountSASServices,
  generateAccountSASQueryParameters,
  generateQueueSASQueryParameters,
  QueueClient,
  QueueSASPermissions,
  StorageSharedKeyCredential,
  type QueueSASSignatureValues,
} from '@azure/storage-queue'
import { UnsecuredJWT } from 'jose'
import { delegationKeyIn } from '../delegation-key.ts'
import { ACCOUNT, ACCOUNT_KEY, API_VERSION, outcome, type RawRequest } from '../harness.ts'
import { send, createQueue, messagePath, messageXml, put, startQueueFixture } from './fixture.ts'

const HOUR_MS = 3_600_000
const credential = new StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY)

const server = await startQueueFixture({ oauth: 'basic' })
await createQueue(server, 'box')
await createQueue(server, 'other')

const fromNow = (byMs: number) => new Date(server.now() + byMs)

function queueSas(permissions: string, more: Partial<QueueSASSignatureValues> = {}): string {
  const values = {
    queueName: 'box',
    permissions: QueueSASPermissions.parse(permissions),
    expiresOn: fromNow(HOUR_MS),
    ...more,
  }
  return generateQueueSASQueryParameters(values, credential).toString()
}

function accountSas(permissions: string, types: string, services = 'q'): string {
  const values = {
    permissions: AccountSASPermissions.parse(permissions),
    resourceTypes: AccountSASResourceTypes.parse(types).toString(),
    services: AccountSASServices.parse(services).toString(),
    expiresOn: fromNow(HOUR_MS),
  }
  return generateAccountSASQueryParameters(values, credential).toString()
}

type Row = {
  readonly name: string
  readonly method: string
  /** `{message}` stands for a new message. */
  readonly path: string
  readonly body?: string
  readonly ok: string
  /** The permission that a SAS for the queue needs; a SAS is never enough if left out. */
  readonly queue?: string
  /** The resource type and permissions that an account SAS needs. */
  readonly account?: readonly [type: string, letters: string]
}

// prettier-ignore
const ROWS: readonly Row[] = [
  { name: 'Put Message', method: 'POST', path: '/box/messages', body: messageXml('x'), ok: '201', queue: 'a', account: ['o', 'a'] },
  { name: 'Get Messages', method: 'GET', path: '/box/messages', ok: '200', queue: 'p', account: ['o', 'p'] },
  { name: 'Peek Messages', method: 'GET', path: '/box/messages?peekonly=true', ok: '200', queue: 'r', account: ['o', 'r'] },
  { name: 'Update Message', method: 'PUT', path: '{message}', ok: '204', queue: 'u', account: ['o', 'u'] },
  { name: 'Delete Message', method: 'DELETE', path: '{message}', ok: '204', queue: 'p', account: ['o', 'p'] },
  { name: 'Clear Messages', method: 'DELETE', path: '/box/messages', ok: '204', account: ['o', 'd'] },
  { name: 'Get Queue Metadata', method: 'GET', path: '/box?comp=metadata', ok: '200', queue: 'r', account: ['c', 'r'] },
  { name: 'Set Queue Metadata', method: 'PUT', path: '/box?comp=metadata', ok: '204', account: ['c', 'w'] },
  { name: 'Get Queue ACL', method: 'GET', path: '/box?comp=acl', ok: '200' },
  { name: 'Set Queue ACL', method: 'PUT', path: '/box?comp=acl', ok: '204' },
  { name: 'Create Queue', method: 'PUT', path: '/box', ok: '204', account: ['c', 'cw'] },
  { name: 'Delete Queue', method: 'DELETE', path: '/other', ok: '204', account: ['c', 'd'] },
  { name: 'List Queues', method: 'GET', path: '/?comp=list', ok: '200', account: ['s', 'l'] },
  { name: 'Get Queue Service Properties', method: 'GET', path: '/?restype=service&comp=properties', ok: '200', account: ['s', 'r'] },
]

async function run(row: Row, sas: string): Promise<string> {
  let { path } = row
  if (path === '{message}') {
    const { id, receipt } = await put(server, 'box', 'x')
    path = messagePath('box', id, receipt, '&visibilitytimeout=0')
  }
  const { method, body } = row
  return outcome(await send(server, { method, path, sign: sas, ...(body && { body }) }))
}

const DENIED = '403 AuthorizationPermissionMismatch'
const REFUSED = '403 AuthorizationFailure'
const WRONG_TYPE = '403 AuthorizationResourceTypeMismatch'
const FAILED = '403 AuthenticationFailed'

describe('a SAS for the queue', () => {
  for (const row of ROWS) {
    if (!row.path.startsWith('/box') && row.path !== '{message}') continue
    for (const letter of 'raup') {
      const expected = row.queue === undefined ? REFUSED : letter === row.queue ? row.ok : DENIED
      test(`${letter}: ${row.name} → ${expected}`, async () => {
        assert.equal(await run(row, queueSas(letter)), expected)
      })
    }
  }

  test('does not permit access to another queue or the account', async () => {
    const metadata = (path: string) =>
      send(server, { method: 'GET', path, sign: queueSas('raup') }).then(outcome)
    assert.equal(await metadata('/other?comp=metadata'), FAILED)
    assert.equal(await metadata('/?comp=list'), FAILED)
  })

  test("expires by the server's clock", async () => {
    const sas = queueSas('r', { expiresOn: fromNow(1_000) })
    const read = { method: 'GET', path: '/box?comp=metadata', sign: sas }
    assert.equal(outcome(await send(server, read)), '200')
    server.advance(2_000)
    assert.equal(outcome(await send(server, read)), FAILED)
  })

  test('works with the SDK', async () => {
    const queue = new QueueClient(`${server.endpoint}/box?${queueSas('raup')}`)
    const { messageId, popReceipt } = await queue.sendMessage('by sas', { visibilityTimeout: 60 })
    const updated = await queue.updateMessage(messageId, popReceipt, 'changed', 60)
    await queue.deleteMessage(messageId, updated.popReceipt ?? '')
    await assert.rejects(queue.clearMessages(), { statusCode: 403 })
  })
})

test('a stored policy completes a SAS and revokes it when removed', async () => {
  const queue = server.client.getQueueClient('box')
  const accessPolicy = { expiresOn: fromNow(HOUR_MS), permissions: 'a' }
  await queue.setAccessPolicy([{ id: 'adders', accessPolicy }])
  const sas = generateQueueSASQueryParameters(
    { queueName: 'box', identifier: 'adders' },
    credential,
  ).toString()
  const [add, peek] = [ROWS[0], ROWS[2]]
  assert(add !== undefined && peek !== undefined)
  assert.equal(await run(add, sas), '201')
  assert.equal(await run(peek, sas), DENIED)
  await queue.setAccessPolicy([])
  assert.equal(await run(add, sas), FAILED)
})

describe('an account SAS', () => {
  for (const row of ROWS) {
    const [type = 'o', letters] = row.account ?? []
    test(`${row.name} needs ${letters ?? 'another identity'}`, async () => {
      await send(server, { method: 'PUT', path: '/other' })
      const all = 'rwdlacup'
      if (letters === undefined) {
        assert.equal(await run(row, accountSas(all, 'sco')), REFUSED)
        return
      }
      for (const letter of letters) assert.equal(await run(row, accountSas(letter, type)), row.ok)
      await send(server, { method: 'PUT', path: '/other' })
      const rest = [...all].filter((letter) => !letters.includes(letter)).join('')
      assert.equal(await run(row, accountSas(rest, type)), DENIED)
      assert.equal(await run(row, accountSas(all, 'sco'.replace(type, ''))), WRONG_TYPE)
    })
  }

  test('for blobs does not permit access to queues', async () => {
    const sign = accountSas('l', 's', 'b')
    const answer = await send(server, { method: 'GET', path: '/?comp=list', sign })
    assert.equal(outcome(answer), '403 AuthorizationServiceMismatch')
  })
})

test('a request without credentials is refused', async () => {
  const answer = await send(server, { method: 'GET', path: '/box/messages', sign: 'none' })
  assert.equal(outcome(answer), '401 NoAuthenticationInformation')
})

test('Shared Key Lite is accepted', async () => {
  const date = new Date().toUTCString()
  const path = '/box?comp=metadata'
  const text =
    `GET\n\n\n\nx-ms-date:${date}\nx-ms-version:${API_VERSION}\n` +
    `/${ACCOUNT}/${ACCOUNT}/box?comp=metadata`
  const signature = createHmac('sha256', Buffer.from(ACCOUNT_KEY, 'base64')).update(text)
  const headers = {
    'x-ms-date': date,
    Authorization: `SharedKeyLite ${ACCOUNT}:${signature.digest('base64')}`,
  }
  assert.equal(outcome(await send(server, { method: 'GET', path, headers, sign: 'none' })), '200')
})

describe('a token', () => {
  const tenant = 'ab1f708d-50f6-404c-a006-d71b2ac7a606'
  const user = '4fd0e7a0-0a2c-4f2f-8b46-2d0a3f0d9d11'
  const tokenFor = (aud: string): string => {
    const nowSeconds = Math.floor(Date.now() / 1_000)
    const iss = `https://sts.windows.net/${tenant}/`
    const times = { nbf: nowSeconds - 60, exp: nowSeconds + 3_600 }
    return new UnsecuredJWT({ aud, iss, ...times, oid: user, tid: tenant }).encode()
  }
  const withToken = (request: RawRequest, aud = 'https://storage.azure.com') => {
    const headers = { Authorization: `Bearer ${tokenFor(aud)}` }
    return send(server, { ...request, headers, sign: 'none' })
  }

  test('with the right audience permits get, put and list', async () => {
    for (const { method, path, body, ok } of ROWS) {
      if (path === '{message}' || path === '/other') continue
      const request = { method, path, ...(body && { body }) }
      assert.equal(outcome(await withToken(request)), ok)
    }
    const queueAudience = `https://${ACCOUNT}.queue.core.windows.net`
    const get = { method: 'GET', path: '/box/messages' }
    assert.equal(outcome(await withToken(get, queueAudience)), '200')
    const other = await withToken(get, 'https://management.azure.com')
    assert.equal(outcome(other), '401 InvalidAuthenticationInfo')
  })

  test('gets a user delegation key, which signs a SAS for the queue', async () => {
    const [start, end] = [fromNow(0), fromNow(HOUR_MS)]
    const times = `<Start>${start.toISOString()}</Start><Expiry>${end.toISOString()}</Expiry>`
    const { status, text } = await withToken({
      method: 'POST',
      path: '/?restype=service&comp=userdelegationkey',
      body: `<KeyInfo>${times}</KeyInfo>`,
    })
    assert.equal(status, 200)
    const key = delegationKeyIn(text)
    assert.equal(key.signedService, 'q')
    const values = {
      queueName: 'box',
      permissions: QueueSASPermissions.parse('a'),
      expiresOn: end,
    }
    const sas = generateQueueSASQueryParameters(values, key, ACCOUNT).toString()
    const [add, , peek] = ROWS
    assert(add !== undefined && peek !== undefined)
    assert.equal(await run(add, sas), '201')
    assert.equal(await run(peek, sas), DENIED)
  })
})
