// The other operations of the Blob service on paths of a hierarchical container: they work by the same records.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leaseBlob, setBlobMetadata, setBlobTags, setBlobTier } from '../blob/change.ts'
import { getBlockList, putBlock, putBlockList } from '../blob/content/block.ts'
import { putPageBlob } from '../blob/content/page.ts'
import { createContainer } from '../blob/container/container.ts'
import { copyBlob } from '../blob/copy/copy.ts'
import { setBlobExpiry } from '../blob/expiry.ts'
import { setLegalHold } from '../blob/immutability.ts'
import { putBlob } from '../blob/put.ts'
import { listHeldBlocks } from '../blob/held/block.ts'
import { listBlobLeases } from '../blob/held/lease.ts'
import { findInAccount, findInContainer } from '../blob/list/find-by-tags.ts'
import { deleteBlob } from '../blob/past/delete.ts'
import { snapshotBlob } from '../blob/past/snapshot.ts'
import { undeleteBlob } from '../blob/past/undelete.ts'
import { NO_CONDITIONS } from '../shared/condition.ts'
import type { StorageError } from '../shared/error.ts'
import type { LeaseAction } from '../shared/lease.ts'
import { parseWhere } from '../shared/tag-filter.ts'
import { ACCOUNT, GUARD, lakeWorld, pathsOf, type LakeWorld } from './harness.ts'

const ID = '11111111-1111-1111-1111-111111111111'
const OTHER = '22222222-2222-2222-2222-222222222222'
const PUT = { guard: GUARD, createOnly: false, headers: {}, metadata: [] }
const options = (world: LakeWorld) => ({ countMax: 100, nowMs: world.now.ms })

const code = (expected: string) => (error: StorageError) => {
  assert.equal(error.code, expected)
  return true
}

const blob = (path: string) => ({ account: ACCOUNT, container: 'fs', blob: path })

function acquire(world: LakeWorld, path: string) {
  const action = { action: 'acquire', durationSeconds: -1, proposedId: ID, newId: ID } as const
  return world.write((tx, taken) => leaseBlob(tx, blob(path), GUARD, action, taken))
}

async function stage(world: LakeWorld, path: string, blockId = 'AAAA') {
  const block = await world.stage(Buffer.from('text'))
  return world.write((tx, taken) => {
    return putBlock(tx, blob(path), { blockId, guard: GUARD }, block, taken)
  })
}

function commit(world: LakeWorld, path: string, blockId = 'AAAA', leaseId?: string) {
  const list = { entries: [['Latest', blockId] as const], newId: world.newId() }
  const guard = leaseId === undefined ? GUARD : { ...GUARD, leaseId }
  return world.write((tx, taken) => putBlockList(tx, blob(path), { ...PUT, guard }, list, taken))
}

test('blocks are put for a path that does not exist, and their list makes its parents', async () => {
  const world = await lakeWorld()
  await stage(world, 'd/e/f')
  assert.deepEqual(await pathsOf(world), [])
  await commit(world, 'd/e/f')
  assert.deepEqual(await pathsOf(world), ['d/', 'd/e/', 'd/e/f'])
  assert.equal(await world.read('d/e/f'), 'text')
  await stage(world, 'd/e/f', 'BBBB')
  await world.rename('d/e/f', 'd/g')
  await commit(world, 'd/g', 'BBBB')
  assert.equal(await world.read('d/g'), 'text', 'uncommitted blocks go with the file')
  await world.delete('d')
  await world.sweep()
  await world.checkSound()
  const counts = await world.counts()
  assert.deepEqual([counts['block'], counts['blob-staging'], counts['blob']], [undefined, undefined, undefined]) // prettier-ignore
})

test('blocks for a path do not end up in a file that is renamed there', async () => {
  const world = await lakeWorld()
  await world.create('f')
  await stage(world, 'g')
  await world.rename('f', 'g')
  await world.delete('g')
  await assert.rejects(commit(world, 'g'), code('InvalidBlockList'))
})

test('Undelete Blob undoes the last deletion of a path', async () => {
  const world = await lakeWorld()
  await world.setProperties({ deleteRetentionPolicy: { enabled: true, days: 7 } })
  const undelete = () => world.write((tx, taken) => undeleteBlob(tx, blob('d/f'), taken))
  await assert.rejects(undelete(), code('BlobNotFound'))
  for (const text of ['one', 'two']) {
    await world.putBlob('d/f', text)
    await world.delete('d/f')
  }
  await undelete()
  assert.equal(await world.read('d/f'), 'two')
  await undelete()
  await world.delete('d')
  await world.putBlob('d', 'a file')
  await assert.rejects(undelete(), code('PathConflict'))
})

test('a lake file takes no blocks, shows none, and is replaced by Put Blob', async () => {
  const world = await lakeWorld()
  await world.create('f')
  await world.append('f', 0, 'text')
  await assert.rejects(stage(world, 'f'), code('BlobOperationNotSupported'))
  await assert.rejects(commit(world, 'f'), code('BlobOperationNotSupported'))
  const lists = await world.kv.read((tx) => getBlockList(tx, blob('f'), GUARD, 'all', world.now.ms))
  assert.deepEqual([lists.committed, lists.uncommitted], [[], []])
  await world.putBlob('f', 'blob')
  await assert.rejects(world.flush('f', 4), code('InvalidFlushOperation'))
  assert.equal(await world.read('f'), 'blob')
})

// prettier-ignore
const REFUSED: readonly (readonly [what: string, code: string, run: (world: LakeWorld) => Promise<unknown>])[] = [
  ['a page blob', 'BlobOperationNotSupported', (world) => world.write((tx, taken) =>
    putPageBlob(tx, blob('p'), PUT, { lengthBytes: 512, sequenceNumber: 0n, mapId: world.newId() }, taken))],
  ['a snapshot of a directory', 'BlobOperationNotSupported', (world) => world.write((tx, taken) =>
    snapshotBlob(tx, blob('d'), GUARD, { metadata: undefined, newIds: [world.newId(), world.newId()] }, taken))],
  ['a tier of a directory', 'BlobOperationNotSupported', (world) => world.write((tx, { nowMs }) =>
    setBlobTier(tx, blob('d'), GUARD, { name: 'Cool' }, nowMs))],
  ['a legal hold, which a rename or deletion of a tree would have to look for', 'BlobOperationNotSupported', (world) =>
    world.write((tx, { nowMs }) => setLegalHold(tx, blob('d/f'), true, nowMs))],
  ['a new blob with an immutability policy', 'BlobOperationNotSupported', (world) => world.write((tx, taken) =>
    putBlob(tx, blob('d/new'), { ...PUT, immutability: { mode: 'Unlocked', untilMs: taken.nowMs + 9 } }, { bytes: Buffer.alloc(1) }, taken))],
  ['Delete Blob of a directory that is not empty', 'DirectoryIsNotEmpty', (world) => world.write((tx, taken) =>
    deleteBlob(tx, blob('d'), { guard: GUARD }, taken))],
  ['a block for a directory', 'ResourceTypeMismatch', (world) => stage(world, 'd')],
  ['a block below a file', 'PathConflict', (world) => stage(world, 'd/f/x')],
  ['a delete of a leased directory', 'LeaseIdMissing', async (world) => {
    await acquire(world, 'd')
    await world.delete('d')
  }],
  ['a rename of a leased file', 'LeaseIdMissing', async (world) => {
    await acquire(world, 'd/f')
    await world.rename('d/f', 'g')
  }],
]

for (const [what, expected, run] of REFUSED) {
  test(`${what} is refused with ${expected}`, async () => {
    const world = await lakeWorld()
    await world.create('d/f')
    await assert.rejects(run(world), code(expected))
    assert.deepEqual(await pathsOf(world), ['d/', 'd/f'])
  })
}

test('a lease goes with the path, and lists of leases name the path where it is', async () => {
  const world = await lakeWorld()
  await world.create('d/e/f')
  await acquire(world, 'd/e/f')
  await acquire(world, 'd/e')
  await stage(world, 'new/blob')
  await acquire(world, 'new/blob')
  await world.rename('d', 'x', {}, [{}, { container: 'other' }])
  const names = async () =>
    (await listBlobLeases(world.kv, options(world))).map(({ path }) => path.join('/')).toSorted()
  assert.deepEqual(await names(), ['fs/new/blob', 'other/x/e', 'other/x/e/f'])
  const held = await listHeldBlocks(world.kv, options(world))
  assert.deepEqual(held.map((each) => [each.container, each.blob]), [['fs', 'new/blob']]) // prettier-ignore
  await commit(world, 'new/blob', 'AAAA', ID)
  assert.deepEqual(await names(), ['fs/new/blob', 'other/x/e', 'other/x/e/f'])
  await world.delete('x', {}, { container: 'other' })
  assert.deepEqual(await names(), ['fs/new/blob'])
  await world.sweep()
  assert.equal((await world.counts())['leased'], 1)
})

test('a rename with the id of the source’s lease keeps the lease', async () => {
  const world = await lakeWorld()
  await world.create('f')
  await acquire(world, 'f')
  await assert.rejects(world.rename('f', 'g', { leaseId: OTHER }), code('LeaseIdMismatchWithBlobOperation')) // prettier-ignore
  const renamed = await world.rename('f', 'g', { leaseId: ID })
  assert.equal(renamed.lease?.id, ID)
})

test('a rename over a leased path with the id of its lease keeps that lease', async () => {
  const world = await lakeWorld()
  await world.create('f')
  await world.create('g')
  await acquire(world, 'g')
  await assert.rejects(world.rename('f', 'g'), code('LeaseIdMissing'))
  await world.rename('f', 'g', { guard: { ...GUARD, leaseId: ID } })
  assert.equal((await world.find('g'))?.lease?.id, ID)
  const leases = await listBlobLeases(world.kv, options(world))
  assert.deepEqual(
    leases.map(({ path }) => path.join('/')),
    ['fs/g'],
  )
  await assert.rejects(world.delete('g'), code('LeaseIdMissing'))
})

test('without a period, the break of a lease of a path is at once', async () => {
  const world = await lakeWorld()
  await world.create('d/f')
  for (const path of ['d', 'd/f']) {
    const acquire = { action: 'acquire', durationSeconds: 15, newId: ID } as const
    const run = (action: LeaseAction) =>
      world.write((tx, taken) => leaseBlob(tx, blob(path), GUARD, action, taken))
    await run(acquire)
    const periods = await run({ action: 'break', periodSeconds: 9 })
    assert.equal(periods.result.leaseTimeSeconds, 9)
    assert.equal((await run({ action: 'break' })).result.leaseTimeSeconds, 0)
    await run(acquire)
  }
})

test('blobs and directories are found by tags under the path that they have, until they are deleted', async () => {
  const world = await lakeWorld()
  await world.create('d/f')
  await world.create('d/g')
  for (const path of ['d', 'd/f', 'd/g']) {
    await world.write((tx, taken) => setBlobTags(tx, blob(path), GUARD, [['k', 'v']], taken))
  }
  await world.rename('d/f', 'h', {}, [{}, { container: 'other' }])
  await world.rename('d', 'e')
  const request = { where: parseWhere('"k"=\'v\'', 'account'), start: undefined, countMax: 10 }
  const all = () => world.kv.read((tx) => findInAccount(tx, ACCOUNT, request, world.now.ms))
  const inside = (container: string) =>
    world.kv.read((tx) => findInContainer(tx, { account: ACCOUNT, container }, request, world.now.ms)) // prettier-ignore
  const names = async (finding: ReturnType<typeof all>) =>
    (await finding).items.map(({ container, name }) => `${container}/${name}`).toSorted()
  assert.deepEqual(await names(all()), ['fs/e', 'fs/e/g', 'other/h'])
  assert.deepEqual(await names(inside('fs')), ['fs/e', 'fs/e/g'])
  await world.delete('e')
  assert.deepEqual(await names(all()), ['other/h'])
})

test('a file that expires is gone, and its directory is empty', async () => {
  const world = await lakeWorld()
  await world.create('d/f', { expiry: { option: 'RelativeToNow', afterMs: 1_000 } })
  await world.create('d/g')
  const expiry = { option: 'RelativeToNow' as const, afterMs: 2_000 }
  await world.write((tx, taken) => setBlobExpiry(tx, blob('d/g'), GUARD, expiry, taken.nowMs))
  world.now.ms += 1_500
  assert.deepEqual(await pathsOf(world), ['d/', 'd/g'])
  await world.putBlob('d/f', 'new')
  assert.equal(await world.read('d/f'), 'new')
  await world.delete('d/f')
  world.now.ms += 1_000
  await world.delete('d', { isRecursive: false })
  await world.sweep()
  const counts = await world.counts()
  assert.deepEqual([counts['blob'], counts['path-entry'], counts['due']], [undefined, undefined, undefined]) // prettier-ignore
})

test('a copy makes the parents of its destination, and later moves independently', async () => {
  const world = await lakeWorld()
  await world.create('f')
  await world.appendAndFlush('f', 0, 'text')
  const source = { address: blob('f'), conditions: NO_CONDITIONS, encryption: {} }
  const copy = {
    put: PUT, metadata: undefined, source, state: { id: ID, source: 'http://localhost/f' }, newId: world.newId(),
    copiesTags: false, seal: undefined, rehydratePriority: undefined,
  } // prettier-ignore
  await world.write((tx, taken) => copyBlob(tx, blob('d/e/copy'), copy, taken))
  await world.delete('f')
  await world.rename('d', 'x')
  await world.sweep()
  await world.checkSound()
  assert.equal(await world.read('x/e/copy'), 'text')
})

test('metadata of a directory keeps the mark', async () => {
  const world = await lakeWorld()
  await world.mkdir('d')
  const set = await world.write((tx, taken) => {
    return setBlobMetadata(tx, blob('d'), GUARD, [['a', 'b']], world.newId(), taken)
  })
  assert.deepEqual(set.metadata, [['a', 'b'], ['hdi_isfolder', 'true']]) // prettier-ignore
})

test('a flat container of the same account stays flat', async () => {
  const world = await lakeWorld()
  const flat = { account: ACCOUNT, container: 'flat' }
  await world.write((tx, taken) => {
    return createContainer(tx, flat, { id: world.newId(), metadata: [] }, taken)
  })
  const created = await world.create('a//b', {}, { container: 'flat' })
  assert.equal(created.path, undefined)
  await world.appendAndFlush('a//b', 0, 'text', { container: 'flat' })
  assert.equal(await world.read('a//b', { container: 'flat' }), 'text')
  await assert.rejects(
    world.rename('a//b', 'c', {}, [{ container: 'flat' }, { container: 'flat' }]),
    code('HierarchicalNamespaceNotEnabled'),
  )
  await world.delete('a//b', {}, { container: 'flat' })
  assert.equal(await world.find('a//b', { container: 'flat' }), undefined)
})
