// Shared access signatures created by the SDK, over the wire: permissions, times, addresses and stored access policies.
// The test controls the clock.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  AccountSASPermissions,
  AccountSASResourceTypes,
  AccountSASServices,
  BlobSASPermissions,
  BlobServiceClient,
  ContainerSASPermissions,
  generateAccountSASQueryParameters,
  generateBlobSASQueryParameters,
  SASProtocol,
  StorageSharedKeyCredential,
  type BlobSASSignatureValues,
} from '@azure/storage-blob'
import { ACCOUNT, ACCOUNT_KEY, outcome, rawRequest, xmlText, type RawResponse } from './harness.ts'
import { BLOCK_BLOB, startBlobFixture } from './blob/fixture.ts'

const HOUR_MS = 3_600_000
const credential = new StorageSharedKeyCredential(ACCOUNT, ACCOUNT_KEY)

const { server, service, put, send } = await startBlobFixture()
await put('b', 'hello')
await put('other', 'other')
await service.createContainer('second')

function fromNow(byMs: number): Date {
  return new Date(server.now() + byMs)
}

function ask(method: string, path: string, sas: string): Promise<RawResponse> {
  return send(method, path, BLOCK_BLOB, undefined, sas)
}

function accountSas(permissions: string, types: string, services = 'b'): string {
  const values = {
    permissions: AccountSASPermissions.parse(permissions),
    resourceTypes: AccountSASResourceTypes.parse(types).toString(),
    services: AccountSASServices.parse(services).toString(),
    expiresOn: fromNow(HOUR_MS),
  }
  return generateAccountSASQueryParameters(values, credential).toString()
}

const DENIED = '403 AuthorizationPermissionMismatch'
const WRONG_TYPE = '403 AuthorizationResourceTypeMismatch'
const FAILED = '403 AuthenticationFailed'
const REFUSED = '403 AuthorizationFailure'

// prettier-ignore
const ACCOUNT_SAS: readonly [permissions: string, types: string, method: string, path: string, outcome: string][] = [
  ['r', 'o', 'GET', '/box/b', '200'],
  ['w', 'o', 'GET', '/box/b', DENIED],
  ['r', 'sc', 'GET', '/box/b', WRONG_TYPE],
  ['l', 's', 'GET', '?comp=list', '200'],
  ['r', 's', 'GET', '?comp=list', DENIED],
  ['l', 'c', 'GET', '?comp=list', WRONG_TYPE],
  ['l', 'c', 'GET', '/box?restype=container&comp=list', '200'],
  ['l', 'o', 'GET', '/box?restype=container&comp=list', WRONG_TYPE],
  ['r', 's', 'GET', '?restype=service&comp=properties', '200'],
  ['rwdlacup', 'sco', 'GET', '/box?restype=container&comp=acl', REFUSED],
  ['c', 'o', 'PUT', '/box/b', '403 UnauthorizedBlobOverwrite'],
  ['c', 'o', 'PUT', '/box/account-new', '201'],
  ['w', 'o', 'PUT', '/box/account-new', '201'],
  ['w', 'o', 'DELETE', '/box/account-new', DENIED],
  ['d', 'o', 'DELETE', '/box/account-new', '202'],
  ['c', 'c', 'PUT', '/made?restype=container', '201'],
  ['c', 'c', 'PUT', '/made?restype=container', '409 ContainerAlreadyExists'],
  ['d', 'c', 'DELETE', '/made?restype=container', '202'],
]

for (const [permissions, types, method, path, expected] of ACCOUNT_SAS) {
  test(`account SAS sp=${permissions} srt=${types}: ${method} ${path} → ${expected}`, async () => {
    const answer = await ask(method, path, accountSas(permissions, types))
    assert.equal(outcome(answer), expected, answer.text)
  })
}

test('an account SAS for another service is refused with 403', async () => {
  const answer = await ask('GET', '/box/b', accountSas('r', 'o', 'qtf'))
  assert.equal(outcome(answer), '403 AuthorizationServiceMismatch')
})

type Terms = Partial<BlobSASSignatureValues>

function containerSas(permissions: string, terms: Terms = {}): string {
  const granted =
    permissions === '' ? {} : { permissions: ContainerSASPermissions.parse(permissions) }
  const times = terms.identifier === undefined ? { expiresOn: fromNow(HOUR_MS) } : {}
  const values = { containerName: 'box', ...granted, ...times, ...terms }
  return generateBlobSASQueryParameters(values, credential).toString()
}

function blobSas(permissions: string, terms: Terms = {}): string {
  const granted = { permissions: BlobSASPermissions.parse(permissions) }
  return containerSas('', { blobName: 'b', ...granted, ...terms })
}

// prettier-ignore
const SERVICE_SAS: readonly [what: string, sas: () => string, method: string, path: string, outcome: string][] = [
  ['container, r', () => containerSas('r'), 'GET', '/box/b', '200'],
  ['container, r', () => containerSas('r'), 'HEAD', '/box/other', '200'],
  ['container, w', () => containerSas('w'), 'GET', '/box/b', DENIED],
  ['container, l', () => containerSas('l'), 'GET', '/box?restype=container&comp=list', '200'],
  ['container, r', () => containerSas('r'), 'GET', '/box?restype=container&comp=list', DENIED],
  ['container, rwdl', () => containerSas('rwdl'), 'GET', '/box?restype=container', REFUSED],
  ['container, rwdl', () => containerSas('rwdl'), 'DELETE', '/box?restype=container', REFUSED],
  ['container, rwdl', () => containerSas('rwdl'), 'GET', '/second/b', FAILED],
  ['container, rwdl', () => containerSas('rwdl'), 'GET', '?comp=list', FAILED],
  ['blob, r', () => blobSas('r'), 'GET', '/box/b', '200'],
  ['blob, r', () => blobSas('r'), 'GET', '/box/other', FAILED],
  ['blob, r', () => blobSas('r'), 'GET', '/box?restype=container&comp=list', FAILED],
  ['blob, r', () => blobSas('r'), 'PUT', '/box/b', DENIED],
  ['blob, c', () => blobSas('c'), 'PUT', '/box/b', '403 UnauthorizedBlobOverwrite'],
  ['blob, c', () => blobSas('c', { blobName: 'new' }), 'PUT', '/box/new', '201'],
  ['blob, cw', () => blobSas('cw', { blobName: 'new' }), 'PUT', '/box/new', '201'],
  ['blob, d', () => blobSas('d', { blobName: 'new' }), 'DELETE', '/box/new', '202'],
  ['blob, rd', () => blobSas('rd', { blobName: 'new' }), 'GET', '/box/new', '404 BlobNotFound'],
  ['expired', () => blobSas('r', { expiresOn: fromNow(-1_000) }), 'GET', '/box/b', FAILED],
  ['not yet valid', () => blobSas('r', { startsOn: fromNow(60_000) }), 'GET', '/box/b', FAILED],
  ['already valid', () => blobSas('r', { startsOn: fromNow(-60_000) }), 'GET', '/box/b', '200'],
  ['this address', () => blobSas('r', { ipRange: { start: '127.0.0.1' } }), 'GET', '/box/b', '200'],
  ['this range', () => blobSas('r', { ipRange: { start: '127.0.0.0', end: '127.0.0.9' } }), 'GET', '/box/b', '200'],
  ['another address', () => blobSas('r', { ipRange: { start: '10.0.0.1' } }), 'GET', '/box/b', '403 AuthorizationSourceIPMismatch'],
  ['both protocols', () => blobSas('r', { protocol: SASProtocol.HttpsAndHttp }), 'GET', '/box/b', '200'],
  ['https only', () => blobSas('r', { protocol: SASProtocol.Https }), 'GET', '/box/b', '403 AuthorizationProtocolMismatch'],
  ['a missing policy', () => containerSas('', { identifier: 'none' }), 'GET', '/box/b', FAILED],
  ['a permission added after signing', () => containerSas('r').replace('sp=r', 'sp=rw'), 'PUT', '/box/b', FAILED],
  ['a time changed after signing', () => containerSas('r').replace(/se=20/, 'se=21'), 'GET', '/box/b', FAILED],
  ['no signature', () => containerSas('r').replace(/&?sig=[^&]*/, ''), 'GET', '/box/b', FAILED],
  ['no expiry time', () => containerSas('r').replace(/&?se=[^&]*/, ''), 'GET', '/box/b', FAILED],
  ['another key', () => otherKeySas(), 'GET', '/box/b', FAILED],
]

function otherKeySas(): string {
  const other = new StorageSharedKeyCredential(ACCOUNT, Buffer.alloc(64, 1).toString('base64'))
  const permissions = BlobSASPermissions.parse('r')
  const values = { containerName: 'box', blobName: 'b', permissions, expiresOn: fromNow(HOUR_MS) }
  return generateBlobSASQueryParameters(values, other).toString()
}

for (const [what, sas, method, path, expected] of SERVICE_SAS) {
  test(`service SAS, ${what}: ${method} ${path} → ${expected}`, async () => {
    const answer = await ask(method, path, sas())
    assert.equal(outcome(answer), expected, answer.text)
  })
}

test('a condition on tags needs the permission to read them', async () => {
  const headers = { 'x-ms-if-tags': "a = 'b'" }
  const get = (sign: string) => rawRequest(server, { method: 'GET', path: '/box/b', headers, sign })
  assert.equal(outcome(await get(blobSas('r'))), DENIED)
  assert.equal(outcome(await get(blobSas('rt'))), '412 ConditionNotMet')
  assert.equal(outcome(await get(accountSas('r', 'o'))), DENIED)
  assert.equal(outcome(await get(accountSas('rt', 'o'))), '412 ConditionNotMet')
})

test("a condition on the tags of a copy's source needs the permission to read them", async () => {
  const copy = (sas: string) => {
    const source = `${server.blobEndpoint}/box/b?${sas}`
    const headers = { 'x-ms-copy-source': source, 'x-ms-source-if-tags': "a = 'b'" }
    return rawRequest(server, { method: 'PUT', path: '/box/copied', headers })
  }
  assert.equal(outcome(await copy(blobSas('r'))), '403 CannotVerifyCopySource')
  assert.equal((await copy(blobSas('rt'))).status, 412)
})

test("a SAS expires by the server's clock", async () => {
  const sas = blobSas('r', { startsOn: fromNow(-60_000), expiresOn: fromNow(60_000) })
  server.advance(58_000)
  assert.equal(outcome(await ask('GET', '/box/b', sas)), '200')
  server.advance(3_000)
  const late = await ask('GET', '/box/b', sas)
  assert.equal(outcome(late), FAILED)
  const detail = xmlText(late.text, 'AuthenticationErrorDetail') ?? ''
  assert.match(detail, /^Signature not valid in the specified time frame: Start \[/)
})

test('a stored access policy grants, changes and revokes permissions', async () => {
  const container = service.getContainerClient('box')
  const sas = containerSas('', { identifier: 'policy' })
  const setPolicy = (permissions: string, expiresOn = fromNow(HOUR_MS)) =>
    container.setAccessPolicy(undefined, [
      { id: 'policy', accessPolicy: { permissions, expiresOn, startsOn: fromNow(-1_000) } },
    ])
  await setPolicy('r')
  assert.equal(outcome(await ask('GET', '/box/b', sas)), '200')
  assert.equal(outcome(await ask('PUT', '/box/b', sas)), DENIED)
  await setPolicy('rw')
  assert.equal(outcome(await ask('PUT', '/box/b', sas)), '201')
  const twice = containerSas('', { identifier: 'policy', expiresOn: fromNow(HOUR_MS) })
  assert.equal(outcome(await ask('GET', '/box/b', twice)), FAILED)
  await setPolicy('r', fromNow(-500))
  assert.equal(outcome(await ask('GET', '/box/b', sas)), FAILED)
  await container.setAccessPolicy()
  assert.equal(outcome(await ask('GET', '/box/b', sas)), FAILED)
})

test('a SAS overrides response headers', async () => {
  const sas = blobSas('r', {
    cacheControl: 'no-store',
    contentDisposition: 'attachment; filename="ä.txt"',
    contentEncoding: 'identity',
    contentLanguage: 'de',
    contentType: 'text/plain; charset=utf-8',
  })
  for (const method of ['GET', 'HEAD']) {
    const { headers } = await ask(method, '/box/b', sas)
    assert.equal(headers['cache-control'], 'no-store')
    const disposition = Buffer.from(String(headers['content-disposition']), 'latin1').toString()
    assert.equal(disposition, 'attachment; filename="ä.txt"')
    assert.equal(headers['content-encoding'], 'identity')
    assert.equal(headers['content-language'], 'de')
    assert.equal(headers['content-type'], 'text/plain; charset=utf-8')
  }
  const widened = await ask('GET', '/box/b', `${blobSas('r')}&rsct=text%2Fhtml`)
  assert.equal(outcome(widened), FAILED)
})

test('the SDK reads, writes and lists with a SAS alone', async () => {
  const guest = new BlobServiceClient(`${server.blobEndpoint}?${accountSas('rwlc', 'sco')}`)
  const container = guest.getContainerClient('by-sas')
  await container.create()
  await container.getBlockBlobClient('ä b/c').upload('hello', 5)
  const names: string[] = []
  for await (const { name } of container.listBlobsFlat()) names.push(name)
  assert.deepEqual(names, ['ä b/c'])
  const url = await service
    .getContainerClient('by-sas')
    .getBlobClient('ä b/c')
    .generateSasUrl({
      permissions: BlobSASPermissions.parse('r'),
      expiresOn: fromNow(HOUR_MS),
    })
  assert.equal(await (await fetch(url)).text(), 'hello')
})
