// Restore Share: deleted shares can be restored during the account's retention time.
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { assertRefused, DAY_MS, type Headers } from '../harness.ts'
import { RETAIN_3_DAYS, NO_RETENTION, startFileFixture } from './fixture.ts'

const box = await startFileFixture()
beforeEach(() => box.setServiceProperties(RETAIN_3_DAYS))

const NAME = 'x-ms-deleted-share-name'
const VERSION = 'x-ms-deleted-share-version'

async function versionsOf(name: string): Promise<string[]> {
  const versions: string[] = []
  for await (const item of box.service.listShares({ prefix: name, includeDeleted: true })) {
    if (item.name === name && item.deleted === true) versions.push(String(item.version))
  }
  return versions
}

const restore = (name: string, headers: Headers) =>
  box.send('PUT', `/${name}?restype=share&comp=undelete`, headers)

async function restoreFirst(name: string) {
  const [version = ''] = await versionsOf(name)
  return restore(name, { [NAME]: name, [VERSION]: version })
}

describe('Restore Share', () => {
  test('restores the share with its properties and a new ETag', async () => {
    const share = box.service.getShareClient('back')
    const { etag } = await share.create({ metadata: { a: '1' }, quota: 9 })
    await share.delete()
    box.server.advance(2_000)
    const restored = await restoreFirst('back')
    assert.deepEqual([restored.status, restored.headers['x-ms-share-quota']], [201, '9'])
    const got = await share.getProperties()
    assert.deepEqual([got.metadata, got.quota, got.etag], [{ a: '1' }, 9, restored.headers.etag])
    assert.notEqual(got.etag, etag)
    assert.deepEqual(await versionsOf('back'), [])
  })

  test('restores its snapshots and works with the SDK', async () => {
    const share = box.service.getShareClient('shots')
    await share.create()
    const { snapshot = '' } = await share.createSnapshot({ metadata: { s: '1' } })
    await share.delete({ deleteSnapshots: 'include' })
    const [version = ''] = await versionsOf('shots')
    await box.service.undeleteShare('shots', version)
    assert.deepEqual((await share.withSnapshot(snapshot).getProperties()).metadata, { s: '1' })
  })

  test('distinguishes two deleted shares with the same name', async () => {
    for (const quota of ['1', '2']) {
      await box.createShare('twice', { 'x-ms-share-quota': quota })
      await box.send('DELETE', '/twice?restype=share')
    }
    const [, second = ''] = await versionsOf('twice')
    assert.equal((await restore('twice', { [NAME]: 'twice', [VERSION]: second })).status, 201)
    const got = await box.send('GET', '/twice?restype=share')
    assert.equal(got.headers['x-ms-share-quota'], '2')
  })

  test('is refused if the name is in use, unknown or missing', async () => {
    await box.createShare('used')
    await box.send('DELETE', '/used?restype=share')
    const [version = ''] = await versionsOf('used')
    await box.createShare('used')
    const mine = { [NAME]: 'used', [VERSION]: version }
    await assertRefused(restore('used', mine), 409, 'ShareAlreadyExists')
    await assertRefused(restore('other', mine), 400, 'InvalidHeaderValue')
    await assertRefused(restore('used', { [NAME]: 'used' }), 400, 'MissingRequiredHeader')
    await assertRefused(restore('used', { [VERSION]: version }), 400, 'MissingRequiredHeader')
    const never = { [NAME]: 'never', [VERSION]: version }
    await assertRefused(restore('never', never), 404, 'ShareNotFound')
    const bad = { [NAME]: 'never', [VERSION]: 'x' }
    await assertRefused(restore('never', bad), 400, 'InvalidHeaderValue')
  })

  test('is possible for the retention time that was set at the deletion', async () => {
    for (const name of ['early', 'late']) {
      await box.createShare(name)
      await box.send('DELETE', `/${name}?restype=share`)
    }
    const [version = ''] = await versionsOf('late')
    box.server.advance(3 * DAY_MS - 1)
    assert.equal((await restoreFirst('early')).status, 201)
    box.server.advance(1)
    assert.deepEqual(await versionsOf('late'), [])
    await assertRefused(
      restore('late', { [NAME]: 'late', [VERSION]: version }),
      404,
      'ShareNotFound',
    )
  })

  test('is impossible without retention', async () => {
    await box.setServiceProperties(NO_RETENTION)
    await box.createShare('lost')
    await box.send('DELETE', '/lost?restype=share')
    assert.deepEqual(await versionsOf('lost'), [])
  })

  test('does not restore a lease', async () => {
    const share = box.service.getShareClient('held')
    await share.create()
    const { leaseId = '' } = await share.getShareLeaseClient().acquireLease(-1)
    await share.delete({ leaseAccessConditions: { leaseId } })
    await restoreFirst('held')
    assert.equal((await share.getProperties()).leaseState, 'available')
  })
})
