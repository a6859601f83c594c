// Soft delete of blobs: what a delete and an overwrite keep, Undelete Blob, the days on the clock, permanent
// delete, and the policy beside versioning.
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { ContainerSASPermissions } from '@azure/storage-blob'
import { rawRequest, xmlText } from '../harness.ts'
import {
  assertRefused,
  DAY_MS,
  NO_SOFT_DELETE,
  NO_VERSIONING,
  openBox,
  softDelete,
  VERSIONING,
  type Box,
} from './past.ts'

let box: Box

before(async () => {
  box = await openBox()
})

after(() => box.server.close())

beforeEach(() => box.turn(NO_VERSIONING + softDelete(2)))

const INCLUDE = { 'x-ms-delete-snapshots': 'include' }

const undelete = (blob: string) => box.send('PUT', `/box/${blob}?comp=undelete`)

/** The ids of the snapshots that are not deleted, the oldest first. */
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
  test('is gone, and comes back with everything it had but its lease', async () => {
    await box.put('whole', 'one', {
      'x-ms-meta-a': '1',
      'x-ms-tags': 'b=2',
      'x-ms-blob-content-type': 'c/d',
    })
    const lease = box.container.getBlobClient('whole').getBlobLeaseClient()
    const { leaseId = '' } = await lease.acquireLease(-1)
    const old = await box.send('HEAD', '/box/whole')
    const gone = await box.send('DELETE', '/box/whole', { 'x-ms-lease-id': leaseId })
    assert.deepEqual([gone.status, gone.headers['x-ms-delete-type-permanent']], [202, 'false'])
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
    test(`of ${size} bytes is found by its tags again only when it is back`, async () => {
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

  test('comes back with all its snapshots', async () => {
    await box.put('snaps', 'one')
    const ids = [await box.snapshot('snaps'), await box.snapshot('snaps')]
    await box.send('DELETE', `/box/snaps?snapshot=${ids[0]}`)
    await box.send('DELETE', '/box/snaps', INCLUDE)
    assert.equal((await undelete('snaps')).status, 200)
    for (const id of ids) assert.equal(await box.read(`/box/snaps?snapshot=${id}`), 'one')
    await assertRefused(box.send('DELETE', '/box/snaps'), 409, 'SnapshotsPresent')
  })

  test('is gone for good when its days are over, not a moment before', async () => {
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

  test('has the days of the policy that it was deleted under', async () => {
    await box.put('days', 'one')
    await box.send('DELETE', '/box/days')
    await box.turn(softDelete(9))
    await box.put('more', 'one')
    await box.send('DELETE', '/box/more')
    await box.turn(NO_SOFT_DELETE)
    box.server.advance(3 * DAY_MS)
    await assertRefused(undelete('days'), 404, 'BlobNotFound')
    assert.equal((await undelete('more')).status, 200)
  })

  test('whose name is taken anew becomes a deleted snapshot of the new one', async () => {
    await box.put('anew', 'one')
    await box.send('DELETE', '/box/anew')
    await box.put('anew', 'two')
    assert.deepEqual(await snapshotsOf('anew'), [])
    await undelete('anew')
    assert.equal(await box.read('/box/anew'), 'two')
    const [id] = await snapshotsOf('anew')
    assert.equal(await box.read(`/box/anew?snapshot=${id}`), 'one')
  })

  test('without the policy is gone at once', async () => {
    await box.turn(NO_SOFT_DELETE)
    await box.put('off', 'one')
    const gone = await box.send('DELETE', '/box/off')
    assert.equal(gone.headers['x-ms-delete-type-permanent'], 'true')
    await assertRefused(undelete('off'), 404, 'BlobNotFound')
  })
})

describe('Undelete Blob', () => {
  test('of a blob that is there changes nothing', async () => {
    await box.put('live', 'one')
    const { etag } = (await box.send('HEAD', '/box/live')).headers
    assert.equal((await undelete('live')).status, 200)
    assert.equal((await box.send('HEAD', '/box/live')).headers.etag, etag)
  })

  test('of what never was is 404', async () => {
    await assertRefused(undelete('never'), 404, 'BlobNotFound')
    const sent = box.send('PUT', '/nobox/never?comp=undelete')
    await assertRefused(sent, 404, 'ContainerNotFound')
  })

  test('and delete, by the SDK', async () => {
    const blob = box.container.getBlockBlobClient('sdk')
    await blob.upload('one', 3)
    await blob.delete()
    assert.equal(await blob.exists(), false)
    await blob.undelete()
    assert.equal((await blob.downloadToBuffer()).toString(), 'one')
  })
})

describe('an overwrite', () => {
  test('keeps the state before as a deleted snapshot, which is not in the way of a delete', async () => {
    for (const body of ['one', 'two', 'three']) await box.put('over', body)
    assert.deepEqual(await snapshotsOf('over'), [])
    assert.equal((await undelete('over')).status, 200)
    const ids = await snapshotsOf('over')
    const states = await Promise.all(ids.map((id) => box.read(`/box/over?snapshot=${id}`)))
    assert.deepEqual([...states, await box.read('/box/over')], ['one', 'two', 'three'])
    await box.send('DELETE', '/box/over', { 'x-ms-delete-snapshots': 'only' })
    assert.equal((await box.send('DELETE', '/box/over')).status, 202)
  })

  test('of metadata or properties alone keeps nothing', async () => {
    await box.put('light', 'one')
    await box.send('PUT', '/box/light?comp=metadata', { 'x-ms-meta-a': '1' })
    await box.send('PUT', '/box/light?comp=properties', { 'x-ms-blob-content-type': 'a/b' })
    await undelete('light')
    assert.deepEqual(await snapshotsOf('light'), [])
  })
})

test('a deleted snapshot is in the way of a delete that soft delete no longer holds', async () => {
  await box.put('held', 'one')
  const id = await box.snapshot('held')
  await box.send('DELETE', `/box/held?snapshot=${id}`)
  await box.turn(NO_SOFT_DELETE)
  await assertRefused(box.send('DELETE', '/box/held'), 409, 'SnapshotsPresent')
  assert.equal((await box.send('DELETE', '/box/held', INCLUDE)).status, 202)
  await assertRefused(undelete('held'), 404, 'BlobNotFound')
})

describe('with versioning on', () => {
  beforeEach(() => box.turn(VERSIONING))

  test('a deleted blob is a version, not soft-deleted, and undeleting makes none current', async () => {
    const id = await box.put('versioned', 'one')
    const gone = await box.send('DELETE', '/box/versioned')
    assert.equal(gone.headers['x-ms-delete-type-permanent'], 'false')
    assert.equal(await box.read(`/box/versioned?versionid=${id}`), 'one')
    assert.equal((await undelete('versioned')).status, 200)
    assert.equal(await box.read('/box/versioned'), 'BlobNotFound')
  })

  test('a deleted version comes back, a deleted snapshot too', async () => {
    const id = await box.put('version', 'one')
    const snapshot = await box.snapshot('version')
    const gone = await box.send('DELETE', `/box/version?versionid=${id}`)
    assert.deepEqual([gone.status, gone.headers['x-ms-delete-type-permanent']], [202, 'false'])
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
  beforeEach(() => box.turn(ALLOWED))

  test('of a snapshot and of a version that are deleted', async () => {
    await box.turn(VERSIONING)
    const version = await box.put('for-good', 'one')
    const snapshot = await box.snapshot('for-good')
    for (const at of [`versionid=${version}`, `snapshot=${snapshot}`]) {
      const path = `/box/for-good?${at}`
      const early = box.send('DELETE', `${path}&${PERMANENT}`)
      await assertRefused(early, 409, 'BlobSnapshotNotSoftDeleted')
      await box.send('DELETE', path)
      const gone = await box.send('DELETE', `${path}&${PERMANENT}`)
      assert.deepEqual([gone.status, gone.headers['x-ms-delete-type-permanent']], [202, 'true'])
      await assertRefused(box.send('DELETE', `${path}&${PERMANENT}`), 404, 'BlobNotFound')
    }
    await undelete('for-good')
    assert.equal(await box.read(`/box/for-good?snapshot=${snapshot}`), 'BlobNotFound')
    assert.equal(await box.read(`/box/for-good?versionid=${version}`), 'BlobNotFound')
  })

  test('of the blob itself is refused', async () => {
    await box.turn(VERSIONING)
    const id = await box.put('root', 'one')
    for (const at of ['', `versionid=${id}&`]) {
      const sent = box.send('DELETE', `/box/root?${at}${PERMANENT}`)
      await assertRefused(sent, 403, 'OperationNotAllowedOnRootBlob')
    }
    assert.equal(await box.read('/box/root'), 'one')
  })

  test('is refused where the account does not allow it, or asks for another type', async () => {
    await box.put('refused', 'one')
    const at = `/box/refused?snapshot=${await box.snapshot('refused')}`
    await box.send('DELETE', at)
    await box.turn(softDelete(2))
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
      const answer = await rawRequest(box.server, { method: 'DELETE', path, sign })
      assert.equal(answer.status, status, answer.text)
    })
  }

  test('and the policy come back from the properties, for the SDK too', async () => {
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
