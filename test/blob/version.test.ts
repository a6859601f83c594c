// Versions: which writes create one, reading and deleting them, enabling and disabling versioning.
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { assertRefused, type Headers } from '../harness.ts'
import { NO_VERSIONING, startBlobFixture, VERSIONING } from './fixture.ts'

const box = await startBlobFixture()

beforeEach(() => box.setServiceProperties(VERSIONING))

const ID = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z$/

describe('with versioning', () => {
  test('every Put Blob creates a version, which can be read', async () => {
    const ids: string[] = []
    for (const body of ['one', 'two', 'three']) ids.push(await box.put('puts', body))
    for (const id of ids) assert.match(id, ID)
    assert.deepEqual(ids, ids.toSorted())
    const bodies = await Promise.all(ids.map((id) => box.read(`/box/puts?versionid=${id}`)))
    assert.deepEqual(bodies, ['one', 'two', 'three'])
    assert.equal(await box.read('/box/puts'), 'three')
  })

  test('only the current version is marked as current', async () => {
    const [first, second] = [await box.put('current', 'one'), await box.put('current', 'two')]
    const PATHS = [
      ['/box/current', second, 'true'],
      [`/box/current?versionid=${second}`, second, 'true'],
      [`/box/current?versionid=${first}`, first, undefined],
    ] as const
    for (const method of ['GET', 'HEAD']) {
      for (const [path, id, isCurrent] of PATHS) {
        const { status, headers } = await box.send(method, path)
        assert.equal(status, 200)
        assert.equal(headers['x-ms-version-id'], id)
        assert.equal(headers['x-ms-is-current-version'], isCurrent)
        // A read by version id shows no lease, even of the current version.
        assert.equal(headers['x-ms-lease-state'], path.includes('?') ? undefined : 'available')
      }
    }
  })

  type Change = readonly [name: string, query: string, headers: Headers, body?: string]
  const MAKES: readonly Change[] = [
    ['Set Blob Metadata', '?comp=metadata', { 'x-ms-meta-a': '2' }],
    ['Snapshot Blob', '?comp=snapshot', {}],
    ['Put Blob', '', { 'x-ms-blob-type': 'BlockBlob' }, 'next'],
  ]
  for (const [name, query, headers, body] of MAKES) {
    test(`${name} creates a version`, async () => {
      const first = await box.put('makes', 'one', { 'x-ms-meta-a': '1' })
      const { headers: answer } = await box.send('PUT', `/box/makes${query}`, headers, body)
      const second = String(answer['x-ms-version-id'])
      assert.ok(second > first, `${second} after ${first}`)
      const now = await box.send('HEAD', '/box/makes')
      assert.equal(now.headers['x-ms-version-id'], second)
      const before = await box.send('HEAD', `/box/makes?versionid=${first}`)
      assert.equal(before.headers['x-ms-meta-a'], '1')
      await box.send('DELETE', '/box/makes', { 'x-ms-delete-snapshots': 'include' })
    })
  }

  const TAGS = '<Tags><TagSet><Tag><Key>a</Key><Value>1</Value></Tag></TagSet></Tags>'
  const MAKES_NONE: readonly Change[] = [
    ['Set Blob Properties', '?comp=properties', { 'x-ms-blob-content-type': 'a/b' }],
    ['Set Blob Tags', '?comp=tags', {}, TAGS],
    ['Lease Blob', '?comp=lease', { 'x-ms-lease-action': 'acquire', 'x-ms-lease-duration': '15' }],
  ]
  for (const [name, query, headers, body] of MAKES_NONE) {
    test(`${name} creates no version`, async () => {
      const blob = name.replaceAll(' ', '')
      const first = await box.put(blob, 'one')
      const answer = await box.send('PUT', `/box/${blob}${query}`, headers, body)
      assert.ok(answer.status < 300, answer.text)
      assert.equal(answer.headers['x-ms-version-id'], undefined)
      const now = await box.send('HEAD', `/box/${blob}`)
      assert.equal(now.headers['x-ms-version-id'], first)
    })
  }

  test('snapshots and versions have different ids', async () => {
    const first = await box.put('both', 'one')
    const answer = await box.send('PUT', '/box/both?comp=snapshot')
    const snapshot = String(answer.headers['x-ms-snapshot'])
    const second = String(answer.headers['x-ms-version-id'])
    const third = await box.put('both', 'two')
    assert.equal(new Set([first, snapshot, second, third]).size, 4)
    for (const query of [`versionid=${first}`, `versionid=${second}`, `snapshot=${snapshot}`]) {
      assert.equal(await box.read(`/box/both?${query}`), 'one')
    }
    // An id of one kind is unknown to the other.
    for (const query of [`snapshot=${second}`, `versionid=${snapshot}`]) {
      assert.equal(await box.read(`/box/both?${query}`), 'BlobNotFound')
    }
    const taken = await box.send('HEAD', `/box/both?snapshot=${snapshot}`)
    assert.equal(taken.headers['x-ms-version-id'], undefined)
  })

  test('an invalid version id is refused, an unknown one is not found', async () => {
    await box.put('ids', 'one')
    const no = box.send('GET', '/box/ids?versionid=yesterday')
    await assertRefused(no, 400, 'InvalidQueryParameterValue')
    const none = box.send('GET', '/box/ids?versionid=2020-01-01T00:00:00.0000000Z')
    await assertRefused(none, 404, 'BlobNotFound')
  })

  test('a version can be read in ranges and with conditions, but not written', async () => {
    const first = await box.put('old', '0123456789', { 'x-ms-tags': 'a=1' })
    await box.put('old', 'new')
    const at = `/box/old?versionid=${first}`
    const part = await box.send('GET', at, { Range: 'bytes=2-4' })
    assert.deepEqual([part.status, part.text], [206, '234'])
    const etag = String(part.headers.etag)
    assert.equal((await box.send('HEAD', at, { 'If-None-Match': etag })).status, 304)
    await assertRefused(box.send('GET', at, { 'If-Match': '"0x0"' }), 412, 'ConditionNotMet')
    for (const comp of ['metadata', 'properties', 'snapshot', 'lease']) {
      const sent = box.send('PUT', `${at}&comp=${comp}`, { 'x-ms-lease-action': 'break' })
      await assertRefused(sent, 400, 'InvalidQueryParameterValue')
    }
    const tags = await box.send('GET', `${at}&comp=tags`)
    assert.match(tags.text, /<Key>a<\/Key><Value>1<\/Value>/)
  })

  test('Delete Blob makes the current version a previous one, which a new blob does not change', async () => {
    const first = await box.put('gone', 'one')
    const { status, headers } = await box.send('DELETE', '/box/gone')
    assert.deepEqual([status, headers['x-ms-delete-type-permanent']], [202, 'false'])
    assert.equal(await box.read('/box/gone'), 'BlobNotFound')
    assert.equal(await box.read(`/box/gone?versionid=${first}`), 'one')
    const previous = await box.send('HEAD', `/box/gone?versionid=${first}`)
    assert.equal(previous.headers['x-ms-is-current-version'], undefined)
    await assertRefused(box.send('DELETE', '/box/gone'), 404, 'BlobNotFound')
    await box.put('gone', 'two')
    assert.equal(await box.read(`/box/gone?versionid=${first}`), 'one')
  })

  test('Delete Blob deletes a previous version but refuses the current one', async () => {
    const [first, second] = [await box.put('by-id', 'one'), await box.put('by-id', 'two')]
    const current = box.send('DELETE', `/box/by-id?versionid=${second}`)
    await assertRefused(current, 403, 'OperationNotAllowedOnRootBlob')
    const at = `/box/by-id?versionid=${first}`
    for (const value of ['include', 'only']) {
      const sent = box.send('DELETE', at, { 'x-ms-delete-snapshots': value })
      await assertRefused(sent, 400, 'InvalidQueryParameterValue')
    }
    const { status, headers } = await box.send('DELETE', at)
    assert.deepEqual([status, headers['x-ms-delete-type-permanent']], [202, 'true'])
    await assertRefused(box.send('DELETE', at), 404, 'BlobNotFound')
    assert.equal(await box.read('/box/by-id'), 'two')
  })

  test('snapshots prevent the deletion of a blob, versions do not', async () => {
    await box.put('snapped', 'one')
    await box.put('snapped', 'two')
    await box.snapshot('snapped')
    await assertRefused(box.send('DELETE', '/box/snapped'), 409, 'SnapshotsPresent')
    const include = { 'x-ms-delete-snapshots': 'include' }
    assert.equal((await box.send('DELETE', '/box/snapped', include)).status, 202)
  })

  test('the lease protects the current version; a previous one has no lease', async () => {
    const first = await box.put('leased', 'one')
    const lease = box.container.getBlobClient('leased').getBlobLeaseClient()
    const { leaseId = '' } = await lease.acquireLease(15)
    const mine = { 'x-ms-lease-id': leaseId }
    const write = box.send('PUT', '/box/leased?comp=metadata', { 'x-ms-meta-a': '1' })
    await assertRefused(write, 412, 'LeaseIdMissing')
    await box.put('leased', 'two', mine)
    const sent = box.send('DELETE', `/box/leased?versionid=${first}`, mine)
    await assertRefused(sent, 412, 'LeaseNotPresentWithBlobOperation')
    assert.equal((await box.send('DELETE', `/box/leased?versionid=${first}`)).status, 202)
    await assertRefused(box.send('DELETE', '/box/leased'), 412, 'LeaseIdMissing')
  })

  test('a legal hold protects a version, but the blob can be overwritten or deleted', async () => {
    const first = await box.put('hold', 'one', { 'x-ms-legal-hold': 'true' })
    await box.put('hold', 'two')
    assert.equal((await box.send('DELETE', '/box/hold')).status, 202)
    const sent = box.send('DELETE', `/box/hold?versionid=${first}`)
    await assertRefused(sent, 409, 'BlobImmutableDueToLegalHold')
    assert.equal(await box.read(`/box/hold?versionid=${first}`), 'one')
  })

  test('the SDK reads and deletes versions', async () => {
    const blob = box.container.getBlockBlobClient('sdk')
    const { versionId = '' } = await blob.upload('one', 3)
    await blob.upload('two!', 4)
    const version = blob.withVersion(versionId)
    assert.equal((await version.downloadToBuffer()).toString(), 'one')
    const properties = await version.getProperties()
    assert.deepEqual([properties.versionId, properties.isCurrentVersion], [versionId, undefined])
    assert.equal((await blob.getProperties()).isCurrentVersion, true)
    await version.delete()
    assert.equal(await version.exists(), false)
  })
})

describe('versioning', () => {
  test('does not apply to an existing blob until it is written', async () => {
    await box.setServiceProperties(NO_VERSIONING)
    assert.equal(await box.put('before', 'one'), '')
    await box.setServiceProperties(VERSIONING)
    const old = await box.send('HEAD', '/box/before')
    assert.equal(old.headers['x-ms-version-id'], undefined)
    await box.put('before', 'two')
    const blobs = box.container.listBlobsFlat({ prefix: 'before', includeVersions: true })
    const ids: string[] = []
    for await (const { versionId = '' } of blobs) ids.push(versionId)
    assert.equal(ids.length, 2)
    assert.equal(await box.read(`/box/before?versionid=${ids[0]}`), 'one')
  })

  test('can be disabled: versions persist, and the next write keeps the last one and creates none', async () => {
    const first = await box.put('after', 'one')
    await box.setServiceProperties(NO_VERSIONING)
    assert.equal((await box.send('HEAD', '/box/after')).headers['x-ms-version-id'], first)
    assert.equal(await box.put('after', 'two'), '')
    const now = await box.send('HEAD', '/box/after')
    assert.equal(now.headers['x-ms-version-id'], undefined)
    assert.equal(now.headers['x-ms-is-current-version'], undefined)
    await box.put('after', 'three')
    assert.equal(await box.read(`/box/after?versionid=${first}`), 'one')
    assert.equal((await box.send('DELETE', '/box/after')).status, 202)
    assert.equal((await box.send('DELETE', `/box/after?versionid=${first}`)).status, 202)
    assert.equal(await box.read(`/box/after?versionid=${first}`), 'BlobNotFound')
  })

  test('is a property of the service, which the SDK can still read', async () => {
    const read = async () => (await box.send('GET', '/?restype=service&comp=properties')).text
    assert.match(await read(), /<IsVersioningEnabled>true<\/IsVersioningEnabled>/)
    const properties = await box.service.getProperties()
    assert.equal(properties.deleteRetentionPolicy?.enabled, false)
    await box.service.setProperties({ deleteRetentionPolicy: { enabled: false } })
    assert.match(await read(), /<IsVersioningEnabled>true</)
    await box.setServiceProperties(NO_VERSIONING)
    assert.doesNotMatch(await read(), /IsVersioningEnabled/)
    const body =
      '<StorageServiceProperties><IsVersioningEnabled>maybe</IsVersioningEnabled></StorageServiceProperties>'
    const sent = box.send('PUT', '/?restype=service&comp=properties', {}, body)
    await assertRefused(sent, 400, 'InvalidXmlDocument')
  })
})

for (const onDisk of [false, true]) {
  test(`50 concurrent puts of one blob create 50 complete versions ${onDisk ? 'on disk' : 'in memory'}`, async () => {
    const own = await startBlobFixture({ onDisk })
    await own.setServiceProperties(VERSIONING)
    const bodies = Array.from({ length: 50 }, (_, i) => `${i}.`.repeat(i % 2 === 0 ? 3 : 9_000))
    const ids = await Promise.all(bodies.map((body) => own.put('race', body)))
    assert.equal(new Set(ids).size, 50)
    for (const [i, id] of ids.entries()) {
      const got = await own.send('GET', `/box/race?versionid=${id}`)
      assert.equal(got.status, 200)
      assert.ok(got.text === bodies[i], `version ${i}`)
    }
    const { headers } = await own.send('HEAD', '/box/race')
    assert.equal(headers['x-ms-version-id'], ids.toSorted().at(-1))
  })
}
