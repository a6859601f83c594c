// The index of leases follows every action on the lease of a container or blob; what is deleted is not listed, and swept.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { encodeKey } from '../../../kv/key.ts'
import { prefixRange } from '../../../kv/kv.ts'
import { indexLeases } from '../../index-leases.ts'
import { NO_CONDITIONS } from '../../shared/condition.ts'
import { StorageError } from '../../shared/error.ts'
import type { LeaseAction } from '../../shared/lease.ts'
import { countLeased, endActiveLease, indexLease } from '../../shared/leased.ts'
import { leaseBlob } from '../change.ts'
import { leaseContainer, renameContainer, restoreContainer } from '../container/container.ts'
import { saveStaging } from '../content/staging.ts'
import { blobWorld, CONTAINER, GUARD, type BlobWorld } from '../harness.ts'
import { blobKey } from '../keys.ts'
import { activeBlobLease, activeContainerLease, listBlobLeases } from './lease.ts'

const ID = '00000000-0000-4000-8000-000000000001'
const OTHER = '00000000-0000-4000-8000-000000000002'

function acquire(durationSeconds = -1): LeaseAction {
  return { action: 'acquire', durationSeconds, newId: ID }
}

function lease({ kv, moment }: BlobWorld, blob: string, action: LeaseAction) {
  const now = moment()
  return kv.write((tx) => leaseBlob(tx, { ...CONTAINER, blob }, GUARD, action, now))
}

function leaseBox({ kv, moment }: BlobWorld, action: LeaseAction) {
  const now = moment()
  const guard = { conditions: NO_CONDITIONS }
  return kv.write((tx) => leaseContainer(tx, CONTAINER, guard, action, now))
}

async function listed({ kv, now }: BlobWorld, countMax = 1_000): Promise<readonly string[]> {
  const leases = await listBlobLeases(kv, { countMax, nowMs: now.ms })
  return leases.map((each) => `${each.kind} ${each.path.join('/')} ${each.lease.id.at(-1)}`)
}

async function entryCount(world: BlobWorld): Promise<number> {
  return (await world.counts())['leased'] ?? 0
}

describe('active leases', () => {
  test('are listed from acquire to release, with their latest id', async () => {
    const world = await blobWorld()
    await world.putInline('a', Buffer.from('x'))
    await world.putInline('b', Buffer.from('x'))
    await lease(world, 'a', acquire())
    await leaseBox(world, acquire(15))
    assert.deepEqual(await listed(world), ['container box 1', 'blob box/a 1'])
    assert.deepEqual(await listed(world, 1), ['container box 1'])
    await lease(world, 'a', { action: 'change', id: ID, proposedId: OTHER })
    assert.deepEqual(await listed(world), ['container box 1', 'blob box/a 2'])
    await lease(world, 'a', { action: 'release', id: OTHER })
    await leaseBox(world, { action: 'release', id: ID })
    assert.equal(await entryCount(world), 0)
  })

  test('end when their time is over, and the sweep forgets them', async () => {
    const world = await blobWorld()
    await world.putInline('a', Buffer.from('x'))
    await lease(world, 'a', acquire(15))
    world.advance(14_999)
    assert.deepEqual(await listed(world), ['blob box/a 1'])
    await world.sweep()
    assert.equal(await entryCount(world), 1)
    world.advance(1)
    assert.deepEqual(await listed(world), [])
    await world.sweep()
    assert.equal(await entryCount(world), 0)
  })

  test('of a deleted blob are not listed, even if the blob is created again', async () => {
    const world = await blobWorld()
    await world.putInline('a', Buffer.from('x'))
    await lease(world, 'a', acquire())
    await world.delete('a', { guard: { ...GUARD, leaseId: ID } })
    assert.deepEqual(await listed(world), [])
    await world.putInline('a', Buffer.from('x'))
    assert.deepEqual(await listed(world), [])
    await world.sweep()
    assert.equal(await entryCount(world), 0)
  })

  test('of blobs come back with their restored container, however long ago it was deleted', async () => {
    const world = await blobWorld()
    await world.setProperties({ containerDeleteRetentionPolicy: { enabled: true, days: 7 } })
    await world.putInline('a', Buffer.from('x'))
    await lease(world, 'a', acquire())
    const { container } = await leaseBox(world, acquire(15))
    world.advance(15_000)
    await world.deleteContainer()
    await world.sweep()
    assert.deepEqual(await listed(world), [])
    const deleted = { name: CONTAINER.container, version: container.id }
    const now = world.moment()
    await world.kv.write((tx) => restoreContainer(tx, CONTAINER, deleted, now))
    assert.deepEqual(await listed(world), ['blob box/a 1'])
  })

  test('stay with a renamed container', async () => {
    const world = await blobWorld()
    await world.putInline('a', Buffer.from('x'))
    await lease(world, 'a', acquire())
    await leaseBox(world, acquire())
    const [to, source, now] = [
      { ...CONTAINER, container: 'case' },
      { name: 'box', leaseId: ID },
      world.moment(),
    ]
    await world.kv.write((tx) => renameContainer(tx, to, source, now))
    assert.deepEqual(await listed(world), ['container case 1', 'blob case/a 1'])
    await world.sweep()
    assert.deepEqual(await listed(world), ['container case 1', 'blob case/a 1'])
  })

  test('of a blob without committed blocks are listed and can be ended', async () => {
    const world = await blobWorld()
    const staging = {
      blockCount: 1,
      blockIdBytes: 4,
      createdMs: world.now.ms,
      touchedMs: world.now.ms,
    }
    const { container: box } = await leaseBox(world, acquire(15))
    await world.kv.write(function* (tx) {
      saveStaging(tx, box.id, 'a', staging)
    })
    await lease(world, 'a', acquire())
    assert.deepEqual(await listed(world), ['container box 1', 'blob box/a 1'])
    const isEnded = await world.kv.write((tx) =>
      endActiveLease(tx, () => activeBlobLease(tx, { ...CONTAINER, blob: 'a' }, world.now.ms)),
    )
    assert.equal(isEnded, true)
    assert.deepEqual(await listed(world), ['container box 1'])
  })

  test('are listed and counted in pages', async () => {
    const world = await blobWorld()
    const names = Array.from({ length: 450 }, (_, at) => `blob-${at}`)
    for (const name of names) {
      await world.putInline(name, Buffer.from('x'))
      await lease(world, name, acquire())
    }
    assert.equal((await listed(world)).length, 450)
    assert.equal((await listed(world, 300)).length, 300)
    const nowMs = world.now.ms
    assert.deepEqual(await countLeased(world.kv, { countMax: 10_000, nowMs }), {
      count: 450,
      isCut: false,
    })
  })
})

test('a count ends at its limit, and says so', async () => {
  const world = await blobWorld()
  await world.kv.write(function* (tx) {
    const running = { id: ID, durationSeconds: -1 }
    for (let at = 0; at < 1_500; at += 1) indexLease(tx, blobKey(1, `blob-${at}`), running)
  })
  const nowMs = world.now.ms
  const count = (countMax: number) => countLeased(world.kv, { countMax, nowMs })
  assert.deepEqual(await count(1_000), { count: 1_000, isCut: true })
  assert.deepEqual(await count(2_000), { count: 1_500, isCut: false })
})

describe('an operator', () => {
  test('ends a lease at once, whose holder then gets the ordinary errors', async () => {
    const world = await blobWorld()
    await world.putInline('a', Buffer.from('x'))
    await lease(world, 'a', acquire())
    await leaseBox(world, acquire())
    const nowMs = world.now.ms
    const endBlob = () =>
      world.kv.write((tx) =>
        endActiveLease(tx, () => activeBlobLease(tx, { ...CONTAINER, blob: 'a' }, nowMs)),
      )
    assert.equal(await endBlob(), true)
    assert.equal(await endBlob(), false)
    const endBox = () =>
      world.kv.write((tx) => endActiveLease(tx, () => activeContainerLease(tx, CONTAINER, nowMs)))
    assert.equal(await endBox(), true)
    assert.equal(await endBox(), false)
    assert.deepEqual(await listed(world), [])
    await assert.rejects(lease(world, 'a', { action: 'renew', id: ID }), (error) => {
      return error instanceof StorageError && error.code === 'LeaseIsBrokenAndCannotBeRenewed'
    })
    assert.equal((await world.read('a'))?.toString(), 'x')
  })
})

test('the migration finds the leases of a store without an index, and may run twice', async () => {
  const world = await blobWorld()
  await world.putInline('a', Buffer.from('x'))
  await world.putInline('b', Buffer.from('x'))
  await lease(world, 'a', acquire())
  await leaseBox(world, acquire())
  const before = await listed(world)
  await world.kv.write(function* (tx) {
    const keys = yield* tx.scanKeys({ ...prefixRange(encodeKey('leased')), countMax: 10 })
    for (const key of keys) tx.delete(key)
  })
  assert.deepEqual(await listed(world), [])
  await indexLeases(world.kv)
  await indexLeases(world.kv)
  assert.deepEqual(await listed(world), before)
  assert.equal(await entryCount(world), 2)
})
