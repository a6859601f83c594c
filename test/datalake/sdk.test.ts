// @azure/storage-file-datalake against the account with a hierarchical namespace: every operation of the SDK.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  DataLakeServiceClient,
  type DataLakeFileClient,
  type DataLakeFileSystemClient,
} from '@azure/storage-file-datalake'
import { assertBytes } from '../assert-bytes.ts'
import { startTestServer } from '../harness.ts'
import { LAKE } from './fixture.ts'

const server = await startTestServer()
after(() => server.close())
const service = DataLakeServiceClient.fromConnectionString(server.connectionStringOf(LAKE))

let count = 0
async function filesystem(): Promise<DataLakeFileSystemClient> {
  count += 1
  const created = service.getFileSystemClient(`sdk-${count}`)
  await created.create()
  return created
}

async function file(fs: DataLakeFileSystemClient, path: string, content: string) {
  const client = fs.getFileClient(path)
  await client.upload(Buffer.from(content))
  return client
}

async function textOf(client: DataLakeFileClient): Promise<string> {
  return (await client.readToBuffer()).toString()
}

async function pathsOf(fs: DataLakeFileSystemClient, options = {}): Promise<string[]> {
  const names: string[] = []
  for await (const { name } of fs.listPaths(options)) names.push(name ?? '')
  return names
}

const codeOf = (code: string) => (error: unknown) => {
  assert(error instanceof Error && 'code' in error, String(error))
  assert.equal(error.code, code)
  return true
}

test('the connection string leads to Data Lake Storage', () => {
  assert.equal(service.url, `http://127.0.0.1:${server.blobPort}/${LAKE}/`.replace(/\/$/, ''))
})

test('filesystems are created, listed, changed and deleted', async () => {
  const fs = await filesystem()
  assert.equal(await fs.exists(), true)
  await fs.setMetadata({ a: 'b' })
  assert.deepEqual((await fs.getProperties()).metadata, { a: 'b' })
  const names: string[] = []
  for await (const { name } of service.listFileSystems()) names.push(name)
  assert(names.includes(fs.name))
  await fs.delete()
  assert.equal(await fs.exists(), false)
})

test('a file is appended to, flushed and read', async () => {
  const fs = await filesystem()
  const client = fs.getFileClient('a/b/c.txt')
  await client.create({ metadata: { k: 'v' }, pathHttpHeaders: { contentType: 'text/plain' } })
  await client.append('hello ', 0, 6)
  await client.append('world', 6, 5)
  assert.equal((await client.getProperties()).contentLength, 0)
  await client.flush(11)
  assert.equal(await textOf(client), 'hello world')
  const range = await client.read(6, 3)
  assert.equal(range.contentLength, 3)
  const properties = await client.getProperties()
  assert.equal(properties.contentType, 'text/plain')
  assert.deepEqual(properties.metadata, { k: 'v' })
  assert.deepEqual(await pathsOf(fs, { recursive: true }), ['a', 'a/b', 'a/b/c.txt'])
})

test('a long upload in parallel arrives whole', async () => {
  const fs = await filesystem()
  const bytes = Buffer.alloc(3 * 1024 * 1024, 'lazuli')
  const client = fs.getFileClient('long')
  await client.upload(bytes, { singleUploadThreshold: 64 * 1024, chunkSize: 256 * 1024 })
  assertBytes(await client.readToBuffer(), bytes)
})

test('a directory is created, renamed and deleted with what it has', async () => {
  const fs = await filesystem()
  const directory = fs.getDirectoryClient('dir')
  await directory.create()
  assert.equal(await directory.exists(), true)
  await file(fs, 'dir/sub/x', 'content')
  await assert.rejects(directory.delete(false), codeOf('DirectoryNotEmpty'))
  await directory.move('other')
  assert.deepEqual(await pathsOf(fs, { recursive: true }), ['other', 'other/sub', 'other/sub/x'])
  assert.equal(await textOf(fs.getFileClient('other/sub/x')), 'content')
  await fs.getDirectoryClient('other').delete(true)
  assert.deepEqual(await pathsOf(fs, { recursive: true }), [])
})

test('a file is renamed, also to another filesystem', async () => {
  const [fs, other] = [await filesystem(), await filesystem()]
  const client = await file(fs, 'from here', 'content')
  const { etag } = await client.getProperties()
  await client.move('to there')
  assert.deepEqual(await pathsOf(fs), ['to there'])
  await fs.getFileClient('to there').move(other.name, 'gone')
  assert.deepEqual(await pathsOf(fs), [])
  assert.equal(await textOf(other.getFileClient('gone')), 'content')
  assert.equal((await other.getFileClient('gone').getProperties()).etag, etag)
  const conditions = { ifNoneMatch: '*' }
  await file(other, 'there', '')
  await assert.rejects(
    other.getFileClient('gone').move('there', { destinationConditions: conditions }),
    codeOf('PathAlreadyExists'),
  )
})

test('conditions and leases hold', async () => {
  const fs = await filesystem()
  const client = await file(fs, 'x', 'content')
  await assert.rejects(
    client.create({ conditions: { ifNoneMatch: '*' } }),
    codeOf('PathAlreadyExists'),
  )
  await assert.rejects(client.createIfNotExists().then(({ succeeded }) => assert(succeeded)))
  const lease = client.getDataLakeLeaseClient()
  const { leaseId = '' } = await lease.acquireLease(15)
  await assert.rejects(client.append('more', 7, 4), codeOf('LeaseIdMissing'))
  await client.append('more', 7, 4, { conditions: { leaseId } })
  await client.flush(11, { conditions: { leaseId } })
  await lease.renewLease()
  await lease.releaseLease()
  assert.equal(await textOf(client), 'contentmore')
})

test('append and flush acquire, renew and release leases', async () => {
  const fs = await filesystem()
  const client = fs.getFileClient('x')
  await client.create()
  const proposedLeaseId = 'aaaaaaaa-0000-4000-8000-000000000000'
  await client.append('ab', 0, 2, {
    leaseAction: 'acquire',
    proposedLeaseId,
    leaseDurationInSeconds: 15,
  })
  assert.equal((await client.getProperties()).leaseState, 'leased')
  const conditions = { leaseId: proposedLeaseId }
  const renewed = await client.append('cd', 2, 2, { leaseAction: 'auto-renew', conditions })
  assert.equal(renewed.leaseRenewed, true)
  await client.flush(4, { leaseAction: 'release', conditions })
  assert.equal((await client.getProperties()).leaseState, 'available')
  assert.equal(await textOf(client), 'abcd')
})

test('access control is set and read', async () => {
  const fs = await filesystem()
  const directory = fs.getDirectoryClient('dir')
  await directory.create()
  const initial = await directory.getAccessControl()
  assert.equal(initial.owner, '$superuser')
  assert.equal(initial.group, '$superuser')
  assert.deepEqual(initial.permissions?.other, { read: false, write: false, execute: false })
  await directory.setAccessControl([
    { accessControlType: 'user', entityId: '', defaultScope: false, permissions: RWX },
    { accessControlType: 'group', entityId: '', defaultScope: false, permissions: RX },
    { accessControlType: 'other', entityId: '', defaultScope: false, permissions: NONE },
    { accessControlType: 'user', entityId: BOB, defaultScope: false, permissions: RX },
    { accessControlType: 'user', entityId: BOB, defaultScope: true, permissions: RX },
  ])
  const { acl, permissions } = await directory.getAccessControl()
  assert.deepEqual(
    acl.find(({ entityId, defaultScope }) => entityId === BOB && !defaultScope)?.permissions,
    RX,
  )
  assert.equal(permissions?.extendedAcls, true)
  await directory.setPermissions({
    owner: RWX,
    group: RX,
    other: NONE,
    stickyBit: true,
    extendedAcls: false,
  })
  assert.equal((await directory.getAccessControl()).permissions?.stickyBit, true)
  const child = await file(fs, 'dir/child', '')
  assert((await child.getAccessControl()).acl.some(({ entityId }) => entityId === BOB))
})

const RWX = { read: true, write: true, execute: true }
const RX = { read: true, write: false, execute: true }
const NONE = { read: false, write: false, execute: false }
const BOB = 'bbbbbbbb-0000-4000-8000-000000000000'

test('access control is changed recursively, in pages', async () => {
  const fs = await filesystem()
  for (const name of ['d/a', 'd/b', 'd/e/c']) await file(fs, name, '')
  const directory = fs.getDirectoryClient('d')
  const bob = { accessControlType: 'user', entityId: BOB, defaultScope: false } as const
  const pages: number[] = []
  const changed = await directory.updateAccessControlRecursive([{ ...bob, permissions: RX }], {
    batchSize: 2,
    onProgress: ({ batchCounters }) =>
      pages.push(batchCounters.changedFilesCount + batchCounters.changedDirectoriesCount),
  })
  assert.deepEqual(changed.counters, {
    changedDirectoriesCount: 2,
    changedFilesCount: 3,
    failedChangesCount: 0,
  })
  assert.deepEqual(pages, [2, 2, 1])
  const aclOf = async (path: string) =>
    (await fs.getFileClient(path).getAccessControl()).acl.filter(({ entityId }) => entityId === BOB)
  assert.equal((await aclOf('d/e/c')).length, 1)
  await directory.removeAccessControlRecursive([bob])
  assert.equal((await aclOf('d/e/c')).length, 0)
  const all = [
    { accessControlType: 'user', entityId: '', defaultScope: false, permissions: RWX },
    { accessControlType: 'group', entityId: '', defaultScope: false, permissions: RX },
    { accessControlType: 'other', entityId: '', defaultScope: false, permissions: RX },
  ] as const
  const set = await directory.setAccessControlRecursive([...all])
  assert.equal(set.counters.changedFilesCount, 3)
})

test('paths are listed page by page with their properties', async () => {
  const fs = await filesystem()
  for (const name of ['a', 'b/c', 'b/d', 'e']) await file(fs, name, name)
  assert.deepEqual(await pathsOf(fs), ['a', 'b', 'e'])
  assert.deepEqual(await pathsOf(fs, { path: 'b' }), ['b/c', 'b/d'])
  const pages: string[][] = []
  const found = fs.listPaths({ recursive: true }).byPage({ maxPageSize: 2 })
  for await (const { pathItems = [] } of found) pages.push(pathItems.map(({ name }) => name ?? ''))
  assert.deepEqual(
    pages.filter(({ length }) => length > 0),
    [['a', 'b'], ['b/c', 'b/d'], ['e']],
  )
  const { value } = await fs.listPaths({ path: 'b' }).next()
  assert.equal(value.contentLength, 3)
  assert.equal(value.permissions.owner.write, true)
  assert.match(value.etag, /^0x/)
  assert(Math.abs(value.createdOn - server.now()) < 1_000)
  assert.deepEqual(await pathsOf(fs, { recursive: true, startFrom: 'b/d' }), ['b/d', 'e'])
})

test('a file expires', async () => {
  const fs = await filesystem()
  const client = await file(fs, 'x', 'content')
  await client.setExpiry('RelativeToNow', { timeToExpireInMs: 1_000 })
  assert.notEqual((await client.getProperties()).expiresOn, undefined)
  server.advance(2_000)
  assert.equal(await client.exists(), false)
})

test('metadata and headers are set', async () => {
  const fs = await filesystem()
  const client = await file(fs, 'x', 'content')
  await client.setMetadata({ one: '1' })
  await client.setHttpHeaders({ contentType: 'text/csv', cacheControl: 'no-store' })
  const properties = await client.getProperties()
  assert.deepEqual(properties.metadata, { one: '1' })
  assert.equal(properties.contentType, 'text/csv')
  assert.equal(properties.cacheControl, 'no-store')
})

test('a deleted path is listed and restored', async () => {
  const fs = await filesystem()
  await service.setProperties?.({ deleteRetentionPolicy: { enabled: true, days: 7 } })
  await file(fs, 'd/x', 'content')
  await fs.getDirectoryClient('d').delete(true)
  const deleted = []
  for await (const item of fs.listDeletedPaths()) deleted.push(item)
  assert.deepEqual(
    deleted.map(({ name }) => name),
    ['d'],
  )
  const [{ deletionId = '' } = {}] = deleted
  await fs.undeletePath('d', deletionId)
  assert.equal(await textOf(fs.getFileClient('d/x')), 'content')
})
