import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { assertBytes } from '../../../../test/assert-bytes.ts'
import { patternBytes } from '../../../extent/harness.ts'
import type { BlobGuard } from '../guard.ts'
import { checkEmpty, CONTAINER, DAY_MS, GUARD, blobWorld, type BlobWorld } from '../harness.ts'
import { putBlob } from '../put.ts'
import { snapshotBlob } from './snapshot.ts'

const [ONE, TWO] = [patternBytes(1, 20_000), patternBytes(2, 30_000)]

/** The ways to store a blob's bytes. */
const WRITES: Readonly<Record<string, (world: BlobWorld, bytes: Buffer) => Promise<unknown>>> = {
  'in the record': (world, bytes) => world.putInline('b', bytes),
  'in one slice': (world, bytes) => world.putWhole('b', bytes),
  'in a few blocks': (world, bytes) => world.putBlockList('b', halves(bytes)),
  'in a map of pages': (world, bytes) => {
    const [first, second] = halves(bytes)
    return world.putPages('b', bytes.length, [
      [0, first],
      [first.length, second],
    ])
  },
}

function halves(bytes: Buffer): readonly [Buffer, Buffer] {
  return [bytes.subarray(0, bytes.length / 2), bytes.subarray(bytes.length / 2)]
}

for (const waits of [false, true]) {
  describe(waits ? 'on an engine whose reads wait' : 'on an engine whose reads don’t wait', () => {
    for (const [how, write] of Object.entries(WRITES)) {
      test(`a snapshot of a blob ${how} survives an overwrite`, async () => {
        const world = await blobWorld({ waits })
        await write(world, ONE)
        const { snapshot } = await world.snapshot('b')
        await write(world, TWO)
        assertBytes(await world.read('b', { snapshot }), ONE)
        assertBytes(await world.read('b'), TWO)
        await world.sweep()
        await world.checkSound()
        assertBytes(await world.read('b', { snapshot }), ONE)
        await world.delete('b', { snapshots: 'include' })
        await world.sweep()
        await world.checkSound()
        await checkEmpty(world)
      })

      test(`writes, metadata and snapshots create versions of a blob ${how}, and each can be deleted`, async () => {
        const world = await blobWorld({ waits })
        await world.setProperties({ isVersioningEnabled: true })
        await write(world, ONE)
        const first = (await world.find('b'))?.version ?? 0
        await world.setMetadata('b', 'x')
        const second = (await world.find('b'))?.version ?? 0
        const { snapshot, version: third = 0 } = await world.snapshot('b')
        await write(world, TWO)
        const fourth = (await world.find('b'))?.version ?? 0
        assert.ok(first < second && second < snapshot && snapshot < third && third < fourth)
        for (const version of [first, second, third]) {
          assertBytes(await world.read('b', { version }), ONE)
          assert.equal((await world.find('b', { version }))?.version, version)
        }
        assert.equal((await world.find('b', { snapshot }))?.version, undefined)
        await world.checkSound()
        await world.delete('b', { snapshots: 'include' })
        assert.equal(await world.read('b'), undefined)
        assertBytes(await world.read('b', { version: fourth }), TWO)
        for (const version of [first, second, third, fourth]) {
          await world.delete('b', {}, { version })
        }
        await world.sweep()
        await world.checkSound()
        await checkEmpty(world)
      })

      test(`an overwritten and deleted blob ${how} can be restored until its retention ends`, async () => {
        const world = await blobWorld({ waits })
        await world.setProperties({ deleteRetentionPolicy: { enabled: true, days: 2 } })
        await write(world, ONE)
        await write(world, TWO)
        await world.delete('b')
        await world.sweep()
        assert.equal(await world.read('b'), undefined)
        await world.undelete('b')
        assertBytes(await world.read('b'), TWO)
        assert.equal((await world.find('b'))?.snapshotCount, 1)
        await world.checkSound()
        await world.delete('b', { snapshots: 'include' })
        world.advance(2 * DAY_MS - 1)
        await world.sweep()
        assert.ok(((await world.counts())['blob-past'] ?? 0) === 2)
        world.advance(1)
        await world.sweep()
        await world.checkSound()
        await checkEmpty(world)
      })
    }

    test('a new blob turns a soft-deleted one into a deleted snapshot', async () => {
      const world = await blobWorld({ waits })
      await world.setProperties({ deleteRetentionPolicy: { enabled: true, days: 2 } })
      await world.putWhole('b', ONE)
      await world.delete('b')
      await world.putWhole('b', TWO)
      assert.equal((await world.find('b'))?.snapshotCount, undefined)
      await world.undelete('b')
      assert.equal((await world.find('b'))?.snapshotCount, 1)
      assertBytes(await world.read('b'), TWO)
      await world.checkSound()
    })

    test('a blob from before versioning becomes a version with its own id', async () => {
      const world = await blobWorld({ waits })
      const { stamp } = await world.putWhole('b', ONE)
      const { snapshot } = await world.snapshot('b')
      await world.setProperties({ isVersioningEnabled: true })
      await world.putWhole('b', TWO)
      assertBytes(await world.read('b', { version: stamp }), ONE)
      assertBytes(await world.read('b', { snapshot }), ONE)
      assert.equal((await world.find('b', { version: stamp }))?.version, stamp)
    })

    test('after versioning is turned off, the next write keeps the last version and creates none', async () => {
      const world = await blobWorld({ waits })
      await world.setProperties({ isVersioningEnabled: true })
      const { version: first = 0 } = await world.putWhole('b', ONE)
      await world.setProperties({ isVersioningEnabled: false })
      const { version: none } = await world.snapshot('b')
      assert.equal(none, undefined)
      assert.equal((await world.find('b'))?.version, first)
      await world.setMetadata('b', 'x')
      assert.equal((await world.find('b'))?.version, undefined)
      await world.setMetadata('b', 'y')
      await world.putWhole('b', TWO)
      assertBytes(await world.read('b', { version: first }), ONE)
      assert.equal((await world.counts())['blob-past'], 2)
      await world.delete('b', { snapshots: 'include' })
      await world.delete('b', {}, { version: first })
      await world.sweep()
      await world.checkSound()
      await checkEmpty(world)
    })

    test('snapshots that are restored without a blob belong to the next blob', async () => {
      const world = await blobWorld({ waits })
      await world.setProperties({
        isVersioningEnabled: true,
        deleteRetentionPolicy: { enabled: true, days: 2 },
      })
      await world.putWhole('b', ONE)
      const { snapshot } = await world.snapshot('b')
      const { snapshot: other } = await world.snapshot('b')
      await world.delete('b', { snapshots: 'include' })
      await world.undelete('b')
      assert.equal(await world.read('b'), undefined)
      assertBytes(await world.read('b', { snapshot }), ONE)
      await world.delete('b', {}, { snapshot: other })
      await world.putWhole('b', TWO)
      assert.equal((await world.find('b'))?.snapshotCount, 1)
      await assert.rejects(world.delete('b'), { code: 'SnapshotsPresent' })
      await world.delete('b', { snapshots: 'include' })
      assert.equal(await world.read('b', { snapshot }), undefined)
    })

    test('a snapshot of a blob with an encryption scope has to name the scope', async () => {
      const world = await blobWorld({ waits })
      const address = { ...CONTAINER, blob: 'b' }
      const encryption = { scope: 'scope' }
      const guard = { ...GUARD, encryption }
      const put = { guard, createOnly: false, headers: {}, metadata: [], encryption }
      const bytes = Buffer.from('x')
      await world.kv.write((tx) => putBlob(tx, address, put, { bytes }, world.moment()))
      const request = { metadata: undefined, newIds: [world.newId(), world.newId()] as const }
      const take = (as: BlobGuard) =>
        world.kv.write((tx) => snapshotBlob(tx, address, as, request, world.moment()))
      await assert.rejects(take(GUARD), { code: 'BlobUsesCustomerSpecifiedEncryption' })
      const { snapshot } = await take(guard)
      assert.deepEqual((await world.find('b', { snapshot }))?.encryption, encryption)
    })

    test('concurrent writes and snapshots get unique ids', async () => {
      const world = await blobWorld({ waits })
      await world.setProperties({ isVersioningEnabled: true })
      const stamps = await Promise.all(
        Array.from({ length: 30 }, async (_, i) => {
          if (i % 3 === 0) return (await world.putInline('b', Buffer.from(`${i}`))).version
          await world.putInline('b', Buffer.from(`${i}`))
          return i % 3 === 1 ? (await world.snapshot('b')).snapshot : undefined
        }),
      )
      const ids = stamps.filter((stamp) => stamp !== undefined)
      assert.equal(new Set(ids).size, 20)
      // 30 puts and 10 snapshots make 40 versions, of which one is current, and 10 snapshots.
      assert.equal((await world.counts())['blob-past'], 49)
    })
  })
}
