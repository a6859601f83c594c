// Snapshot Blob, reading snapshots, and deleting a blob with snapshots.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { assertRefused, type Headers } from '../harness.ts'
import { startBlobFixture } from './fixture.ts'

const box = await startBlobFixture()

const ID = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z$/
const LEASE = '11111111-1111-4111-8111-111111111111'
const OTHER = '22222222-2222-4222-8222-222222222222'
const UNKNOWN = '2020-01-01T00:00:00.0000000Z'

async function lease(name: string): Promise<void> {
  const client = box.container.getBlobClient(name).getBlobLeaseClient(LEASE)
  await client.acquireLease(15)
}

describe('Snapshot Blob', () => {
  test('returns its id and the ETag and time of the blob, which does not change', async () => {
    await box.put('plain', 'one', { 'x-ms-meta-a': '1' })
    const base = await box.send('HEAD', '/box/plain')
    box.server.advance(5_000)
    const { status, headers, text } = await box.send('PUT', '/box/plain?comp=snapshot')
    assert.deepEqual([status, text], [201, ''])
    assert.match(String(headers['x-ms-snapshot']), ID)
    assert.equal(headers.etag, base.headers.etag)
    assert.equal(headers['last-modified'], base.headers['last-modified'])
    assert.equal(headers['x-ms-request-server-encrypted'], 'false')
    assert.equal(headers['x-ms-version-id'], undefined)
    const later = await box.send('HEAD', '/box/plain')
    assert.equal(later.headers.etag, base.headers.etag)
    const taken = await box.send('HEAD', `/box/plain?snapshot=${headers['x-ms-snapshot']}`)
    assert.equal(taken.headers['x-ms-meta-a'], '1')
  })

  test("with metadata has that instead of the blob's, and its own ETag and time", async () => {
    await box.put('meta', 'one', { 'x-ms-meta-a': '1' })
    const base = await box.send('HEAD', '/box/meta')
    box.server.advance(5_000)
    const { headers } = await box.send('PUT', '/box/meta?comp=snapshot', { 'x-ms-meta-b': '2' })
    assert.notEqual(headers.etag, base.headers.etag)
    assert.equal(headers['last-modified'], new Date(box.server.now()).toUTCString())
    const taken = await box.send('HEAD', `/box/meta?snapshot=${headers['x-ms-snapshot']}`)
    assert.equal(taken.headers.etag, headers.etag)
    assert.deepEqual([taken.headers['x-ms-meta-a'], taken.headers['x-ms-meta-b']], [undefined, '2'])
    const now = await box.send('HEAD', '/box/meta')
    assert.equal(now.headers.etag, base.headers.etag)
    assert.deepEqual([now.headers['x-ms-meta-a'], now.headers['x-ms-meta-b']], ['1', undefined])
  })

  test('creates increasing ids even at the same time', async () => {
    await box.put('order', 'one')
    const ids = [await box.snapshot('order'), await box.snapshot('order')]
    assert.deepEqual(ids, ids.toSorted())
    assert.notEqual(ids[0], ids[1])
  })

  test('of a missing blob is refused', async () => {
    await assertRefused(box.send('PUT', '/box/none?comp=snapshot'), 404, 'BlobNotFound')
    await assertRefused(box.send('PUT', '/nobox/none?comp=snapshot'), 404, 'ContainerNotFound')
  })

  test('of a snapshot is refused, as is every write to one', async () => {
    await box.put('fixed', 'one')
    const at = `snapshot=${await box.snapshot('fixed')}`
    const WRITES: readonly (readonly [string, Headers, string?])[] = [
      ['comp=snapshot', {}],
      ['comp=metadata', { 'x-ms-meta-a': '1' }],
      ['comp=properties', { 'x-ms-blob-content-type': 'a/b' }],
      ['comp=undelete', {}],
      ['', { 'x-ms-blob-type': 'BlockBlob' }, 'two'],
    ]
    for (const [comp, headers, body] of WRITES) {
      const sent = box.send('PUT', `/box/fixed?${comp}${comp && '&'}${at}`, headers, body)
      await assertRefused(sent, 400, 'InvalidQueryParameterValue')
    }
    assert.equal(await box.read(`/box/fixed?${at}`), 'one')
  })

  const CONDITIONS: readonly (readonly [Headers, number, string?])[] = [
    [{ 'If-Match': 'ETAG' }, 201],
    [{ 'If-Match': '"0x0"' }, 412, 'ConditionNotMet'],
    [{ 'If-None-Match': 'ETAG' }, 412, 'ConditionNotMet'],
    [{ 'If-None-Match': '*' }, 412, 'ConditionNotMet'],
    [{ 'If-None-Match': '"0x0"' }, 201],
    [{ 'If-Modified-Since': 'NOW' }, 412, 'ConditionNotMet'],
    [{ 'If-Unmodified-Since': 'NOW' }, 201],
    [{ 'x-ms-if-tags': `"colour" = 'red'` }, 201],
    [{ 'x-ms-if-tags': `"colour" = 'blue'` }, 412, 'ConditionNotMet'],
  ]
  for (const [headers, status, code] of CONDITIONS) {
    test(`with ${JSON.stringify(headers)} → ${status}`, async () => {
      await box.put('conditions', 'one', { 'x-ms-tags': 'colour=red' })
      const base = await box.send('HEAD', '/box/conditions')
      const values = { ETAG: base.headers.etag, NOW: base.headers['last-modified'] }
      const sent = Object.entries(headers).map(([name, value]) => [
        name,
        values[value as keyof typeof values] ?? value,
      ])
      const answer = await box.send(
        'PUT',
        '/box/conditions?comp=snapshot',
        Object.fromEntries(sent) as Headers,
      )
      assert.deepEqual([answer.status, answer.headers['x-ms-error-code']], [status, code])
    })
  }

  test('needs no lease id, but one that is sent has to match', async () => {
    await box.put('leased', 'one')
    const path = '/box/leased?comp=snapshot'
    const mine = { 'x-ms-lease-id': LEASE }
    await assertRefused(box.send('PUT', path, mine), 412, 'LeaseNotPresentWithBlobOperation')
    await lease('leased')
    assert.equal((await box.send('PUT', path)).status, 201)
    const { status, headers } = await box.send('PUT', path, mine)
    assert.equal(status, 201)
    const other = box.send('PUT', path, { 'x-ms-lease-id': OTHER })
    await assertRefused(other, 412, 'LeaseIdMismatchWithBlobOperation')
    const taken = await box.send('HEAD', `/box/leased?snapshot=${headers['x-ms-snapshot']}`)
    assert.equal(taken.headers['x-ms-lease-state'], undefined)
    box.server.advance(16_000)
    await assertRefused(box.send('PUT', path, mine), 412, 'LeaseLost')
  })

  test('of an archived blob is refused', async () => {
    await box.put('archived', 'one', { 'x-ms-access-tier': 'Archive' })
    await assertRefused(box.send('PUT', '/box/archived?comp=snapshot'), 409, 'BlobArchived')
  })
})

describe('a snapshot', () => {
  const BIG = Buffer.alloc(100_000, 'lazuli')

  for (const [size, body] of [
    ['small', Buffer.from('0123456789')],
    ['big', BIG],
  ] as const) {
    test(`that is ${size} is read as the blob was, in ranges and with conditions`, async () => {
      await box.put(size, body, { 'x-ms-blob-content-type': 'a/b', 'x-ms-tags': 'a=1' })
      const id = await box.snapshot(size)
      await box.put(size, 'other')
      const at = `/box/${size}?snapshot=${id}`
      const got = await box.send('GET', at)
      assert.ok(got.body.equals(body))
      assert.equal(got.headers['content-type'], 'a/b')
      assert.equal(got.headers['x-ms-tag-count'], '1')
      const part = await box.send('GET', at, { 'x-ms-range': 'bytes=2-5' })
      assert.deepEqual([part.status, part.text], [206, body.subarray(2, 6).toString()])
      assert.equal(part.headers['content-range'], `bytes 2-5/${body.length}`)
      const etag = String(got.headers.etag)
      assert.equal((await box.send('GET', at, { 'If-None-Match': etag })).status, 304)
      const unmet = box.send('GET', at, { 'If-Match': '"0x0"' })
      await assertRefused(unmet, 412, 'ConditionNotMet')
      const metadata = await box.send('HEAD', `${at}&comp=metadata`)
      assert.equal(metadata.status, 200)
      assert.equal(await box.read(`/box/${size}`), 'other')
    })
  }

  test('is read, checked and deleted by the SDK', async () => {
    const blob = box.container.getBlockBlobClient('sdk')
    await blob.upload('one', 3, { tags: { a: '1' } })
    const { snapshot = '' } = await blob.createSnapshot({ metadata: { b: '2' } })
    await blob.upload('two!', 4)
    const taken = blob.withSnapshot(snapshot)
    assert.equal((await taken.downloadToBuffer()).toString(), 'one')
    assert.deepEqual((await taken.getProperties()).metadata, { b: '2' })
    assert.deepEqual((await taken.getTags()).tags, { a: '1' })
    await taken.delete()
    assert.equal(await taken.exists(), false)
    assert.equal(await blob.exists(), true)
  })

  test('with an invalid id is refused, with an unknown id is not found', async () => {
    await box.put('ids', 'one')
    for (const method of ['GET', 'HEAD', 'DELETE']) {
      const no = box.send(method, '/box/ids?snapshot=yesterday')
      await assertRefused(no, 400, 'InvalidQueryParameterValue')
      const none = box.send(method, `/box/ids?snapshot=${UNKNOWN}`)
      await assertRefused(none, 404, 'BlobNotFound')
    }
    const both = box.send('GET', `/box/ids?snapshot=${UNKNOWN}&versionid=${UNKNOWN}`)
    await assertRefused(both, 400, 'MutuallyExclusiveQueryParameters')
  })
})

describe('Delete Blob', () => {
  const DELETE_SNAPSHOTS = 'x-ms-delete-snapshots'

  test('of a blob with snapshots needs x-ms-delete-snapshots', async () => {
    await box.put('some', 'one')
    const ids = [await box.snapshot('some'), await box.snapshot('some')]
    await assertRefused(box.send('DELETE', '/box/some'), 409, 'SnapshotsPresent')
    const no = box.send('DELETE', '/box/some', { [DELETE_SNAPSHOTS]: 'all' })
    await assertRefused(no, 400, 'InvalidHeaderValue')
    const only = await box.send('DELETE', '/box/some', { [DELETE_SNAPSHOTS]: 'only' })
    assert.deepEqual([only.status, only.headers['x-ms-delete-type-permanent']], [202, 'true'])
    assert.equal(await box.read(`/box/some?snapshot=${ids[0]}`), 'BlobNotFound')
    assert.equal(await box.read('/box/some'), 'one')
    const last = await box.snapshot('some')
    const all = await box.send('DELETE', '/box/some', { [DELETE_SNAPSHOTS]: 'include' })
    assert.equal(all.status, 202)
    assert.equal(await box.read(`/box/some?snapshot=${last}`), 'BlobNotFound')
    assert.equal(await box.read('/box/some'), 'BlobNotFound')
  })

  test('of every snapshot leaves a blob that can be deleted', async () => {
    await box.put('each', 'one')
    const ids = [await box.snapshot('each'), await box.snapshot('each')]
    for (const id of ids) {
      await assertRefused(box.send('DELETE', '/box/each'), 409, 'SnapshotsPresent')
      assert.equal((await box.send('DELETE', `/box/each?snapshot=${id}`)).status, 202)
      await assertRefused(box.send('DELETE', `/box/each?snapshot=${id}`), 404, 'BlobNotFound')
    }
    assert.equal((await box.send('DELETE', '/box/each')).status, 202)
  })

  test('with x-ms-delete-snapshots on a snapshot is refused', async () => {
    await box.put('header', 'one')
    const at = `/box/header?snapshot=${await box.snapshot('header')}`
    for (const value of ['include', 'only']) {
      const sent = box.send('DELETE', at, { [DELETE_SNAPSHOTS]: value })
      await assertRefused(sent, 400, 'InvalidQueryParameterValue')
    }
    assert.equal(await box.read(at), 'one')
  })

  test('of a snapshot checks conditions', async () => {
    await box.put('conditional', 'one')
    const at = `/box/conditional?snapshot=${await box.snapshot('conditional')}`
    const { etag } = (await box.send('HEAD', at)).headers
    await box.put('conditional', 'two')
    const unmet = box.send('DELETE', at, { 'If-None-Match': String(etag) })
    await assertRefused(unmet, 412, 'ConditionNotMet')
    assert.equal((await box.send('DELETE', at, { 'If-Match': String(etag) })).status, 202)
  })

  test('of a leased blob or only its snapshots needs the lease id', async () => {
    await box.put('guarded', 'one')
    await box.snapshot('guarded')
    await lease('guarded')
    for (const value of ['include', 'only']) {
      const sent = box.send('DELETE', '/box/guarded', { [DELETE_SNAPSHOTS]: value })
      await assertRefused(sent, 412, 'LeaseIdMissing')
    }
    const mine = { 'x-ms-lease-id': LEASE, [DELETE_SNAPSHOTS]: 'include' }
    assert.equal((await box.send('DELETE', '/box/guarded', mine)).status, 202)
  })

  test('is still refused after an overwrite, which keeps the snapshots', async () => {
    await box.put('kept', 'one')
    const id = await box.snapshot('kept')
    await box.put('kept', 'two')
    await assertRefused(box.send('DELETE', '/box/kept'), 409, 'SnapshotsPresent')
    assert.equal(await box.read(`/box/kept?snapshot=${id}`), 'one')
  })

  const KEPT: readonly (readonly [(untilMs: number) => Headers, string])[] = [
    [() => ({ 'x-ms-legal-hold': 'true' }), 'BlobImmutableDueToLegalHold'],
    [
      (untilMs) => ({ 'x-ms-immutability-policy-until-date': new Date(untilMs).toUTCString() }),
      'BlobImmutableDueToPolicy',
    ],
  ]
  for (const [headers, code] of KEPT) {
    test(`of a protected blob or its snapshots → 409 ${code}`, async () => {
      await box.put(code, 'one', headers(box.server.now() + 60_000))
      const at = `/box/${code}?snapshot=${await box.snapshot(code)}`
      await assertRefused(box.send('DELETE', at), 409, code)
      const all = { [DELETE_SNAPSHOTS]: 'include' }
      await assertRefused(box.send('DELETE', `/box/${code}`, all), 409, code)
      assert.equal(await box.read(at), 'one')
      box.server.advance(61_000)
      const status = code === 'BlobImmutableDueToPolicy' ? 202 : 409
      assert.equal((await box.send('DELETE', `/box/${code}`, all)).status, status)
    })
  }

  const TIER: readonly (readonly [set: boolean, name: string, byMs: number, status: number])[] = [
    [true, 'modified', -2_000, 202],
    [true, 'modified', 2_000, 412],
    [true, 'unmodified', -2_000, 412],
    [true, 'unmodified', 2_000, 202],
    [false, 'modified', -2_000, 412],
    [false, 'unmodified', -2_000, 202],
  ]
  for (const [set, name, byMs, status] of TIER) {
    const tier = set ? 'the tier was set' : 'no tier was set'
    test(`if the tier is ${name} since ${byMs} ms from when ${tier} → ${status}`, async () => {
      await box.put('tiered', 'one', set ? { 'x-ms-access-tier': 'Cool' } : {})
      const since = new Date(box.server.now() + byMs).toUTCString()
      const header = { [`x-ms-access-tier-if-${name}-since`]: since }
      const answer = await box.send('DELETE', '/box/tiered', header)
      assert.equal(answer.status, status)
      await box.send('DELETE', '/box/tiered')
    })
  }
})
