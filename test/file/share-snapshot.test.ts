// Share snapshots: creating and reading them, and deleting them alone or with their share.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { opensOf, putOpen, type FileEvent } from '../../src/storage/file/open/open.ts'
import { getShare, saveShare } from '../../src/storage/file/share/share.ts'
import { ACCOUNT, assertRefused } from '../harness.ts'
import { startFileFixture } from './fixture.ts'

const box = await startFileFixture()

const at = (name: string, snapshot: string) =>
  `/${name}?restype=share&sharesnapshot=${encodeURIComponent(snapshot)}`

describe('Snapshot Share', () => {
  test("has the share's current ETag and metadata", async () => {
    const share = box.service.getShareClient('as-is')
    const { etag } = await share.create({ metadata: { a: '1' } })
    box.server.advance(2_000)
    const taken = await share.createSnapshot()
    assert.equal(taken.etag, etag)
    await share.setMetadata({ b: '2' })
    await share.setProperties({ quotaInGB: 3 })
    const returned = await share.withSnapshot(taken.snapshot ?? '').getProperties()
    assert.deepEqual([returned.etag, returned.quota, returned.metadata], [etag, 5120, { a: '1' }])
    assert.equal((await share.getProperties()).quota, 3)
  })

  test('with its own metadata has its own ETag, and the share keeps both', async () => {
    const share = box.service.getShareClient('own')
    const { etag } = await share.create({ metadata: { a: '1' } })
    box.server.advance(2_000)
    const taken = await share.createSnapshot({ metadata: { c: '3' } })
    assert.notEqual(taken.etag, etag)
    const returned = await share.withSnapshot(taken.snapshot ?? '').getProperties()
    assert.deepEqual([returned.etag, returned.metadata], [taken.etag, { c: '3' }])
    assert.equal(returned.lastModified?.getTime(), taken.lastModified?.getTime())
    const { etag: now, metadata } = await share.getProperties()
    assert.deepEqual([now, metadata], [etag, { a: '1' }])
    const path = `/own?restype=share&comp=metadata&sharesnapshot=${taken.snapshot}`
    assert.equal((await box.send('GET', path)).headers['x-ms-meta-c'], '3')
  })

  test('is limited to 200 per share', async () => {
    await box.createShare('many')
    const address = { account: ACCOUNT, share: 'many' }
    await box.server.file.kv.write(function* (tx) {
      const share = yield* getShare(tx, address)
      if (share !== undefined) saveShare(tx, address, { ...share, snapshotCount: 199 })
    })
    await box.snapshotShare('many')
    const one = box.send('PUT', '/many?restype=share&comp=snapshot')
    await assertRefused(one, 409, 'ShareSnapshotCountExceeded')
  })

  test('creates ids that are increasing times', async () => {
    await box.createShare('ids')
    const first = await box.snapshotShare('ids')
    const second = await box.snapshotShare('ids')
    assert.match(first, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z$/)
    assert.ok(second > first)
  })

  test('with an unknown id → 404, with an invalid id → 400', async () => {
    await box.createShare('none')
    const missing = box.send('GET', at('none', '2020-01-01T00:00:00.0000000Z'))
    await assertRefused(missing, 404, 'ShareSnapshotNotFound')
    await assertRefused(box.send('GET', at('none', 'x')), 400, 'InvalidQueryParameterValue')
  })
})

describe('Delete Share', () => {
  test('of a snapshot keeps the share and the other snapshots', async () => {
    await box.createShare('one')
    const [first, second] = [await box.snapshotShare('one'), await box.snapshotShare('one')]
    assert.equal((await box.send('DELETE', at('one', first))).status, 202)
    await assertRefused(box.send('GET', at('one', first)), 404, 'ShareSnapshotNotFound')
    assert.equal((await box.send('GET', at('one', second))).status, 200)
    assert.equal((await box.send('DELETE', at('one', second))).status, 202)
    assert.equal((await box.send('DELETE', '/one?restype=share')).status, 202)
  })

  test("of a snapshot closes only SMB clients' handles in it", async () => {
    await box.createShare('open')
    const path = at('open', await box.snapshotShare('open'))
    const { kv } = box.server.file
    const share = await kv.read((tx) => getShare(tx, { account: ACCOUNT, share: 'open' }))
    const { id: shareId = 0, lastSnapshot = 0 } = share ?? {}
    const present = {
      openId: 9, shareId, nodeId: 7, parentId: 0, path: 'f', isDirectory: false, access: 1, shareAccess: 7,
      sessionId: 's', clientIp: '10.0.0.1', openedMs: 1,
    } // prettier-ignore
    const past = { ...present, openId: 10, snapshot: lastSnapshot }
    await kv.write(function* (tx) {
      for (const open of [present, past]) putOpen(tx, open)
    })
    const events: FileEvent[] = []
    const stop = kv.listen((event) => events.push(event))
    assert.equal((await box.send('DELETE', path)).status, 202)
    stop()
    assert.deepEqual(events, [{ kind: 'close', open: past }])
    assert.deepEqual(await kv.read((tx) => opensOf(tx, shareId, 7)), [present])
  })

  test('refuses x-ms-delete-snapshots for a snapshot', async () => {
    await box.createShare('both')
    const snapshot = await box.snapshotShare('both')
    const headers = { 'x-ms-delete-snapshots': 'include' }
    const both = box.send('DELETE', at('both', snapshot), headers)
    await assertRefused(both, 400, 'InvalidQueryParameterValue')
  })

  test('with snapshots needs x-ms-delete-snapshots', async () => {
    await box.createShare('told')
    const snapshot = await box.snapshotShare('told')
    const remove = (word?: string) =>
      box.send('DELETE', '/told?restype=share', word ? { 'x-ms-delete-snapshots': word } : {})
    await assertRefused(remove(), 409, 'ShareHasSnapshots')
    await assertRefused(remove('only'), 400, 'InvalidHeaderValue')
    assert.equal((await remove('include')).status, 202)
    await assertRefused(box.send('GET', at('told', snapshot)), 404, 'ShareNotFound')
  })

  test('with leased snapshots needs include-leased', async () => {
    const share = box.service.getShareClient('leased')
    await share.create()
    const { snapshot = '' } = await share.createSnapshot()
    await share.withSnapshot(snapshot).getShareLeaseClient().acquireLease(-1)
    const remove = (word: string) =>
      box.send('DELETE', '/leased?restype=share', { 'x-ms-delete-snapshots': word })
    await assertRefused(remove('include'), 409, 'DeleteShareWhenSnapshotLeased')
    assert.equal((await remove('include-leased')).status, 202)
  })
})
