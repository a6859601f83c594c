// Files: create with a length, replace, resize, properties and delete. range.test.ts tests their bytes.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { ShareClient, ShareSASPermissions } from '@azure/storage-file-share'
import { startFileFixture } from './fixture.ts'
import { assertRefused, md5Of, type Headers } from '../harness.ts'
import { outcomeOf } from './smb-client.ts'

const box = await startFileFixture({ share: 'files' })
const { share } = box

const FILE = { 'x-ms-type': 'file', 'x-ms-content-length': '1024' }
const A = '11111111-aaaa-4aaa-8aaa-111111111111'

const create = (name: string, headers: Headers = {}, body?: string | Uint8Array) =>
  box.send('PUT', `/files/${name}`, { ...FILE, ...headers }, body)

async function usageBytes(): Promise<number> {
  return (await share.getStatistics()).shareUsageBytes ?? -1
}

test('Create File returns all properties of the file', async () => {
  const answer = await create('all', { 'x-ms-meta-a': '1' })
  assert.equal(answer.status, 201, answer.text)
  const { headers } = answer
  assert.match(String(headers['etag']), /^"0x/)
  assert.equal(headers['x-ms-request-server-encrypted'], 'false')
  // x-ms-file-property-semantics is New, so the Archive attribute is set.
  assert.equal(headers['x-ms-file-attributes'], 'Archive')
  assert.match(String(headers['x-ms-file-permission-key']), /^\d+\*\d+$/)
  for (const name of ['creation', 'last-write', 'change']) {
    const text = new Date(box.server.now()).toISOString().replace('Z', '0000Z')
    assert.equal(headers[`x-ms-file-${name}-time`], text)
  }
})

test('Create File with Restore sets the attributes exactly as given', async () => {
  const semantics = { 'x-ms-file-property-semantics': 'Restore' }
  const plain = await create('restored', semantics)
  assert.equal(plain.headers['x-ms-file-attributes'], 'None')
  const created = await create('anew', { 'x-ms-file-attributes': 'ReadOnly|Hidden' })
  assert.equal(created.headers['x-ms-file-attributes'], 'ReadOnly | Hidden | Archive')
  await assertRefused(
    create('never', { 'x-ms-file-property-semantics': 'Old' }),
    400,
    'InvalidHeaderValue',
  )
})

test('Get File Properties returns all properties', async () => {
  await create('shown', {
    'x-ms-content-type': 'text/plain',
    'x-ms-content-encoding': 'gzip',
    'x-ms-content-language': 'de',
    'x-ms-cache-control': 'no-cache',
    'x-ms-content-disposition': 'inline',
    'x-ms-content-md5': 'AAAAAAAAAAAAAAAAAAAAAA==',
    'x-ms-meta-color': 'red',
  })
  const { status, headers } = await box.send('HEAD', '/files/SHOWN')
  assert.equal(status, 200)
  // prettier-ignore
  const expected = {
    'content-length': '1024', 'content-type': 'text/plain', 'content-encoding': 'gzip', 'content-language': 'de',
    'cache-control': 'no-cache', 'content-disposition': 'inline', 'content-md5': 'AAAAAAAAAAAAAAAAAAAAAA==',
    'x-ms-meta-color': 'red', 'x-ms-type': 'File', 'x-ms-server-encrypted': 'false',
    'x-ms-lease-state': 'available', 'x-ms-lease-status': 'unlocked', 'x-ms-file-parent-id': '0',
  }
  for (const [name, value] of Object.entries(expected)) assert.equal(headers[name], value, name)
})

describe('Create File is refused:', () => {
  before(async () => {
    await share.createDirectory('directory')
  })
  // prettier-ignore
  const REFUSED: readonly [name: string, headers: Headers, status: number, code: string][] = [
    ['directory', {}, 409, 'ResourceTypeMismatch'],
    ['none/file', {}, 404, 'ParentNotFound'],
    ['new', { 'x-ms-content-length': '' }, 400, 'MissingRequiredHeader'],
    ['new', { 'x-ms-content-length': '-1' }, 400, 'InvalidHeaderValue'],
    ['new', { 'x-ms-content-length': String(4 * 2 ** 40 + 1) }, 400, 'InvalidHeaderValue'],
    ['new', { 'x-ms-type': '' }, 400, 'MissingRequiredHeader'],
    ['new', { 'x-ms-type': 'blob' }, 400, 'InvalidHeaderValue'],
    ['new', { 'x-ms-lease-id': A }, 412, 'LeaseNotPresentWithFileOperation'],
    ['new', { 'if-none-match': '*' }, 400, 'ConditionHeadersNotSupported'],
    ['new', { 'x-ms-mode': '0644' }, 400, 'UnsupportedHeader'],
    ['new?sharesnapshot=2024-01-01T00:00:00.0000000Z', {}, 400, 'InvalidQueryParameterValue'],
  ]
  for (const [name, headers, status, code] of REFUSED) {
    test(`${name} with ${JSON.stringify(headers)}: ${status} ${code}`, () =>
      assertRefused(create(name, headers), status, code))
  }
})

describe('the quota', () => {
  test('limits the total length of all files, but an empty file is always possible', async () => {
    const before = await usageBytes()
    await share.setQuota(1)
    const room = 2 ** 30 - before
    const file = share.rootDirectoryClient.getFileClient('big')
    assert.equal(await outcomeOf(file.create(room + 1)), '409 ShareSizeLimitReached')
    await file.create(room)
    assert.equal(await usageBytes(), 2 ** 30)
    assert.equal(await outcomeOf(file.resize(room + 1)), '409 ShareSizeLimitReached')
    assert.equal((await create('empty', { 'x-ms-content-length': '0' })).status, 201)
    await file.resize(10)
    assert.equal(await usageBytes(), before + 10)
    await file.create(20)
    assert.equal(await usageBytes(), before + 20)
    await file.delete()
    assert.equal(await usageBytes(), before)
  })
})

describe('Create File of an existing file', () => {
  test('replaces everything except its id and its lease', async () => {
    const file = share.rootDirectoryClient.getFileClient('again')
    const options = { metadata: { old: '1' }, fileHttpHeaders: { fileContentType: 'a/b' } }
    const first = await file.create(100, options)
    await file.uploadRange('hello', 0, 5)
    await file.getShareLeaseClient(A).acquireLease(-1)
    assert.equal(await outcomeOf(file.create(50)), '412 LeaseIdMissing')
    const second = await file.create(50, { leaseAccessConditions: { leaseId: A } })
    assert.equal(second.fileId, first.fileId)
    assert.notEqual(second.etag, first.etag)
    const returned = await file.getProperties()
    assert.deepEqual(returned.metadata, {})
    assert.equal(returned.contentLength, 50)
    assert.equal(returned.contentType, 'application/octet-stream')
    assert.equal(returned.leaseState, 'leased')
    assert.deepEqual((await file.downloadToBuffer()).subarray(0, 5), Buffer.alloc(5))
  })

  test('is refused if it is read-only', async () => {
    await create('fixed', { 'x-ms-file-attributes': 'ReadOnly' })
    await assertRefused(create('fixed'), 409, 'ReadOnlyAttribute')
    await assertRefused(box.send('DELETE', '/files/fixed'), 409, 'ReadOnlyAttribute')
    await assertRefused(
      box.send('PUT', '/files/fixed?comp=properties', { 'x-ms-content-length': '1' }),
      409,
      'ReadOnlyAttribute',
    )
    const set = { 'x-ms-file-attributes': 'None' }
    assert.equal((await box.send('PUT', '/files/fixed?comp=properties', set)).status, 200)
    assert.equal((await create('fixed')).status, 201)
  })

  test('is refused with a SAS that can only create', async () => {
    const url = await share.generateSasUrl({
      permissions: ShareSASPermissions.parse('c'),
      expiresOn: new Date(box.server.now() + 3_600_000),
    })
    const file = new ShareClient(url).rootDirectoryClient.getFileClient('once')
    assert.equal(await outcomeOf(file.create(1)), 'ok')
    assert.equal(await outcomeOf(file.create(1)), '403 AuthorizationPermissionMismatch')
  })

  test('does not change it in a snapshot', async () => {
    const file = share.rootDirectoryClient.getFileClient('kept')
    await file.create(5)
    await file.uploadRange('first', 0, 5)
    const snapshot = await box.snapshotShare('files')
    await file.create(3)
    await file.delete()
    const then = share.withSnapshot(snapshot).rootDirectoryClient.getFileClient('kept')
    assert.equal(String(await then.downloadToBuffer()), 'first')
    assert.equal((await then.getProperties()).contentLength, 5)
  })
})

describe('bytes in Create File (2026-06-06)', () => {
  const NEW = { 'x-ms-version': '2026-06-06' }
  const LONG = Buffer.alloc(100_000, 7)
  test('are the first bytes of the file', async () => {
    for (const bytes of [Buffer.from('hello'), LONG]) {
      const md5 = md5Of(bytes)
      const length = { 'x-ms-content-length': String(bytes.length + 10) }
      const created = await create('bytes', { ...NEW, ...length, 'content-md5': md5 }, bytes)
      assert.equal(created.status, 201, created.text)
      assert.equal(created.headers['content-md5'], md5)
      const read = await share.rootDirectoryClient.getFileClient('bytes').downloadToBuffer()
      assert.deepEqual(read, Buffer.concat([bytes, Buffer.alloc(10)]))
    }
  })
  test('are refused in other cases', async () => {
    await assertRefused(create('old', {}, 'hello'), 400, 'InvalidHeaderValue')
    await assertRefused(
      create('long', { ...NEW, 'x-ms-content-length': '4' }, 'hello'),
      400,
      'InvalidHeaderValue',
    )
    const wrong = { ...NEW, 'content-md5': 'AAAAAAAAAAAAAAAAAAAAAA==' }
    await assertRefused(create('wrong', wrong, 'hello'), 400, 'Md5Mismatch')
    const much = { ...NEW, 'x-ms-content-length': String(2 ** 23) }
    await assertRefused(create('much', much, Buffer.alloc(2 ** 22 + 1)), 413, 'RequestBodyTooLarge')
    for (const name of ['old', 'long', 'wrong', 'much']) {
      assert.equal((await box.send('HEAD', `/files/${name}`)).status, 404, name)
    }
  })
})

describe('Set File Properties', () => {
  test('sets all content headers together', async () => {
    const file = share.rootDirectoryClient.getFileClient('headers')
    await file.create(10, { fileHttpHeaders: { fileContentType: 'a/b', fileCacheControl: 'x' } })
    await file.resize(20)
    assert.equal((await file.getProperties()).cacheControl, 'x')
    await file.setHttpHeaders({ fileContentType: 'c/d' })
    const returned = await file.getProperties()
    assert.deepEqual([returned.contentType, returned.cacheControl], ['c/d', undefined])
    assert.equal(returned.contentLength, 20)
  })

  test('removes the bytes after the new end for good', async () => {
    const file = share.rootDirectoryClient.getFileClient('cut')
    await file.create(10)
    await file.uploadRange('0123456789', 0, 10)
    const written = await file.getProperties()
    box.server.advance(1_000)
    await file.resize(4)
    await file.resize(8)
    assert.equal(String(await file.downloadToBuffer()), '0123\0\0\0\0')
    const { fileLastWriteOn } = await file.getProperties()
    assert.equal(Number(fileLastWriteOn) - Number(written.fileLastWriteOn), 1_000)
  })

  test('needs the lease id and an existing file', async () => {
    const file = share.rootDirectoryClient.getFileClient('leased')
    await file.create(1)
    await file.getShareLeaseClient(A).acquireLease(-1)
    for (const comp of ['properties', 'metadata']) {
      await assertRefused(box.send('PUT', `/files/leased?comp=${comp}`), 412, 'LeaseIdMissing')
      await assertRefused(box.send('PUT', `/files/gone?comp=${comp}`), 404, 'ResourceNotFound')
      await assertRefused(
        box.send('PUT', `/files/directory?comp=${comp}`),
        409,
        'ResourceTypeMismatch',
      )
      const lease = { 'x-ms-lease-id': A }
      assert.equal((await box.send('PUT', `/files/leased?comp=${comp}`, lease)).status, 200)
    }
    await assertRefused(box.send('DELETE', '/files/leased'), 412, 'LeaseIdMissing')
    assert.equal((await box.send('DELETE', '/files/leased', { 'x-ms-lease-id': A })).status, 202)
  })

  test('Set File Metadata replaces all metadata', async () => {
    const file = share.rootDirectoryClient.getFileClient('meta')
    const { etag } = await file.create(1, { metadata: { a: '1' } })
    const set = await file.setMetadata({ b: '2' })
    assert.notEqual(set.etag, etag)
    const returned = await box.send('GET', '/files/meta?comp=metadata')
    assert.deepEqual(
      [returned.headers['x-ms-meta-b'], returned.headers['x-ms-meta-a']],
      ['2', undefined],
    )
    const bad = { 'x-ms-meta-1a': 'x' }
    await assertRefused(box.send('PUT', '/files/meta?comp=metadata', bad), 400, 'InvalidMetadata')
  })
})
