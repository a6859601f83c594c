// SAS from the Azure SDKs, for each service and each version that changed the string to sign.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  AzureNamedKeyCredential,
  generateAccountSas as generateTableAccountSas,
  generateTableSas,
} from '@azure/data-tables'
import * as blobs from '@azure/storage-blob'
import * as shares from '@azure/storage-file-share'
import * as queues from '@azure/storage-queue'
import { accountKey } from '../../storage/shared/account.ts'
import { authenticate } from '../authenticate.ts'
import { ACCOUNT, KEYS, AUTH_NOW_MS, outcome, authRequest, AUTH_WORLD } from '../example.ts'
import type { AuthRequest, ServiceName } from '../request.ts'
import { getUserDelegationKey } from './user-delegation-key.ts'

const HOST = 'https://devstoreaccount1.blob.core.windows.net'
const MISMATCH = '403 AuthenticationFailed Signature did not match. String to sign used was'
const startsOn = new Date(AUTH_NOW_MS - 60_000)
const expiresOn = new Date(AUTH_NOW_MS + 3_600_000)
const credential = new blobs.StorageSharedKeyCredential(ACCOUNT, KEYS[1] ?? '')

const at = (service: ServiceName, path: string, sas: string, more: Partial<AuthRequest> = {}) =>
  authRequest(service, { url: `${HOST}${path}?${sas}` }, more)

const accepted = async (request: AuthRequest) =>
  outcome(async () => assert.match((await authenticate(request, AUTH_WORLD)).kind, /Sas$/))

const everything = {
  startsOn,
  expiresOn,
  ipRange: { start: '203.0.113.0', end: '203.0.113.255' },
  protocol: blobs.SASProtocol.HttpsAndHttp,
  cacheControl: 'no-store',
  contentDisposition: 'attachment; filename="ü+&.txt"',
  contentEncoding: 'gzip',
  contentLanguage: 'de',
  contentType: 'text/plain',
}

test('an account SAS is accepted in every version', async () => {
  for (const version of ['2015-04-05', '2019-12-12', '2020-12-06', '2026-04-06']) {
    const values = {
      version,
      startsOn,
      expiresOn,
      permissions: blobs.AccountSASPermissions.parse('rwdlacup'),
      services: 'bqtf',
      resourceTypes: 'sco',
      ...(version < '2020-12-06' ? {} : { encryptionScope: 'scope1' }),
    }
    const sas = blobs.generateAccountSASQueryParameters(values, credential).toString()
    for (const service of ['blob', 'queue', 'table', 'file'] as const) {
      assert.equal(await accepted(at(service, '/c', sas)), 'ok', version)
    }
    const identity = await authenticate(at('blob', '/c', sas), AUTH_WORLD)
    assert.deepEqual(identity, {
      kind: 'accountSas',
      permissions: 'rwdlacup',
      resourceTypes: 'sco',
      encryptionScope: version < '2020-12-06' ? undefined : 'scope1',
    })
    const unsigned = at('blob', '/c', sas.replace('srt=sco', 'srt=s'))
    assert.match(await accepted(unsigned), new RegExp(MISMATCH))
  }
})

test('an account SAS is refused once the keys of the account have changed', async () => {
  const permissions = blobs.AccountSASPermissions.parse('r')
  const values = { expiresOn, permissions, services: 'b', resourceTypes: 'o' }
  const sas = blobs.generateAccountSASQueryParameters(values, credential).toString()
  // The same map, as for a query that is decoded once.
  const request = at('blob', '/c/b', sas)
  assert.equal(await accepted(request), 'ok')
  const rotated = { name: ACCOUNT, keys: [accountKey(Buffer.from('another').toString('base64'))] }
  const world = { ...AUTH_WORLD, accounts: { get: () => rotated, names: () => [ACCOUNT] } }
  await assert.rejects(async () => authenticate(request, world), { code: 'AuthenticationFailed' })
})

test('an account SAS of the table SDK is accepted', async () => {
  const named = new AzureNamedKeyCredential(ACCOUNT, KEYS[0] ?? '')
  const sas = generateTableAccountSas(named, { startsOn, expiresOn })
  assert.equal(await accepted(at('table', '/People', sas)), 'ok')
})

const versionsOfBlobs = ['2015-04-05', '2018-11-09', '2020-02-10', '2020-12-06', '2026-04-06']

test('a service SAS opens only its container, blob, snapshot, version or directory', async () => {
  const time = '2026-01-01T00:00:00.1234567Z'
  for (const version of versionsOfBlobs) {
    const sasOf = (more: Partial<blobs.BlobSASSignatureValues>) => {
      const permissions = blobs.BlobSASPermissions.parse('rw')
      const values = { containerName: 'c', permissions, version, ...everything, ...more }
      return blobs.generateBlobSASQueryParameters(values, credential).toString()
    }
    const container = sasOf({})
    const blob = sasOf({ blobName: 'a b/ü' })
    const rows: [name: string, path: string, sas: string, ok: boolean][] = [
      ['container', '/c', container, true],
      ['blob by container', '/c/a%20b/x', container, true],
      ['other container', '/d', container, false],
      ['service', '/', container, false],
      ['blob', '/c/a%20b/%C3%BC', blob, true],
      ['other blob', '/c/a%20b/x', blob, false],
    ]
    if (version >= '2018-11-09') {
      const snapshot = sasOf({ blobName: 'b', snapshotTime: time })
      rows.push(
        ['snapshot', '/c/b', `snapshot=${time}&${snapshot}`, true],
        ['other snapshot', '/c/b', `snapshot=2026-01-02T00:00:00.0Z&${snapshot}`, false],
        ['not the snapshot', '/c/b', snapshot, false],
      )
    }
    if (version >= '2020-02-10') {
      const versioned = sasOf({ blobName: 'b', versionId: time })
      const directory = sasOf({ blobName: 'd1/d2', isDirectory: true })
      rows.push(
        ['version', '/c/b', `versionid=${time}&${versioned}`, true],
        ['not the version', '/c/b', versioned, false],
        ['directory', '/c/d1/d2', directory, true],
        ['in the directory', '/c/d1/d2/x/y', directory, true],
        ['other directory', '/c/d1/d3/x', directory, false],
      )
    }
    for (const [name, path, sas, ok] of rows) {
      const result = await accepted(at('blob', path, sas))
      assert.match(result, ok ? /^ok$/ : new RegExp(MISMATCH), `${version} ${name}`)
    }
  }
})

test('a service SAS carries response headers and an encryption scope', async () => {
  const values = {
    ...everything,
    containerName: 'c',
    blobName: 'b',
    permissions: blobs.BlobSASPermissions.parse('r'),
    encryptionScope: 'scope1',
  }
  const sas = blobs.generateBlobSASQueryParameters(values, credential).toString()
  assert.deepEqual(await authenticate(at('blob', '/c/b', sas), AUTH_WORLD), {
    kind: 'serviceSas',
    permissions: 'r',
    resource: 'b',
    table: undefined,
    keyRange: {},
    responseHeaders: {
      cacheControl: 'no-store',
      contentDisposition: 'attachment; filename="ü+&.txt"',
      contentEncoding: 'gzip',
      contentLanguage: 'de',
      contentType: 'text/plain',
    },
    encryptionScope: 'scope1',
  })
})

test('a blob SAS of an old version, whose sr is not signed, cannot be widened', async () => {
  const permissions = blobs.BlobSASPermissions.parse('r')
  const values = {
    containerName: 'c',
    blobName: 'b',
    permissions,
    expiresOn,
    version: '2015-04-05',
  }
  const sas = blobs.generateBlobSASQueryParameters(values, credential).toString()
  const directory = sas.replace('sr=b', 'sr=d&sdd=1')
  const sr = "403 AuthenticationFailed SAS field 'sr' is not well formed."
  assert.equal(await accepted(at('blob', '/c/b/secret', directory)), sr)
  assert.equal(await accepted(at('blob', '/c', sas)), sr)
  assert.match(await accepted(at('blob', '/c', sas.replace('sr=b', 'sr=c'))), new RegExp(MISMATCH))
})

test('a service SAS opens only its queue', async () => {
  const shared = new queues.StorageSharedKeyCredential(ACCOUNT, KEYS[0] ?? '')
  for (const version of ['2015-04-05', '2026-04-06']) {
    const permissions = queues.QueueSASPermissions.parse('raup')
    const values = { queueName: 'q', permissions, startsOn, expiresOn, version }
    const sas = queues.generateQueueSASQueryParameters(values, shared).toString()
    assert.equal(await accepted(at('queue', '/q/messages', sas)), 'ok')
    assert.match(await accepted(at('queue', '/other', sas)), new RegExp(MISMATCH))
  }
})

test('a service SAS opens only its table, whatever the case of the name', async () => {
  const named = new AzureNamedKeyCredential(ACCOUNT, KEYS[0] ?? '')
  const sas = generateTableSas('People', named, {
    permissions: { query: true, add: true },
    startsOn,
    expiresOn,
    startPartitionKey: 'a',
    startRowKey: '1',
    endPartitionKey: 'b',
    endRowKey: '2',
  })
  assert.equal(await accepted(at('table', '/pEOPLE', sas)), 'ok')
  assert.match(await accepted(at('table', '/Pets', sas)), new RegExp(MISMATCH))
  const identity = await authenticate(at('table', '/$batch', sas), AUTH_WORLD)
  assert.equal(identity.kind, 'serviceSas')
  assert.equal(identity.table, 'people')
  const ends = { startPartitionKey: 'a', startRowKey: '1', endPartitionKey: 'b', endRowKey: '2' }
  assert.deepEqual(identity.keyRange, ends)
})

test('a service SAS opens only its share or file', async () => {
  const shared = new shares.StorageSharedKeyCredential(ACCOUNT, KEYS[0] ?? '')
  const values = {
    ...everything,
    shareName: 's',
    permissions: shares.FileSASPermissions.parse('r'),
  }
  const share = shares.generateFileSASQueryParameters(
    { ...values, permissions: shares.ShareSASPermissions.parse('rl') },
    shared,
  )
  assert.equal(await accepted(at('file', '/s/d/f', share.toString())), 'ok')
  assert.match(await accepted(at('file', '/t/d/f', share.toString())), new RegExp(MISMATCH))
  const file = shares.generateFileSASQueryParameters({ ...values, filePath: 'd/f' }, shared)
  assert.equal(await accepted(at('file', '/s/d/f', file.toString())), 'ok')
  assert.match(await accepted(at('file', '/s/d/g', file.toString())), new RegExp(MISMATCH))
})

const account = { name: ACCOUNT, keys: KEYS.map(accountKey) }
const USER = {
  oid: '11059fcc-5514-4800-b5f8-49808b9cfab6',
  tid: 'ab1f708d-50f6-404c-a006-d71b2ac7a606',
}

function delegationKey(service: string, version = '2026-04-06') {
  const expiryMs = AUTH_NOW_MS + 3_600_000
  const key = getUserDelegationKey(
    account,
    { claims: USER, expiryMs, service, version },
    AUTH_NOW_MS,
  )
  return {
    signedObjectId: key.signedOid,
    signedTenantId: key.signedTid,
    signedStartsOn: new Date(key.signedStart),
    signedExpiresOn: new Date(key.signedExpiry),
    signedService: key.signedService,
    signedVersion: key.signedVersion,
    value: key.value,
  }
}

test('a user delegation SAS opens only its container or blob', async () => {
  const versions = ['2018-11-09', '2020-02-10', '2020-12-06', '2025-07-05', '2026-04-06']
  for (const version of versions) {
    const values = {
      ...everything,
      startsOn: new Date(AUTH_NOW_MS),
      containerName: 'c',
      permissions: blobs.BlobSASPermissions.parse('r'),
      version,
      ...(version < '2020-02-10' ? {} : { correlationId: '1f6e7d0e-4f3a-4b55-9b9e-6b0c2f0a3b11' }),
    }
    const key = delegationKey('b', version)
    const sasOf = (more: Partial<blobs.BlobSASSignatureValues>) =>
      blobs.generateBlobSASQueryParameters({ ...values, ...more }, key, ACCOUNT).toString()
    assert.equal(await accepted(at('blob', '/c/b', sasOf({}))), 'ok', version)
    const blob = sasOf({ blobName: 'b' })
    assert.equal(await accepted(at('blob', '/c/b', blob)), 'ok', version)
    assert.match(await accepted(at('blob', '/c/x', blob)), new RegExp(MISMATCH))
    const stranger = blob.replace(USER.oid, USER.tid)
    assert.match(await accepted(at('blob', '/c/b', stranger)), new RegExp(MISMATCH))
    const identity = await authenticate(at('blob', '/c/b', blob), AUTH_WORLD)
    assert.equal(identity.kind === 'userDelegationSas' && identity.objectId, USER.oid)
  }
})

test('a user delegation SAS may bind headers and query parameters', async () => {
  const values = {
    containerName: 'c',
    permissions: blobs.BlobSASPermissions.parse('r'),
    expiresOn,
    version: '2026-04-06',
    requestHeaders: { 'x-ms-meta-a': '1', 'X-Other': 'two' },
    requestQueryParameters: { comp: 'list', restype: 'container' },
  }
  const sas = blobs.generateBlobSASQueryParameters(values, delegationKey('b'), ACCOUNT).toString()
  const request = (other: string) =>
    at('blob', '/c', `restype=container&comp=list&${sas}`, {
      headers: { 'x-ms-meta-a': '1', 'x-other': other },
    })
  assert.equal(await accepted(request('two')), 'ok')
  assert.match(await accepted(request('three')), new RegExp(MISMATCH))
})

test('a user delegation SAS of a queue or a share is accepted', async () => {
  const queue = queues.generateQueueSASQueryParameters(
    { queueName: 'q', permissions: queues.QueueSASPermissions.parse('r'), expiresOn },
    delegationKey('q'),
    ACCOUNT,
  )
  assert.equal(await accepted(at('queue', '/q', queue.toString())), 'ok')
  const file = shares.generateFileSASQueryParameters(
    { shareName: 's', permissions: shares.ShareSASPermissions.parse('r'), expiresOn },
    delegationKey('f'),
    ACCOUNT,
  )
  assert.equal(await accepted(at('file', '/s/f', file.toString())), 'ok')
})
