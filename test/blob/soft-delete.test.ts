// Soft delete of blobs: what a delete and an overwrite keep, Undelete Blob, the retention time, permanent delete, and
// soft delete together with versioning.
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { ContainerSASPermissions } from '@azure/storage-blob'
import { xmlText, assertRefused, DAY_MS } from '../harness.ts'
import {
  NO_SOFT_DELETE,
  NO_VERSIONING,
  startBlobFixture,
  softDelete,
  VERSIONING,
} from './fixture.ts'

const box = await startBlobFixture()

beforeEach(() => box.setServiceProperties(NO_VERSIONING + softDelete(2)))

const INCLUDE = { 'x-ms-delete-snapshots': 'include' }

const undelete = (blob: string) => box.send('PUT', `/box/${blob}?comp=undelete`)

/** The ids of the snapshots that are not deleted, oldest first. */
async function snapshotsOf(prefix: string): Promise<string[]> {
  const ids: string[] = []
  for await (const { snapshot } of box.container.listBlobsFlat({
    prefix,
    includeSnapshots: true,
  })) {
    if (snapshot !== undefined && snapshot !== '') ids.push(snapshot)
  }
  return ids
}

describe('a deleted blob', () => {
  test('is gone, and is restored with everything except its lease', async () => {
    await box.put('whole', 'one', {
      'x-ms-meta-a': '1',
      'x-ms-tags': 'b=2',
      'x-ms-blob-content-type': 'c/d',
    })
    const lease = box.container.getBlobClient('whole').getBlobLeaseClient()
    const { leaseId = '' } = await lease.acquireLease(-1)
    const old = await box.send('HEAD', '/box/whole')
    const deleted = await box.send('DELETE', '/box/whole', { 'x-ms-lease-id': leaseId })
    assert.deepEqual(
      [deleted.status, deleted.headers['x-ms-delete-type-permanent']],
      [202, 'false'],
    )
    assert.equal(await box.read('/box/whole'), 'BlobNotFound')
    await assertRefused(box.send('DELETE', '/box/whole'), 404, 'BlobNotFound')
    box.server.advance(60_000)
    const back = await undelete('whole')
    assert.deepEqual([back.status, back.text, back.headers.etag], [200, '', undefined])
    assert.equal(await box.read('/box/whole'), 'one')
    const now = await box.send('HEAD', '/box/whole')
    const same = ['etag', 'last-modified', 'x-ms-meta-a', 'x-ms-tag-count', 'content-type']
    for (const name of [...same, 'x-ms-creation-time']) {
      assert.equal(now.headers[name], old.headers[name], name)
    }
    assert.equal(now.headers['x-ms-lease-state'], 'available')
  })

  for (const size of [3, 50_000]) {
    test(`of ${size} bytes is found by its tags only once it is restored`, async () => {
      const name = `tags-${size}`
      await box.put(name, 'x'.repeat(size), { 'x-ms-tags': `size=${size}` })
      const find = async () => {
        const found: string[] = []
        for await (const blob of box.service.findBlobsByTags(`size='${size}'`))
          found.push(blob.name)
        return found
      }
      assert.deepEqual(await find(), [name])
      await box.send('DELETE', `/box/${name}`)
      assert.deepEqual(await find(), [])
      await undelete(name)
      assert.deepEqual(await find(), [name])
      assert.equal((await box.read(`/box/${name}`)).length, size)
    })
  }

  test('is restored with all its snapshots', async () => {
    await box.put('snaps', 'one')
    const ids = [await box.snapshot('snaps'), await box.snapshot('snaps')]
    await box.send('DELETE', `/box/snaps?snapshot=${ids[0]}`)
    await box.send('DELETE', '/box/snaps', INCLUDE)
    assert.equal((await undelete('snaps')).status, 200)
    for (const id of ids) assert.equal(await box.read(`/box/snaps?snapshot=${id}`), 'one')
    await assertRefused(box.send('DELETE', '/box/snaps'), 409, 'SnapshotsPresent')
  })

  test('is gone for good exactly after the retention time', async () => {
    for (const name of ['in-time', 'too-late']) {
      await box.put(name, 'one')
      await box.send('DELETE', `/box/${name}`)
    }
    box.server.advance(2 * DAY_MS - 1)
    await box.server.sweep()
    assert.equal((await undelete('in-time')).status, 200)
    box.server.advance(1)
    await assertRefused(undelete('too-late'), 404, 'BlobNotFound')
    await box.server.sweep()
    await assertRefused(undelete('too-late'), 404, 'BlobNotFound')
    assert.equal(await box.read('/box/in-time'), 'one')
  })

  test('is kept for the retention time at its deletion', async () => {
    await box.put('days', 'one')
    await box.send('DELETE', '/box/days')
    await box.setServiceProperties(softDelete(9))
    await box.put('more', 'one')
    await box.send('DELETE', '/box/more')
    await box.setServiceProperties(NO_SOFT_DELETE)
    box.server.advance(3 * DAY_MS)
    await assertRefused(undelete('days'), 404, 'BlobNotFound')
    assert.equal((await undelete('more')).status, 200)
  })

  test('becomes a deleted snapshot of a new blob with its name', async () => {
    await box.put('anew', 'one')
    await box.send('DELETE', '/box/anew')
    await box.put('anew', 'two')
    assert.deepEqual(await snapshotsOf('anew'), [])
    await undelete('anew')
    assert.equal(await box.read('/box/anew'), 'two')
    const [id] = await snapshotsOf('anew')
    assert.equal(await box.read(`/box/anew?snapshot=${id}`), 'one')
  })

  test('is gone at once without the policy', async () => {
    await box.setServiceProperties(NO_SOFT_DELETE)
    await box.put('off', 'one')
    const deleted = await box.send('DELETE', '/box/off')
    assert.equal(deleted.headers['x-ms-delete-type-permanent'], 'true')
    await assertRefused(undelete('off'), 404, 'BlobNotFound')
  })
})

describe('Undelete Blob', () => {
  test('of an existing blob changes nothing', async () => {
    await box.put('live', 'one')
    const { etag } = (await box.send('HEAD', '/box/live')).headers
    assert.equal((await undelete('live')).status, 200)
    assert.equal((await box.send('HEAD', '/box/live')).headers.etag, etag)
  })

  test('of a blob that never existed → 404', async () => {
    await assertRefused(undelete('never'), 404, 'BlobNotFound')
    const sent = box.send('PUT', '/nobox/never?comp=undelete')
    await assertRefused(sent, 404, 'ContainerNotFound')
  })

  test('works with the SDK', async () => {
    const blob = box.container.getBlockBlobClient('sdk')
    await blob.upload('one', 3)
    await blob.delete()
    assert.equal(await blob.exists(), false)
    await blob.undelete()
    assert.equal((await blob.downloadToBuffer()).toString(), 'one')
  })
})

describe('an overwrite', () => {
  test('keeps the previous state as a deleted snapshot, which does not prevent a delete', async () => {
    for (const body of ['one', 'two', 'three']) await box.put('over', body)
    assert.deepEqual(await snapshotsOf('over'), [])
    assert.equal((await undelete('over')).status, 200)
    const ids = await snapshotsOf('over')
    const states = await Promise.all(ids.map((id) => box.read(`/box/over?snapshot=${id}`)))
    assert.deepEqual([...states, await box.read('/box/over')], ['one', 'two', 'three'])
    await box.send('DELETE', '/box/over', { 'x-ms-delete-snapshots': 'only' })
    assert.equal((await box.send('DELETE', '/box/over')).status, 202)
  })

  test('of only metadata or properties keeps nothing', async () => {
    await box.put('light', 'one')
    await box.send('PUT', '/box/light?comp=metadata', { 'x-ms-meta-a': '1' })
    await box.send('PUT', '/box/light?comp=properties', { 'x-ms-blob-content-type': 'a/b' })
    await undelete('light')
    assert.deepEqual(await snapshotsOf('light'), [])
  })
})

test('a deleted snapshot prevents a delete once soft delete is disabled', async () => {
  await box.put('held', 'one')
  const id = await box.snapshot('held')
  await box.send('DELETE', `/box/held?snapshot=${id}`)
  await box.setServiceProperties(NO_SOFT_DELETE)
  await assertRefused(box.send('DELETE', '/box/held'), 409, 'SnapshotsPresent')
  assert.equal((await box.send('DELETE', '/box/held', INCLUDE)).status, 202)
  await assertRefused(undelete('held'), 404, 'BlobNotFound')
})

describe('with versioning', () => {
  beforeEach(() => box.setServiceProperties(VERSIONING))

  test('a deleted blob becomes a version, not soft-deleted, and undelete makes none current', async () => {
    const id = await box.put('versioned', 'one')
    const deleted = await box.send('DELETE', '/box/versioned')
    assert.equal(deleted.headers['x-ms-delete-type-permanent'], 'false')
    assert.equal(await box.read(`/box/versioned?versionid=${id}`), 'one')
    assert.equal((await undelete('versioned')).status, 200)
    assert.equal(await box.read('/box/versioned'), 'BlobNotFound')
  })

  test('deleted versions and snapshots are restored', async () => {
    const id = await box.put('version', 'one')
    const snapshot = await box.snapshot('version')
    const deleted = await box.send('DELETE', `/box/version?versionid=${id}`)
    assert.deepEqual(
      [deleted.status, deleted.headers['x-ms-delete-type-permanent']],
      [202, 'false'],
    )
    assert.equal(await box.read(`/box/version?versionid=${id}`), 'BlobNotFound')
    await box.send('DELETE', '/box/version', INCLUDE)
    assert.equal((await undelete('version')).status, 200)
    assert.equal(await box.read(`/box/version?versionid=${id}`), 'one')
    assert.equal(await box.read(`/box/version?snapshot=${snapshot}`), 'one')
    assert.equal(await box.read('/box/version'), 'BlobNotFound')
  })
})

describe('permanent delete', () => {
  const ALLOWED = softDelete(2, '<AllowPermanentDelete>true</AllowPermanentDelete>')
  const PERMANENT = 'deletetype=permanent'
  beforeEach(() => box.setServiceProperties(ALLOWED))

  test('removes a deleted snapshot and a deleted version', async () => {
    await box.setServiceProperties(VERSIONING)
    const version = await box.put('for-good', 'one')
    const snapshot = await box.snapshot('for-good')
    for (const at of [`versionid=${version}`, `snapshot=${snapshot}`]) {
      const path = `/box/for-good?${at}`
      const early = box.send('DELETE', `${path}&${PERMANENT}`)
      await assertRefused(early, 409, 'BlobSnapshotNotSoftDeleted')
      await box.send('DELETE', path)
      const deleted = await box.send('DELETE', `${path}&${PERMANENT}`)
      assert.deepEqual(
        [deleted.status, deleted.headers['x-ms-delete-type-permanent']],
        [202, 'true'],
      )
      await assertRefused(box.send('DELETE', `${path}&${PERMANENT}`), 404, 'BlobNotFound')
    }
    await undelete('for-good')
    assert.equal(await box.read(`/box/for-good?snapshot=${snapshot}`), 'BlobNotFound')
    assert.equal(await box.read(`/box/for-good?versionid=${version}`), 'BlobNotFound')
  })

  test('of the blob itself is refused', async () => {
    await box.setServiceProperties(VERSIONING)
    const id = await box.put('root', 'one')
    for (const at of ['', `versionid=${id}&`]) {
      const sent = box.send('DELETE', `/box/root?${at}${PERMANENT}`)
      await assertRefused(sent, 403, 'OperationNotAllowedOnRootBlob')
    }
    assert.equal(await box.read('/box/root'), 'one')
  })

  test('is refused if the account does not allow it or for another type', async () => {
    await box.put('refused', 'one')
    const at = `/box/refused?snapshot=${await box.snapshot('refused')}`
    await box.send('DELETE', at)
    await box.setServiceProperties(softDelete(2))
    assert.equal((await box.send('DELETE', `${at}&${PERMANENT}`)).status, 409)
    const other = box.send('DELETE', `${at}&deletetype=temporary`)
    await assertRefused(other, 400, 'InvalidQueryParameterValue')
    await undelete('refused')
    assert.equal(await box.read(at), 'one')
  })

  const RIGHTS: readonly (readonly [permissions: string, status: number])[] = [
    ['y', 202],
    ['d', 403],
    ['x', 403],
    ['rwdx', 403],
  ]
  for (const [permissions, status] of RIGHTS) {
    test(`by a SAS with ${permissions} → ${status}`, async () => {
      const blob = `sas-${permissions}`
      await box.put(blob, 'one')
      const at = `/box/${blob}?snapshot=${await box.snapshot(blob)}`
      await box.send('DELETE', at)
      const url = await box.container.generateSasUrl({
        permissions: ContainerSASPermissions.parse(permissions),
        expiresOn: new Date(box.server.now() + DAY_MS),
      })
      const path = `${at}&${PERMANENT}`
      const sign = new URL(url).search
      const answer = await box.send('DELETE', path, {}, undefined, sign)
      assert.equal(answer.status, status, answer.text)
    })
  }

  test('and the policy are in the service properties, also for the SDK', async () => {
    const { text } = await box.send('GET', '/?restype=service&comp=properties')
    assert.match(text, /<Days>2<\/Days><AllowPermanentDelete>true<\/AllowPermanentDelete>/)
    assert.equal(xmlText(text, 'Days'), '2')
    const { deleteRetentionPolicy: policy } = await box.service.getProperties()
    assert.deepEqual([policy?.enabled, policy?.days], [true, 2])
    for (const days of [0, 366]) {
      const body = `<StorageServiceProperties>${softDelete(days)}</StorageServiceProperties>`
      const sent = box.send('PUT', '/?restype=service&comp=properties', {}, body)
      await assertRefused(sent, 400, 'InvalidXmlDocument')
    }
  })
})
