// Directories: create, properties, metadata and delete; the root directory, names and parents.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { startFileFixture } from './fixture.ts'
import { assertRefused } from '../harness.ts'
import { markForDeletion, openPlace, outcomeOf, placeOf } from './smb-client.ts'

const box = await startFileFixture({ share: 'tree' })
const { share } = box

test('Create Directory returns all properties of the directory', async () => {
  const answer = await box.send('PUT', '/tree/All?restype=directory', {
    'x-ms-meta-color': 'blue',
    'x-ms-file-attributes': 'Hidden | System',
    'x-ms-file-creation-time': '2024-01-02T03:04:05.1234567Z',
  })
  assert.equal(answer.status, 201, answer.text)
  const { headers } = answer
  assert.match(String(headers['etag']), /^"0x[0-9A-F]+"$/)
  assert.equal(headers['last-modified'], new Date(box.server.now()).toUTCString())
  assert.equal(headers['x-ms-request-server-encrypted'], 'false')
  assert.equal(headers['x-ms-file-attributes'], 'Hidden | System | Directory')
  assert.equal(headers['x-ms-file-creation-time'], '2024-01-02T03:04:05.1234567Z')
  assert.match(String(headers['x-ms-file-permission-key']), /^\d+\*\d+$/)
  assert.match(String(headers['x-ms-file-id']), /^\d+$/)
  assert.equal(headers['x-ms-file-parent-id'], '0')

  const returned = await box.send('GET', '/tree/ALL?restype=directory')
  assert.equal(returned.status, 200)
  for (const name of ['etag', 'last-modified', 'x-ms-file-id', 'x-ms-file-attributes']) {
    assert.equal(returned.headers[name], headers[name], name)
  }
  assert.equal(returned.headers['x-ms-meta-color'], 'blue')
  assert.equal(returned.headers['x-ms-server-encrypted'], 'false')
})

describe('Create Directory is refused:', () => {
  before(async () => {
    await share.createDirectory('taken')
    await share.createFile('taken-file', 1)
  })
  // prettier-ignore
  const REFUSED: readonly [path: string, status: number, code: string][] = [
    ['/tree?restype=directory',               409, 'ResourceAlreadyExists'],
    ['/tree/taken?restype=directory',         409, 'ResourceAlreadyExists'],
    ['/tree/TAKEN?restype=directory',         409, 'ResourceAlreadyExists'],
    ['/tree/taken..?restype=directory',       409, 'ResourceAlreadyExists'],
    ['/tree/taken-file?restype=directory',    409, 'ResourceAlreadyExists'],
    ['/tree/none/below?restype=directory',    404, 'ParentNotFound'],
    ['/tree/taken-file/b?restype=directory',  404, 'ParentNotFound'],
    ['/none/below?restype=directory',         404, 'ShareNotFound'],
    ['/tree/a%3Ab?restype=directory',         400, 'InvalidResourceName'],
    ['/tree/con?restype=directory',           400, 'InvalidResourceName'],
    ['/tree/a//b?restype=directory',          400, 'InvalidFileOrDirectoryPathName'],
    [`/tree/${'n'.repeat(256)}?restype=directory`, 400, 'InvalidFileOrDirectoryPathName'],
    ['/tree/x?restype=directory&sharesnapshot=2024-01-01T00:00:00.0000000Z', 400, 'InvalidQueryParameterValue'],
  ]
  for (const [path, status, code] of REFUSED) {
    test(`${path}: ${status} ${code}`, () => assertRefused(box.send('PUT', path), status, code))
  }

  test('conditions, which the File service does not support', async () => {
    const headers = { 'if-match': '*' }
    for (const method of ['PUT', 'GET', 'DELETE']) {
      await assertRefused(
        box.send(method, '/tree/taken?restype=directory', headers),
        400,
        'ConditionHeadersNotSupported',
      )
    }
  })

  test('a directory marked for deletion by an SMB client', async () => {
    await share.createDirectory('going')
    const place = await placeOf(box.server, 'tree', 'going')
    await markForDeletion(box.server, place, true)
    const path = '/tree/going?restype=directory'
    for (const method of ['PUT', 'GET', 'DELETE']) {
      await assertRefused(box.send(method, path), 409, 'SMBDeletePending')
    }
    await markForDeletion(box.server, place, false)
    assert.equal((await box.send('GET', path)).status, 200)
  })
})

describe('in a directory marked for deletion by an SMB client', () => {
  before(async () => {
    await share.createDirectory('leaving')
    await share.createFile('mover', 1)
    await share.createDirectory('moving')
    await markForDeletion(box.server, await placeOf(box.server, 'tree', 'leaving'), true)
  })
  const source = (path: string) => `${box.server.fileEndpoint}/tree/${path}`
  const FILE = { 'x-ms-type': 'file', 'x-ms-content-length': '1' }
  // prettier-ignore
  const NEWCOMERS: readonly [what: string, query: string, headers: () => Record<string, string>][] = [
    ['Create Directory', '?restype=directory', () => ({})],
    ['Create File', '', () => FILE],
    ['Copy File', '', () => ({ 'x-ms-copy-source': source('mover') })],
    ['Rename File', '?comp=rename', () => ({ 'x-ms-file-rename-source': source('mover') })],
    ['Rename Directory', '?restype=directory&comp=rename', () => ({ 'x-ms-file-rename-source': source('moving') })],
  ]
  for (const [what, query, headers] of NEWCOMERS) {
    test(`${what} → 409 SMBDeletePending`, () =>
      assertRefused(
        box.send('PUT', `/tree/leaving/new${query}`, headers()),
        409,
        'SMBDeletePending',
      ))
  }
})

test('dots at the end of a name are removed unless the request keeps them', async () => {
  const path = '/tree/dots...?restype=directory'
  await box.send('PUT', path)
  assert.equal((await box.send('GET', '/tree/dots?restype=directory')).status, 200)
  const kept = { 'x-ms-allow-trailing-dot': 'true' }
  // The header exists since 2022-11-02.
  const before = await box.send('GET', path, { ...kept, 'x-ms-version': '2021-12-02' })
  assert.equal(before.status, 200)
  assert.equal((await box.send('GET', path, kept)).status, 404)
  assert.equal((await box.send('PUT', path, kept)).status, 201)
})

describe('Set Directory Properties and Metadata', () => {
  test('change the ETag and only what the request sets', async () => {
    const directory = share.getDirectoryClient('changing')
    const created = await directory.create({ metadata: { a: '1' } })
    box.server.advance(5_000)
    await directory.setProperties({ creationTime: new Date('2020-05-06T07:08:09Z') })
    const set = await directory.getProperties()
    assert.notEqual(set.etag, created.etag)
    assert.equal(set.fileCreatedOn?.toISOString(), '2020-05-06T07:08:09.000Z')
    assert.deepEqual(set.fileLastWriteOn, created.fileLastWriteOn)
    assert.equal(set.filePermissionKey, created.filePermissionKey)
    assert.equal(set.lastModified?.getTime(), Math.floor(box.server.now() / 1_000) * 1_000)
    assert.deepEqual(set.metadata, { a: '1' })

    await directory.setMetadata({ b: '2' })
    assert.deepEqual((await directory.getProperties()).metadata, { b: '2' })
    const metadata = await box.send('GET', '/tree/changing?restype=directory&comp=metadata')
    assert.deepEqual([metadata.status, metadata.headers['x-ms-meta-b']], [200, '2'])
  })

  test('apply to the root directory', async () => {
    const root = share.rootDirectoryClient
    await root.setMetadata({ top: 'yes' })
    await root.setProperties({ creationTime: new Date('2021-01-01T00:00:00Z') })
    const returned = await root.getProperties()
    assert.deepEqual(returned.metadata, { top: 'yes' })
    assert.equal(returned.fileCreatedOn?.toISOString(), '2021-01-01T00:00:00.000Z')
    assert.equal(returned.fileId, '0')
  })

  test('can set ReadOnly, which prevents the deletion but not changes', async () => {
    const directory = share.getDirectoryClient('read-only')
    await directory.create()
    const path = '/tree/read-only?restype=directory'
    const set = (attributes: string) =>
      box.send('PUT', `${path}&comp=properties`, { 'x-ms-file-attributes': attributes })
    assert.equal((await set('ReadOnly')).headers['x-ms-file-attributes'], 'ReadOnly | Directory')
    await directory.setMetadata({ a: '1' })
    await assertRefused(box.send('DELETE', path), 409, 'ReadOnlyAttribute')
    assert.equal((await set('None')).headers['x-ms-file-attributes'], 'Directory')
    assert.equal((await box.send('DELETE', path)).status, 202)
  })

  test('of a missing directory → 404, of a file → 409 ResourceTypeMismatch', async () => {
    await share.createFile('no-directory', 1)
    for (const comp of ['properties', 'metadata']) {
      const query = `restype=directory&comp=${comp}`
      await assertRefused(box.send('PUT', `/tree/gone?${query}`), 404, 'ResourceNotFound')
      await assertRefused(box.send('PUT', `/tree/gone/a?${query}`), 404, 'ParentNotFound')
      await assertRefused(
        box.send('PUT', `/tree/no-directory?${query}`),
        409,
        'ResourceTypeMismatch',
      )
    }
  })
})

test('reading a file as a directory, or a directory as a file, is answered with 404', async () => {
  await share.createFile('one-kind', 1)
  await share.createDirectory('other-kind')
  assert.equal(await share.getDirectoryClient('one-kind').exists(), false)
  assert.equal(await share.rootDirectoryClient.getFileClient('other-kind').exists(), false)
  const request = box.send('GET', '/tree/one-kind?restype=directory')
  await assertRefused(request, 404, 'ResourceNotFound')
})

describe('Delete Directory', () => {
  test('deletes only an empty directory, and never the root', async () => {
    await share.createDirectory('full')
    await share.createDirectory('full/inner')
    assert.equal(await outcomeOf(share.deleteDirectory('full')), '409 DirectoryNotEmpty')
    await share.deleteDirectory('full/inner')
    assert.equal(await outcomeOf(share.deleteDirectory('full')), 'ok')
    assert.equal(await outcomeOf(share.deleteDirectory('full')), '404 ResourceNotFound')
    assert.equal(await outcomeOf(share.deleteDirectory('full/inner')), '404 ParentNotFound')
    await assertRefused(
      box.send('DELETE', '/tree?restype=directory'),
      409,
      'CannotDeleteFileOrDirectory',
    )
  })

  test('of a directory that a client has open → 409 SharingViolation', async () => {
    await share.createDirectory('open')
    await openPlace(box.server, await placeOf(box.server, 'tree', 'open'))
    assert.equal(await outcomeOf(share.deleteDirectory('open')), '409 SharingViolation')
  })

  test('does not change it in a snapshot', async () => {
    await share.createDirectory('past')
    await share.createDirectory('past/inner', { metadata: { past: '1' } })
    const snapshot = await box.snapshotShare('tree')
    await share.deleteDirectory('past/inner')
    await share.deleteDirectory('past')
    const then = share.withSnapshot(snapshot).getDirectoryClient('past/inner')
    assert.deepEqual((await then.getProperties()).metadata, { past: '1' })
    assert.equal(
      await outcomeOf(share.getDirectoryClient('past').getProperties()),
      '404 ResourceNotFound',
    )
  })
})
