import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { assertBytes } from '../../../test/assert-bytes.ts'
import { patternBytes } from '../../extent/harness.ts'
import { requireContainer } from './container/container.ts'
import { setBlobExpiry } from './expiry.ts'
import { checkEmpty, CONTAINER, DAY_MS, GUARD, blobWorld, type BlobWorld } from './harness.ts'
import { putStagedBlock, saveStaging, scheduleStaging, type Staging } from './content/staging.ts'
import { sweepBlobs } from './sweep.ts'

const BYTES = patternBytes(1, 20_000)
const SOFT = { deleteRetentionPolicy: { enabled: true, days: 3 } }
const WEEK_MS = 7 * DAY_MS

/** Blobs of every kind, with past states of every kind. */
async function fill(world: BlobWorld): Promise<void> {
  await world.setProperties({ isVersioningEnabled: true, ...SOFT })
  await world.putWhole('versions', BYTES)
  await world.setMetadata('versions', 'x')
  await world.snapshot('versions')
  await world.putInline('versions', Buffer.from('small'))
  await world.putPages('pages', 1_024, [[512, patternBytes(2, 512)]])
  await world.snapshot('pages')
  await world.delete('pages', { snapshots: 'include' })
  await world.undelete('pages')
  await world.setProperties({ isVersioningEnabled: false })
  const blocks = Array.from({ length: 300 }, (_, i) => patternBytes(i, 3))
  await world.putBlockList('blocks', blocks)
  await world.putBlockList('blocks', blocks)
  await world.putWhole('deleted', BYTES)
  await world.delete('deleted')
  for (let i = 0; i < 210; i += 1) await world.putInline(`many/${i}`, Buffer.from('x'))
}

async function stage(world: BlobWorld, name: string, blockCount = 1): Promise<Staging> {
  const { id } = await world.kv.read((tx) => requireContainer(tx, CONTAINER))
  const piece = await world.write(BYTES)
  const { ms: nowMs } = world.now
  const staging = { blockCount, blockIdBytes: 1, createdMs: nowMs, touchedMs: nowMs }
  const content = { id: world.newId(), pieces: [piece] }
  await world.kv.write(function* (tx) {
    const place = { containerId: id, name, id: undefined }
    yield* putStagedBlock(tx, place, `QQ=${blockCount}`, { lengthBytes: BYTES.length, content })
    saveStaging(tx, id, name, staging)
    scheduleStaging(tx, id, name, staging)
  })
  return staging
}

for (const waits of [false, true]) {
  describe(waits ? 'on an engine whose reads wait' : 'on an engine whose reads don’t wait', () => {
    test('nothing is left of a deleted container', async () => {
      const world = await blobWorld({ waits })
      await fill(world)
      await stage(world, 'staged')
      await world.checkSound()
      await world.deleteContainer()
      await world.checkSound()
      world.advance(WEEK_MS)
      await world.sweep()
      await world.checkSound()
      assert.equal((await world.counts())['container-name'], undefined)
      await checkEmpty(world)
    })

    test('a container that can be restored keeps its blobs until its retention ends', async () => {
      const world = await blobWorld({ waits })
      await world.setProperties({ containerDeleteRetentionPolicy: { enabled: true, days: 5 } })
      await world.putWhole('b', BYTES)
      await world.deleteContainer()
      world.advance(5 * DAY_MS - 1)
      await world.sweep()
      assert.equal((await world.counts()).blob, 1)
      world.advance(1)
      await world.sweep()
      await world.checkSound()
      await checkEmpty(world)
    })

    test('undeleted blobs are not swept when their former retention ends', async () => {
      const world = await blobWorld({ waits })
      await world.setProperties(SOFT)
      await world.putWhole('b', BYTES)
      const { snapshot } = await world.snapshot('b')
      await world.delete('b', { snapshots: 'include' })
      world.advance(DAY_MS)
      await world.undelete('b')
      world.advance(9 * DAY_MS)
      await world.sweep()
      assertBytes(await world.read('b'), BYTES)
      assertBytes(await world.read('b', { snapshot }), BYTES)
    })

    test('the retention of a blob starts again when it is deleted again', async () => {
      const world = await blobWorld({ waits })
      await world.setProperties(SOFT)
      await world.putWhole('b', BYTES)
      await world.delete('b')
      await world.undelete('b')
      world.advance(2 * DAY_MS)
      await world.delete('b')
      world.advance(2 * DAY_MS)
      await world.sweep()
      await world.undelete('b')
      assertBytes(await world.read('b'), BYTES)
    })

    test('an expired blob is removed with its tags and its snapshots', async () => {
      const world = await blobWorld({ waits })
      await world.setProperties(SOFT)
      await world.putWhole('b', BYTES)
      await world.snapshot('b')
      const moment = world.moment()
      const expiry = { option: 'RelativeToNow', afterMs: DAY_MS } as const
      await world.kv.write((tx) =>
        setBlobExpiry(tx, { ...CONTAINER, blob: 'b' }, GUARD, expiry, moment.nowMs),
      )
      world.advance(DAY_MS - 1)
      await world.sweep()
      assertBytes(await world.read('b'), BYTES)
      world.advance(1)
      assert.equal(await world.read('b'), undefined)
      await world.sweep()
      await world.checkSound()
      await checkEmpty(world)
    })

    test('a blob has one scheduled check for its expiry, and none when it is deleted', async () => {
      const world = await blobWorld({ waits })
      const expire = (afterMs: number) => {
        const moment = world.moment()
        const expiry = { option: 'RelativeToNow', afterMs } as const
        return world.kv.write((tx) =>
          setBlobExpiry(tx, { ...CONTAINER, blob: 'b' }, GUARD, expiry, moment.nowMs),
        )
      }
      const marks = async () => (await world.counts())['due'] ?? 0
      await world.putInline('b', Buffer.from('x'))
      for (const days of [1, 3_000, 2_000_000]) await expire(days * DAY_MS)
      assert.equal(await marks(), 1)
      await world.putInline('b', Buffer.from('replaced'))
      assert.equal(await marks(), 0)
      await expire(3_000 * DAY_MS)
      await world.delete('b')
      assert.equal(await marks(), 0)
      await world.putInline('b', Buffer.from('x'))
      await expire(3_000 * DAY_MS)
      await world.deleteContainer()
      await world.sweep()
      assert.equal(await marks(), 0)
    })

    test('uncommitted blocks are kept for a week after the last one', async () => {
      const world = await blobWorld({ waits })
      await stage(world, 'b')
      world.advance(WEEK_MS - 1)
      const staging = await stage(world, 'b', 2)
      world.advance(1)
      await world.sweep()
      assert.equal((await world.counts())['blob-block'], 2)
      world.now.ms = staging.touchedMs + WEEK_MS
      await world.sweep()
      await world.checkSound()
      await checkEmpty(world)
    })

    test('a sweep removes nothing that concurrent writes need', async () => {
      const world = await blobWorld({ waits })
      await world.setProperties(SOFT)
      await Promise.all(
        Array.from({ length: 40 }, async (_, i) => {
          await world.putWhole('b', patternBytes(i, 600))
          if (i % 4 === 0) world.advance(DAY_MS)
          if (i % 5 === 0) await sweepBlobs(world.kv, world.now.ms)
        }),
      )
      await world.checkSound()
      assert.equal((await world.read('b'))?.length, 600)
    })
  })
}
