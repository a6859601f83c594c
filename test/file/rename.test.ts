// Rename File and Rename Directory, with the SDK, whose requests have no account in their path, and with raw requests.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { ShareClient, ShareFileClient, ShareSASPermissions } from '@azure/storage-file-share'
import { parseTimestamp } from '../../src/storage/shared/etag.ts'
import { getOpen } from '../../src/storage/file/open/open.ts'
import { ACCOUNT, assertRefused, outcome, rawRequest, type Headers } from '../harness.ts'
import { startFileFixture } from './fixture.ts'
import { markForDeletion, openPlace, outcomeOf, placeOf } from './smb-client.ts'

const box = await startFileFixture({ share: 'moves' })
const { share } = box

const A = '11111111-aaaa-4aaa-8aaa-111111111111'
const REPLACE = { 'x-ms-file-rename-replace-if-exists': 'true' }

const file = async (name: string, content = name): Promise<ShareFileClient> => {
  const client = share.rootDirectoryClient.getFileClient(name)
  await client.create(content.length)
  await client.uploadRange(content, 0, content.length)
  return client
}
const sourceOf = (path: string) => ({
  'x-ms-file-rename-source': `${box.server.fileEndpoint}/moves/${path}`,
})
const rename = (from: string, to: string, headers: Headers = {}, kind = '') =>
  box.send('PUT', `/moves/${to}?comp=rename${kind}`, { ...sourceOf(from), ...headers })
const renameDirectory = (from: string, to: string, headers: Headers = {}) =>
  rename(from, to, headers, '&restype=directory')
const exists = (path: string) => share.rootDirectoryClient.getFileClient(path).exists()
const contentOf = async (path: string) =>
  String(await share.rootDirectoryClient.getFileClient(path).downloadToBuffer())

describe('the SDK, whose request has no account in its path,', () => {
  test('renames files and directories with Shared Key and returns a client', async () => {
    const { destinationFileClient } = await (await file('sdk-file')).rename('sdk-new')
    assert.deepEqual([await exists('sdk-file'), await contentOf('sdk-new')], [false, 'sdk-file'])
    assert.equal((await destinationFileClient.getProperties()).contentLength, 8)
    const directory = share.getDirectoryClient('sdk-directory')
    await directory.create()
    await directory.createFile('inner', 3)
    await directory.rename('sdk-directory-2')
    assert(await exists('sdk-directory-2/inner'))
  })

  test('renames files and directories with a SAS', async () => {
    const url = await share.generateSasUrl({
      permissions: ShareSASPermissions.parse('rcwdl'),
      expiresOn: new Date(box.server.now() + 3_600_000),
    })
    await file('sas-file')
    await share.createDirectory('sas-directory')
    const sas = new ShareClient(url)
    await sas.rootDirectoryClient.getFileClient('sas-file').rename('sas-new')
    await sas.getDirectoryClient('sas-directory').rename('sas-directory-2')
    assert.equal(await contentOf('sas-new'), 'sas-file')
    assert(await share.getDirectoryClient('sas-directory-2').exists())
  })

  test('needs a SAS that permits source and target', async () => {
    await file('sas-kept')
    const sign = (permissions: string) =>
      share.generateSasUrl({
        permissions: ShareSASPermissions.parse(permissions),
        expiresOn: new Date(box.server.now() + 3_600_000),
      })
    const query = async (permissions: string) => new URL(await sign(permissions)).search.slice(1)
    const [read, write] = [await query('r'), await query('w')]
    const source = `${box.server.fileEndpoint}/moves/sas-kept`
    const clients: readonly [string, string | undefined, string][] = [
      [read, write, '403 AuthorizationPermissionMismatch'],
      [write, read, '403 AuthorizationPermissionMismatch'],
      [write, write.replace(/sig=[^&]*/, 'sig=AAAA'), '403 AuthenticationFailed'],
      [write, undefined, '404 ResourceNotFound'],
      [write, write, '200'],
    ]
    for (const [target, from, expected] of clients) {
      const headers = {
        'x-ms-file-rename-source': from === undefined ? source : `${source}?${from}`,
      }
      const path = '/moves/sas-moved?comp=rename'
      const answer = await box.send('PUT', path, headers, undefined, target)
      assert.equal(outcome(answer), expected, answer.text)
    }
  })

  test('is refused with an invalid signature or none', async () => {
    const path = '/moves/sdk-new?comp=rename'
    const port = { blobPort: box.server.filePort }
    const signed = await rawRequest(port, {
      method: 'PUT',
      path,
      wholePath: true,
      headers: { ...sourceOf('sdk-new'), authorization: `SharedKey ${ACCOUNT}:AAAA` },
      sign: 'none',
    })
    assert.equal(signed.status, 403)
    const plain = await rawRequest(port, { method: 'PUT', path, wholePath: true, sign: 'none' })
    assert.deepEqual([plain.status, plain.headers['x-ms-error-code']], [404, 'ResourceNotFound'])
  })
})

describe('a rename', () => {
  test('changes the name and the change times, but not the id, the bytes, the lease or the rest', async () => {
    const client = await file('keeps')
    await client.setMetadata({ a: '1' })
    await client.setHttpHeaders({ fileContentType: 'text/plain', fileCacheControl: 'x' })
    const before = await client.getProperties()
    await client.getShareLeaseClient(A).acquireLease(-1)
    box.server.advance(2_000)
    await assertRefused(rename('keeps', 'kept'), 412, 'LeaseIdMissing')
    const answer = await rename('keeps', 'kept', { 'x-ms-source-lease-id': A })
    assert.equal(answer.status, 200, answer.text)
    const after = await share.rootDirectoryClient.getFileClient('kept').getProperties()
    assert.equal(after.fileId, before.fileId)
    assert.equal(answer.headers['x-ms-file-id'], before.fileId)
    assert.notEqual(after.etag, before.etag)
    assert.equal(answer.headers['etag'], after.etag)
    for (const name of [
      'fileCreatedOn',
      'fileLastWriteOn',
      'filePermissionKey',
      'metadata',
      'contentType',
      'cacheControl',
    ] as const) {
      assert.deepEqual(after[name], before[name], name)
    }
    assert.equal(Number(after.fileChangeOn) - Number(before.fileChangeOn), 2_000)
    assert.equal(after.leaseState, 'leased')
  })

  test('changes the properties that the request sets', async () => {
    await file('sets')
    const answer = await rename('sets', 'set', {
      'x-ms-meta-b': '2',
      'x-ms-content-type': 'a/b',
      'x-ms-file-attributes': 'Hidden',
      'x-ms-file-creation-time': '2001-02-03T04:05:06.0000000Z',
    })
    assert.equal(answer.headers['x-ms-file-attributes'], 'Hidden')
    const returned = await share.rootDirectoryClient.getFileClient('set').getProperties()
    assert.deepEqual([returned.metadata, returned.contentType], [{ b: '2' }, 'a/b'])
    assert.equal(returned.fileCreatedOn?.toISOString(), '2001-02-03T04:05:06.000Z')
  })

  test('can change only the case of a name', async () => {
    await file('Case')
    assert.equal((await rename('case', 'CASE')).status, 200)
    const names: string[] = []
    for await (const item of share.rootDirectoryClient.listFilesAndDirectories({ prefix: 'case' }))
      names.push(item.name)
    assert.deepEqual(names, ['CASE'])
  })

  test('moves a directory with its content at once, but not in a snapshot', async () => {
    await share.createDirectory('old')
    await share.createDirectory('old/deep')
    await share.createDirectory('target')
    await file('old/deep/file', 'content')
    const snapshot = await box.snapshotShare('moves')
    const answer = await renameDirectory('old', 'target/new')
    assert.equal(answer.status, 200, answer.text)
    const target = await share.getDirectoryClient('target').getProperties()
    assert.equal(answer.headers['x-ms-file-parent-id'], target.fileId)
    assert.equal(await contentOf('target/new/deep/file'), 'content')
    assert.equal(await exists('old/deep/file'), false)
    const then = share.withSnapshot(snapshot).getDirectoryClient('old/deep').getFileClient('file')
    assert.equal(String(await then.downloadToBuffer()), 'content')
  })
})

describe('an existing target', () => {
  test('is replaced only on request', async () => {
    const [source, target] = [await file('winner'), await file('loser')]
    await assertRefused(rename('winner', 'loser'), 409, 'ResourceAlreadyExists')
    const { fileId } = await source.getProperties()
    const usage = (await share.getStatistics()).shareUsageBytes ?? 0
    assert.equal((await rename('winner', 'LOSER', REPLACE)).status, 200)
    assert.equal((await target.getProperties()).fileId, fileId)
    assert.equal(await contentOf('loser'), 'winner')
    assert.equal((await share.getStatistics()).shareUsageBytes, usage - 'loser'.length)
  })

  test('is protected by ReadOnly and a lease', async () => {
    await file('from')
    const target = await file('to')
    await box.send('PUT', '/moves/to?comp=properties', { 'x-ms-file-attributes': 'ReadOnly' })
    await assertRefused(rename('from', 'to', REPLACE), 409, 'ReadOnlyAttribute')
    await target.getShareLeaseClient(A).acquireLease(-1)
    const ignore = { ...REPLACE, 'x-ms-file-rename-ignore-readonly': 'true' }
    await assertRefused(rename('from', 'to', ignore), 412, 'LeaseIdMissing')
    const lease = { 'x-ms-destination-lease-id': A }
    await assertRefused(rename('from', 'free', lease), 412, 'LeaseNotPresentWithFileOperation')
    assert.equal((await rename('from', 'to', { ...ignore, ...lease })).status, 200)
    await assertRefused(
      rename('to', 'x', { 'x-ms-file-rename-ignore-readonly': 'true' }),
      400,
      'InvalidHeaderValue',
    )
  })

  test('is never replaced if it is a directory; a file is, also by a directory', async () => {
    const leased = (await file('a-file')).getShareLeaseClient()
    for (const name of ['a-directory', 'b-directory']) await share.createDirectory(name)
    await assertRefused(
      renameDirectory('a-directory', 'b-directory', REPLACE),
      409,
      'ResourceAlreadyExists',
    )
    await assertRefused(rename('a-file', 'a-directory', REPLACE), 409, 'ResourceTypeMismatch')
    await assertRefused(renameDirectory('a-directory', 'a-file'), 409, 'ResourceAlreadyExists')
    const { leaseId = '' } = await leased.acquireLease()
    const without = renameDirectory('a-directory', 'a-file', REPLACE)
    await assertRefused(without, 412, 'LeaseIdMissing')
    const lease = { ...REPLACE, 'x-ms-destination-lease-id': leaseId }
    assert.equal((await renameDirectory('a-directory', 'a-file', lease)).status, 200)
    assert.ok(await share.getDirectoryClient('a-file').exists())
    assert.equal(await share.getDirectoryClient('a-directory').exists(), false)
  })
})

describe('a rename is refused:', () => {
  before(async () => {
    await file('plain')
    await share.createDirectory('up')
    await share.createDirectory('up/down')
  })
  // prettier-ignore
  const REFUSED: readonly [from: string, to: string, kind: 'file' | 'directory', status: number, code: string][] = [
    ['none',     'x',         'file',      404, 'ResourceNotFound'],
    ['none/x',   'x',         'file',      404, 'ParentNotFound'],
    ['plain',    'none/x',    'file',      404, 'ParentNotFound'],
    ['up',       'x',         'file',      409, 'ResourceTypeMismatch'],
    ['plain',    'x',         'directory', 409, 'ResourceTypeMismatch'],
    ['up',       'up/x',      'directory', 400, 'InvalidInput'],
    ['up',       'up/down/x', 'directory', 400, 'InvalidInput'],
    ['',         'x',         'directory', 400, 'InvalidHeaderValue'],
    ['plain',    'a%3Ab',     'file',      400, 'InvalidResourceName'],
  ]
  for (const [from, to, kind, status, code] of REFUSED) {
    test(`${kind} ${from} → ${to}: ${status} ${code}`, () =>
      assertRefused(kind === 'file' ? rename(from, to) : renameDirectory(from, to), status, code))
  }

  test('a source on another server, or none', async () => {
    await box.createShare('other')
    const path = '/moves/x?comp=rename'
    const send = (source: string) => box.send('PUT', path, { 'x-ms-file-rename-source': source })
    await assertRefused(box.send('PUT', path), 400, 'MissingRequiredHeader')
    await assertRefused(send(`${box.server.fileEndpoint}/other/plain`), 400, 'InvalidHeaderValue')
    await assertRefused(send('plain'), 400, 'InvalidHeaderValue')
    const past = `${box.server.fileEndpoint}/moves/plain?sharesnapshot=2024-01-01T00:00:00.0000000Z`
    await assertRefused(send(past), 400, 'InvalidHeaderValue')
    const condition = { ...sourceOf('plain'), 'if-match': '*' }
    await assertRefused(box.send('PUT', path, condition), 400, 'ConditionHeadersNotSupported')
  })
})

describe('with SMB clients:', () => {
  test('an open below a directory prevents its rename', async () => {
    await share.createDirectory('busy')
    await share.createDirectory('busy/deep')
    await file('busy/deep/file')
    await openPlace(box.server, await placeOf(box.server, 'moves', 'busy/deep/file'))
    await assertRefused(renameDirectory('busy', 'idle'), 409, 'SharingViolation')
    await assertRefused(renameDirectory('busy/deep', 'idle'), 409, 'SharingViolation')
    assert.equal((await rename('busy/deep/file', 'out')).status, 200)
    assert.equal((await renameDirectory('busy', 'idle')).status, 200)
  })

  test('an open that does not share delete prevents the rename of a file; any open protects a target', async () => {
    await file('held')
    await openPlace(box.server, await placeOf(box.server, 'moves', 'held'), { shareAccess: 3 })
    await assertRefused(rename('held', 'free-1'), 409, 'SharingViolation')
    await file('mover')
    await file('seat')
    await openPlace(box.server, await placeOf(box.server, 'moves', 'seat'))
    await assertRefused(rename('mover', 'seat', REPLACE), 409, 'SharingViolation')
  })

  test('handles show the new name, those on a snapshot the old one', async () => {
    await share.createDirectory('moving')
    await share.createDirectory('shelf')
    await file('moving/open')
    const before = await placeOf(box.server, 'moves', 'moving/open')
    await openPlace(box.server, before)
    const snapshot = parseTimestamp(await box.snapshotShare('moves'))
    assert(snapshot !== undefined)
    const past = await openPlace(box.server, before, { snapshot })
    await openPlace(box.server, await placeOf(box.server, 'moves', 'moving'))
    assert.equal((await rename('moving/open', 'shelf/Other')).status, 200)
    assert.equal((await renameDirectory('moving', 'shelf/moved')).status, 200)
    const shelf = await placeOf(box.server, 'moves', 'shelf')
    const listed: unknown[] = []
    for await (const { path, parentId } of share
      .getDirectoryClient('shelf')
      .listHandles({ recursive: true })) {
      listed.push([path, parentId])
    }
    assert.deepEqual(listed, [
      ['shelf/moved', `${shelf.nodeId}`],
      ['shelf/Other', `${shelf.nodeId}`],
    ])
    assert.deepEqual(await box.server.file.kv.read((tx) => getOpen(tx, past)), past)
  })

  test('a file marked for deletion can be neither renamed nor replaced', async () => {
    await file('doomed')
    await file('well')
    await markForDeletion(box.server, await placeOf(box.server, 'moves', 'doomed'), true)
    await assertRefused(rename('doomed', 'free-2'), 409, 'SMBDeletePending')
    await assertRefused(rename('well', 'doomed', REPLACE), 409, 'SMBDeletePending')
  })

  test('clients are notified of the old and the new name', async () => {
    await file('told')
    const changes: unknown[] = []
    const stop = box.server.file.kv.listen((event) => {
      if (event.kind === 'change')
        changes.push([event.action, event.from?.name, event.name, event.filter])
    })
    await rename('told', 'telling')
    stop()
    assert.deepEqual(changes, [['renamed', 'told', 'telling', 1]])
  })
})

test('only one of many clients can rename a file', async () => {
  await file('contended')
  const all = await Promise.all(
    Array.from({ length: 16 }, (_, at) =>
      outcomeOf(share.rootDirectoryClient.getFileClient('contended').rename(`won-${at}`)),
    ),
  )
  assert.equal(all.filter((outcome) => outcome === 'ok').length, 1)
  assert.equal(all.filter((outcome) => outcome === '404 ResourceNotFound').length, 15)
})

test('names keep their trailing dots if the request says so for source and target', async () => {
  const dots = { 'x-ms-allow-trailing-dot': 'true', 'x-ms-source-allow-trailing-dot': 'true' }
  const created = {
    'x-ms-type': 'file',
    'x-ms-content-length': '1',
    'x-ms-allow-trailing-dot': 'true',
  }
  await box.send('PUT', '/moves/dotted.', created)
  await assertRefused(rename('dotted.', 'dotless.'), 404, 'ResourceNotFound')
  assert.equal((await rename('dotted.', 'dotless.', dots)).status, 200)
  assert.equal((await box.send('HEAD', '/moves/dotless')).status, 404)
})
