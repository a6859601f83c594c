// Access to shares and files with an account SAS, a service SAS of a share or a file, stored policies, a user
// delegation SAS and tokens, created by the SDK. The test controls the clock.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  AccountSASPermissions,
  AccountSASResourceTypes,
  AccountSASServices,
  FileSASPermissions,
  generateAccountSASQueryParameters,
  generateFileSASQueryParameters,
  ShareClient,
  ShareFileClient,
  ShareSASPermissions,
  ShareServiceClient,
  StorageSharedKeyCredential,
} from '@azure/storage-file-share'
import { UnsecuredJWT } from 'jose'
import { delegationKeyIn } from '../delegation-key.ts'
import { ACCOUNT, ACCOUNT_KEY, outcome, type Headers } from '../harness.ts'
import { startFileFixture } from './fixture.ts'
import { outcomeOf } from './smb-client.ts'

const HOUR_MS = 3_600_000
const credential = new StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY)

const { server, share, send } = await startFileFixture({ oauth: 'basic', silent: true })
await share.createDirectory('dir')
for (const path of ['dir/a', 'b']) {
  const file = share.rootDirectoryClient.getFileClient(path)
  await file.create(5)
  await file.uploadRange('hello', 0, 5)
}

const fromNow = (byMs: number) => new Date(server.now() + byMs)

const NEW_FILE = { 'x-ms-type': 'file', 'x-ms-content-length': '1' }
const CLEAR = { 'x-ms-write': 'clear', 'x-ms-range': 'bytes=0-0' }

async function ask(method: string, path: string, sas: string): Promise<string> {
  const headers = path.includes('comp=range') ? CLEAR : method === 'PUT' ? NEW_FILE : {}
  return outcome(await send(method, path, headers, undefined, sas))
}

const DENIED = '403 AuthorizationPermissionMismatch'
const WRONG_TYPE = '403 AuthorizationResourceTypeMismatch'
const FAILED = '403 AuthenticationFailed'
const REFUSED = '403 AuthorizationFailure'
const ROOT_LIST = '/box?restype=directory&comp=list'

function accountSas(permissions: string, types: string, services = 'f'): string {
  const values = {
    permissions: AccountSASPermissions.parse(permissions),
    resourceTypes: AccountSASResourceTypes.parse(types).toString(),
    services: AccountSASServices.parse(services).toString(),
    expiresOn: fromNow(HOUR_MS),
  }
  return generateAccountSASQueryParameters(values, credential).toString()
}

// prettier-ignore
const ACCOUNT_SAS: readonly [permissions: string, types: string, method: string, path: string, outcome: string][] = [
  ['r', 'o', 'GET', '/box/dir/a', '200'],
  ['w', 'o', 'GET', '/box/dir/a', DENIED],
  ['r', 'sc', 'GET', '/box/dir/a', WRONG_TYPE],
  ['l', 's', 'GET', '?comp=list', '200'],
  ['r', 's', 'GET', '?comp=list', DENIED],
  ['l', 'c', 'GET', '?comp=list', WRONG_TYPE],
  ['l', 'c', 'GET', ROOT_LIST, '200'],
  ['l', 'o', 'GET', ROOT_LIST, WRONG_TYPE],
  ['r', 'c', 'GET', '/box?restype=share', '200'],
  ['r', 'o', 'GET', '/box/dir?restype=directory', '200'],
  ['rwdlacup', 'sco', 'GET', '/box?restype=share&comp=acl', REFUSED],
  ['c', 'c', 'PUT', '/new-share?restype=share', '201'],
  ['w', 'c', 'DELETE', '/new-share?restype=share', DENIED],
  ['d', 'c', 'DELETE', '/new-share?restype=share', '202'],
  ['c', 'o', 'PUT', '/box/account-new', '201'],
  ['c', 'o', 'PUT', '/box/account-new', DENIED],
  ['w', 'o', 'PUT', '/box/account-new', '201'],
  ['c', 'o', 'PUT', '/box/account-new?comp=range', DENIED],
  ['w', 'o', 'PUT', '/box/account-new?comp=range', '201'],
  ['rw', 'o', 'DELETE', '/box/account-new', DENIED],
  ['d', 'o', 'DELETE', '/box/account-new', '202'],
]
for (const [permissions, types, method, path, expected] of ACCOUNT_SAS) {
  test(`account SAS ${permissions} for ${types}: ${method} ${path} → ${expected}`, async () => {
    assert.equal(await ask(method, path, accountSas(permissions, types)), expected)
  })
}

test('an account SAS for another service and an expired one are refused', async () => {
  assert.equal(
    await ask('GET', '/box/b', accountSas('r', 'o', 'bqt')),
    '403 AuthorizationServiceMismatch',
  )
  const sas = accountSas('r', 'o')
  server.advance(HOUR_MS + 60_000)
  assert.equal(await ask('GET', '/box/b', sas), FAILED)
})

const shareSas = (permissions: string) =>
  generateFileSASQueryParameters(
    {
      shareName: 'box',
      permissions: ShareSASPermissions.parse(permissions),
      expiresOn: fromNow(HOUR_MS),
    },
    credential,
  ).toString()

const fileSas = (permissions: string) =>
  generateFileSASQueryParameters(
    {
      shareName: 'box',
      filePath: 'dir/a',
      permissions: FileSASPermissions.parse(permissions),
      expiresOn: fromNow(HOUR_MS),
    },
    credential,
  ).toString()

// prettier-ignore
const SERVICE_SAS: readonly [kind: 'share' | 'file', permissions: string, method: string, path: string, outcome: string][] = [
  ['share', 'r', 'GET', '/box/dir/a', '200'],
  ['share', 'r', 'GET', ROOT_LIST, DENIED],
  ['share', 'l', 'GET', ROOT_LIST, '200'],
  ['share', 'l', 'GET', '/box/b?comp=listhandles', '200'],
  ['share', 'c', 'PUT', '/box/share-new', '201'],
  ['share', 'c', 'PUT', '/box/share-new', DENIED],
  ['share', 'd', 'DELETE', '/box/share-new', '202'],
  ['share', 'c', 'PUT', '/box/share-dir?restype=directory', '201'],
  ['share', 'r', 'DELETE', '/box/share-dir?restype=directory', DENIED],
  ['share', 'd', 'DELETE', '/box/share-dir?restype=directory', '202'],
  // A SAS for the content of a share does not apply to the share itself.
  ['share', 'rcwdl', 'GET', '/box?restype=share', REFUSED],
  ['share', 'rcwdl', 'DELETE', '/box?restype=share', REFUSED],
  ['share', 'rcwdl', 'GET', '/box?restype=share&comp=acl', REFUSED],
  ['share', 'rcwdl', 'PUT', '/box?restype=share&comp=snapshot', REFUSED],
  ['share', 'rcwdl', 'GET', '?comp=list', FAILED],
  ['share', 'rcwdl', 'GET', '/other/dir/a', FAILED],
  ['file', 'r', 'GET', '/box/dir/a', '200'],
  ['file', 'r', 'HEAD', '/box/dir/a', '200'],
  ['file', 'r', 'GET', '/box/dir/a?comp=rangelist', '200'],
  ['file', 'r', 'PUT', '/box/dir/a?comp=range', DENIED],
  ['file', 'w', 'PUT', '/box/dir/a?comp=range', '201'],
  ['file', 'rcwd', 'GET', '/box/b', FAILED],
  ['file', 'rcwd', 'GET', ROOT_LIST, FAILED],
]
for (const [kind, permissions, method, path, expected] of SERVICE_SAS) {
  test(`SAS ${permissions} of a ${kind}: ${method} ${path} → ${expected}`, async () => {
    const sas = kind === 'share' ? shareSas(permissions) : fileSas(permissions)
    assert.equal(await ask(method, path, sas), expected)
  })
}

test('a stored policy grants and revokes permissions', async () => {
  const policy = { permissions: 'rl', startsOn: fromNow(-HOUR_MS), expiresOn: fromNow(HOUR_MS) }
  await share.setAccessPolicy([{ id: 'readers', accessPolicy: policy }])
  const values = { shareName: 'box', identifier: 'readers' }
  const sas = generateFileSASQueryParameters(values, credential).toString()
  assert.equal(await ask('GET', '/box/b', sas), '200')
  assert.equal(await ask('GET', ROOT_LIST, sas), '200')
  assert.equal(await ask('DELETE', '/box/b', sas), DENIED)
  await share.setAccessPolicy([])
  assert.equal(await ask('GET', '/box/b', sas), FAILED)
})

describe('a token:', () => {
  const TENANT = 'ab1f708d-50f6-404c-a006-d71b2ac7a606'
  const seconds = Math.floor(Date.now() / 1_000)
  const token = new UnsecuredJWT({
    aud: 'https://storage.azure.com',
    iss: `https://sts.windows.net/${TENANT}/`,
    nbf: seconds - 60,
    exp: seconds + 36_000,
    oid: '4fd0e7a0-0a2c-4f2f-8b46-2d0a3f0d9d11',
    tid: TENANT,
  }).encode()
  const sendWithToken = (method: string, path: string, headers: Headers, body?: string) =>
    send(method, path, { ...headers, authorization: `Bearer ${token}` }, body, 'none')
  const INTENT = { 'x-ms-file-request-intent': 'backup' }

  // prettier-ignore
  const TOKENS: readonly [method: string, path: string, headers: Record<string, string>, outcome: string][] = [
    ['GET', '/box/b', INTENT, '200'],
    ['GET', ROOT_LIST, INTENT, '200'],
    ['PUT', '/box/by-token', { ...INTENT, ...NEW_FILE }, '201'],
    ['DELETE', '/box/by-token', INTENT, '202'],
    ['GET', '/box/b', {}, '400 MissingRequiredHeader'],
    ['GET', '/box/b', { 'x-ms-file-request-intent': 'other' }, '400 InvalidHeaderValue'],
  ]
  for (const [method, path, headers, expected] of TOKENS) {
    test(`${method} ${path} ${headers['x-ms-file-request-intent'] ?? 'without an intent'} → ${expected}`, async () => {
      assert.equal(outcome(await sendWithToken(method, path, headers)), expected)
    })
  }

  test('the key that it gets signs a user delegation SAS', async () => {
    const body =
      `<KeyInfo><Start>${fromNow(0).toISOString().slice(0, 19)}Z</Start>` +
      `<Expiry>${fromNow(HOUR_MS).toISOString().slice(0, 19)}Z</Expiry></KeyInfo>`
    const path = '/?restype=service&comp=userdelegationkey'
    const answer = await sendWithToken('POST', path, INTENT, body)
    assert.equal(outcome(answer), '200', answer.text)
    const key = delegationKeyIn(answer.text)
    assert.equal(key.signedService, 'f')
    const options = { permissions: ShareSASPermissions.parse('r'), expiresOn: fromNow(HOUR_MS / 2) }
    const file = share.rootDirectoryClient.getFileClient('b')
    const url = file.generateUserDelegationSasUrl(options, key)
    assert.equal(String(await new ShareFileClient(url).downloadToBuffer()), 'hello')
    assert.equal(await outcomeOf(new ShareFileClient(url).delete()), DENIED)
    const all = { permissions: ShareSASPermissions.parse('rl'), expiresOn: fromNow(HOUR_MS / 2) }
    const guest = new ShareClient(share.generateUserDelegationSasUrl(all, key))
    const names: string[] = []
    for await (const { name } of guest.rootDirectoryClient.listFilesAndDirectories())
      names.push(name)
    assert(names.includes('b') && names.includes('dir'))
    const forged = file.generateUserDelegationSasUrl(options, { ...key, value: 'AAAA' })
    assert.equal(await outcomeOf(new ShareFileClient(forged).getProperties()), FAILED)
  })
})

test('the SDK uses an account SAS', async () => {
  const service = new ShareServiceClient(server.fileEndpoint, credential)
  const permissions = AccountSASPermissions.parse('rl')
  const url = service.generateAccountSasUrl(fromNow(HOUR_MS), permissions, 'sco')
  const names: string[] = []
  for await (const { name } of new ShareServiceClient(url).listShares()) names.push(name)
  assert.deepEqual(names, ['box'])
})

test('a request without credentials is refused and learns nothing', async () => {
  const answer = await send('GET', '/box/b', {}, undefined, 'none')
  assert.match(outcome(answer), /^40[134] /)
  assert.equal(answer.text.includes('hello'), false)
})
