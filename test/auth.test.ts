// Shared Key and anonymous access, over the wire. The clients are the SDK, and hand-written requests with mistakes that
// the SDK never makes.
import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { BlobServiceClient, StorageSharedKeyCredential } from '@azure/storage-blob'
import { BLOCK_BLOB, startBlobFixture } from './blob/fixture.ts'
import { ACCOUNT, ACCOUNT_KEY, API_VERSION, outcome, rawRequest, xmlText } from './harness.ts'

const SECOND_KEY = randomBytes(64).toString('base64')
const WRONG_KEY = randomBytes(64).toString('base64')
/** Not base64: the SDK and Azurite skip invalid characters and sign with the rest. */
const PLAIN_KEY = 'testing_key'
const PLAIN_ACCOUNT = 'plain'
const MINUTE_MS = 60_000

const accounts = { [ACCOUNT]: [ACCOUNT_KEY, SECOND_KEY], [PLAIN_ACCOUNT]: PLAIN_KEY } as const
const { server, service, put } = await startBlobFixture({ accounts, container: 'private' })
await put('b', 'hello')
for (const access of ['blob', 'container'] as const) {
  const { containerClient } = await service.createContainer(access, { access })
  await containerClient.getBlockBlobClient('b').upload('hello', 5)
}

function clientWith(key: string, account = ACCOUNT): BlobServiceClient {
  const credential = new StorageSharedKeyCredential(account, key)
  return new BlobServiceClient(server.blobEndpoint, credential, { retryOptions: { maxTries: 1 } })
}

test('the SDK signs with a key that is not base64', async () => {
  const endpoint = server.blobEndpoint.replace(ACCOUNT, PLAIN_ACCOUNT)
  const credential = new StorageSharedKeyCredential(PLAIN_ACCOUNT, PLAIN_KEY)
  const client = new BlobServiceClient(endpoint, credential, { retryOptions: { maxTries: 1 } })
  await client.getContainerClient('plain-key').create()
})

for (const [which, key] of [
  ['first', ACCOUNT_KEY],
  ['second', SECOND_KEY],
] as const) {
  test(`the SDK signs with the ${which} key`, async () => {
    const blob = clientWith(key).getContainerClient('private').getBlockBlobClient('näme with +%/é')
    await blob.upload('text', 4, { metadata: { one: 'ein  Wort' } })
    assert.equal(String(await blob.downloadToBuffer()), 'text')
    await blob.delete()
  })
}

test('a wrong key or another account is refused with 403', async () => {
  for (const client of [clientWith(WRONG_KEY), clientWith(ACCOUNT_KEY, 'someoneelse')]) {
    await assert.rejects(client.getContainerClient('private').getProperties(), {
      statusCode: 403,
      code: 'AuthenticationFailed',
    })
  }
})

const minutesAgo = (minutes: number): string =>
  new Date(Date.now() - minutes * MINUTE_MS).toUTCString()

// prettier-ignore
const DATES: readonly [string, Readonly<Record<string, string>>, string][] = [
  ['14 minutes old', { 'x-ms-date': minutesAgo(14) }, '200'],
  ['16 minutes old', { 'x-ms-date': minutesAgo(16) }, '403 AuthenticationFailed'],
  ['16 minutes ahead', { 'x-ms-date': minutesAgo(-16) }, '403 AuthenticationFailed'],
  ['in Date', { date: minutesAgo(0) }, '200'],
  ['16 minutes old, in Date', { date: minutesAgo(16) }, '403 AuthenticationFailed'],
  ['16 minutes old in Date, but current in x-ms-date', { date: minutesAgo(16), 'x-ms-date': minutesAgo(0) }, '200'],
  ['missing', { date: '' }, '403 AuthenticationFailed'],
  ['that cannot be parsed', { 'x-ms-date': 'yesterday' }, '403 AuthenticationFailed'],
]

for (const [what, headers, expected] of DATES) {
  test(`a Shared Key date ${what} → ${expected}`, async () => {
    const answer = await rawRequest(server, { method: 'GET', path: '/private/b', headers })
    assert.equal(outcome(answer), expected, answer.text)
  })
}

test("requests are dated by the machine's clock, not by the server's", async () => {
  server.advance(60 * MINUTE_MS)
  assert.equal(outcome(await rawRequest(server, { method: 'GET', path: '/private/b' })), '200')
})

// prettier-ignore
const AUTHORIZATIONS: readonly [string, string][] = [
  ['SharedKey', '400 InvalidAuthenticationInfo'],
  ['SharedKey ', '400 InvalidAuthenticationInfo'],
  [`SharedKey ${ACCOUNT}`, '400 InvalidAuthenticationInfo'],
  [`SharedKey ${ACCOUNT}:`, '400 InvalidAuthenticationInfo'],
  [`SharedKey ${ACCOUNT}:AAAA`, '403 AuthenticationFailed'],
  ['SharedKey nobody:AAAA', '403 AuthenticationFailed'],
  ['Basic dXNlcjpwYXNz', '400 InvalidAuthenticationInfo'],
  ['Bearer token', '403 AuthenticationFailed'],
]

for (const [authorization, expected] of AUTHORIZATIONS) {
  test(`Authorization: ${authorization} → ${expected}`, async () => {
    const headers = { authorization, 'x-ms-date': minutesAgo(0) }
    const answer = await rawRequest(server, {
      method: 'GET',
      path: '/private/b',
      headers,
      sign: 'none',
    })
    assert.equal(outcome(answer), expected, answer.text)
  })
}

test('the answer to a wrong signature has the string to sign', async () => {
  const headers = { authorization: `SharedKey ${ACCOUNT}:AAAA`, 'x-ms-date': minutesAgo(0) }
  const answer = await rawRequest(server, {
    method: 'GET',
    path: '/private/b',
    headers,
    sign: 'none',
  })
  const detail = xmlText(answer.text, 'AuthenticationErrorDetail') ?? ''
  assert.match(detail, /^The MAC signature found in the HTTP request 'AAAA' is not the same/)
  assert.ok(detail.includes(`x-ms-version:${API_VERSION}\n/${ACCOUNT}/${ACCOUNT}/private/b`))
})

/** https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key, "Shared Key Lite". */
function liteHeaders(method: string, path: string, key: string): Record<string, string> {
  const headers = { 'x-ms-date': minutesAgo(0), 'x-ms-version': API_VERSION }
  const signed = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`)
  const text = `${method}\n\n\n\n${signed.join('')}/${ACCOUNT}/${ACCOUNT}${path}`
  const signature = createHmac('sha256', Buffer.from(key, 'base64')).update(text).digest('base64')
  return { ...headers, authorization: `SharedKeyLite ${ACCOUNT}:${signature}` }
}

// prettier-ignore
const LITE: readonly [string, string, string, string, string][] = [
  ['of a blob', '/private/b', '/private/b', ACCOUNT_KEY, '200'],
  ['with the second key', '/private/b', '/private/b', SECOND_KEY, '200'],
  ['of comp and no other query parameter', '/private?restype=container&comp=metadata', '/private?comp=metadata', ACCOUNT_KEY, '200'],
  ['with another key', '/private/b', '/private/b', WRONG_KEY, '403 AuthenticationFailed'],
  ['of another path', '/private/b', '/private/c', ACCOUNT_KEY, '403 AuthenticationFailed'],
]

for (const [what, path, signedPath, key, expected] of LITE) {
  test(`Shared Key Lite ${what} → ${expected}`, async () => {
    const headers = liteHeaders('GET', signedPath, key)
    const answer = await rawRequest(server, { method: 'GET', path, headers, sign: 'none' })
    assert.equal(outcome(answer), expected, answer.text)
  })
}

// prettier-ignore
const ANONYMOUS: readonly [method: string, path: string, outcome: string][] = [
  ['GET', '/private/b', '401 NoAuthenticationInformation'],
  ['GET', '/private/none', '401 NoAuthenticationInformation'],
  ['GET', '/none/b', '401 NoAuthenticationInformation'],
  ['GET', '/blob/b', '200'],
  ['HEAD', '/blob/b', '200'],
  ['GET', '/blob/b?comp=metadata', '200'],
  ['GET', '/blob/none', '404 BlobNotFound'],
  ['GET', '/blob?restype=container', '401 NoAuthenticationInformation'],
  ['GET', '/blob?restype=container&comp=list', '401 NoAuthenticationInformation'],
  ['PUT', '/blob/b', '401 NoAuthenticationInformation'],
  ['DELETE', '/blob/b', '401 NoAuthenticationInformation'],
  ['GET', '/container/b', '200'],
  ['GET', '/container?restype=container', '200'],
  ['GET', '/container?restype=container&comp=list', '200'],
  ['GET', '/container?restype=container&comp=acl', '401 NoAuthenticationInformation'],
  ['PUT', '/container/b', '401 NoAuthenticationInformation'],
  ['DELETE', '/container?restype=container', '401 NoAuthenticationInformation'],
  ['GET', '?comp=list', '401 NoAuthenticationInformation'],
]

for (const [method, path, expected] of ANONYMOUS) {
  test(`an anonymous client: ${method} ${path} → ${expected}`, async () => {
    const answer = await rawRequest(server, { method, path, headers: BLOCK_BLOB, sign: 'none' })
    assert.equal(outcome(answer), expected, answer.text)
    if (answer.status === 401) {
      assert.match(String(answer.headers['www-authenticate']), /^Bearer authorization_uri=https:/)
    }
  })
}

test('versions before 2019-12-12 answer 404 instead of 401', async () => {
  const headers = { 'x-ms-version': '2019-07-07' }
  const answer = await rawRequest(server, {
    method: 'GET',
    path: '/private/b',
    headers,
    sign: 'none',
  })
  assert.equal(outcome(answer), '404 ResourceNotFound')
  assert.equal(answer.headers['www-authenticate'], undefined)
})

// prettier-ignore
const PUBLIC_LISTS: readonly [include: string, outcome: string][] = [
  ['metadata', '200'],
  ['copy', '200'],
  ['snapshots', '200'],
  ['versions', '200'],
  ['deleted', '401 NoAuthenticationInformation'],
  ['Deleted', '401 NoAuthenticationInformation'],
  ['snapshots,deleted', '401 NoAuthenticationInformation'],
  ['deletedwithversions', '401 NoAuthenticationInformation'],
  ['metadata,uncommittedblobs', '401 NoAuthenticationInformation'],
  ['tags', '403 AuthorizationPermissionMismatch'],
]

for (const [include, expected] of PUBLIC_LISTS) {
  test(`an anonymous list with include=${include} → ${expected}`, async () => {
    const path = `/container?restype=container&comp=list&include=${include}`
    assert.equal(outcome(await rawRequest(server, { method: 'GET', path, sign: 'none' })), expected)
    assert.equal(outcome(await rawRequest(server, { method: 'GET', path })), '200')
  })
}

test('anonymous clients cannot use conditions on tags', async () => {
  const headers = { 'x-ms-if-tags': "a = 'b'" }
  const answer = await rawRequest(server, { method: 'GET', path: '/blob/b', headers, sign: 'none' })
  assert.equal(outcome(answer), '401 NoAuthenticationInformation')
})

test('public access ends when the ACL is changed', async () => {
  const container = clientWith(ACCOUNT_KEY).getContainerClient('ends')
  await container.create({ access: 'container' })
  const path = '/ends?restype=container&comp=list'
  assert.equal(outcome(await rawRequest(server, { method: 'GET', path, sign: 'none' })), '200')
  await container.setAccessPolicy()
  const answer = await rawRequest(server, { method: 'GET', path, sign: 'none' })
  assert.equal(outcome(answer), '401 NoAuthenticationInformation')
})
