import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { assertBytes } from '../../../../test/assert-bytes.ts'
import { patternBytes } from '../../../extent/harness.ts'
import { committedBlocks, RECORD_BLOCKS_MAX } from './content.ts'
import { overwriteMap, clearMap, sweepMap } from '../../../extent/content/map.ts'
import { checkEmpty, blobWorld, type BlobWorld } from '../harness.ts'
import { deletedMapKey } from '../../../extent/content/map.ts'

const PAGE = 512
const page = (seed: number, count = 1) => patternBytes(seed, count * PAGE)

async function mapOf(world: BlobWorld, name: string): Promise<number> {
  const map = (await world.find(name))?.map
  assert.ok(map !== undefined)
  return map
}

for (const waits of [false, true]) {
  describe(waits ? 'on an engine whose reads wait' : 'on an engine whose reads don’t wait', () => {
    const COUNTS: readonly (readonly [count: number, records: number])[] = [
      [1, 0],
      [RECORD_BLOCKS_MAX, 0],
      [RECORD_BLOCKS_MAX + 1, 1],
      [256, 1],
      [257, 2],
      [1_100, 5],
    ]
    for (const [count, records] of COUNTS) {
      test(`a list of ${count} blocks takes ${records} map records`, async () => {
        const world = await blobWorld({ waits })
        const blocks = Array.from({ length: count }, (_, i) => patternBytes(i, 1 + (i % 7)))
        const blob = await world.putBlockList('b', blocks)
        assert.equal((await world.counts()).map ?? 0, records)
        assertBytes(await world.read('b'), Buffer.concat(blocks))
        const committed = await world.kv.read((tx) => committedBlocks(tx, blob))
        assert.deepEqual(
          committed.map(({ id, lengthBytes }) => [id, lengthBytes]),
          blocks.map((block, i) => [String(i), block.length]),
        )
        const { snapshot } = await world.snapshot('b')
        const copy = await world.find('b', { snapshot })
        assert.ok(copy !== undefined)
        assert.deepEqual(await world.kv.read((tx) => committedBlocks(tx, copy)), committed)
        assertBytes(await world.read('b', { snapshot }), Buffer.concat(blocks))
        await world.checkSound()
        await world.delete('b', { snapshots: 'include' })
        await world.sweep()
        await world.checkSound()
        await checkEmpty(world)
      })
    }

    test('writing pages leaves an earlier snapshot unchanged', async () => {
      const world = await blobWorld({ waits })
      await world.putPages('p', 8 * PAGE, [[0, page(1, 8)]])
      const before = await world.read('p')
      const { snapshot } = await world.snapshot('p')
      const [map, piece] = [await mapOf(world, 'p'), await world.write(page(2, 2))]
      await world.kv.write((tx) => overwriteMap(tx, map, 3 * PAGE, piece))
      await world.kv.write((tx) => clearMap(tx, map, { from: 0, to: PAGE }))
      const expected = Buffer.concat([
        Buffer.alloc(PAGE),
        page(1, 8).subarray(PAGE, 3 * PAGE),
        page(2, 2),
        page(1, 8).subarray(5 * PAGE),
      ])
      assertBytes(await world.read('p'), expected)
      assertBytes(await world.read('p', { snapshot }), before)
      await world.sweep()
      await world.checkSound()
      assertBytes(await world.read('p'), expected)
    })

    test('a page blob without pages reads as zeros', async () => {
      const world = await blobWorld({ waits })
      await world.putPages('p', 4 * PAGE, [])
      assert.deepEqual(await world.read('p'), Buffer.alloc(4 * PAGE))
      const { snapshot } = await world.snapshot('p')
      assert.deepEqual(await world.read('p', { snapshot }), Buffer.alloc(4 * PAGE))
    })

    test('a map is swept in steps, each of which leaves the store consistent', async () => {
      const world = await blobWorld({ waits })
      const pages = Array.from({ length: 25 }, (_, i) => [i * PAGE, page(i)] as const)
      await world.putPages('p', 25 * PAGE, pages)
      const map = await mapOf(world, 'p')
      await world.delete('p')
      assert.ok(await world.kv.read((tx) => tx.get(deletedMapKey(map))))
      const removed: number[] = []
      do {
        removed.push(await world.kv.write((tx) => sweepMap(tx, map, 10)))
        await world.checkSound()
      } while (removed.at(-1) !== 0)
      assert.deepEqual(removed, [10, 10, 5, 0])
      assert.equal((await world.counts())['deleted-map'], undefined)
      await world.sweep()
      await checkEmpty(world)
    })

    test('sweeping one map leaves its neighbours alone', async () => {
      const world = await blobWorld({ waits })
      for (const name of ['a', 'b', 'c']) await world.putPages(name, PAGE, [[0, page(1)]])
      await world.delete('b')
      await world.sweep()
      await world.checkSound()
      assert.deepEqual(await world.read('a'), page(1))
      assert.deepEqual(await world.read('c'), page(1))
      assert.equal((await world.counts()).map, 2)
    })
  })
}
