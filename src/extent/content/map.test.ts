// Maps of small writes: near the beginning the bytes are in the records themselves, further on in small slices. Reads,
// copies and cuts see no difference, and unused bytes are freed.
import { StoredRecord } from '../../kv/record.ts'
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { randomFrom } from '../../../test/random.ts'
import { checkStore } from '../sweep/fsck.ts'
import { chunksOf, readAll } from '../harness.ts'
import { readIntervals } from './interval-map.ts'
import { openMemoryExtents } from '../memory.ts'
import { wholeSlice } from './slice-list.ts'
import type { Hole, Piece } from './slice.ts'
import { smallPiece, sweepSmallSlices, withSmallSlices } from './small.ts'
import { decodeKey } from '../../kv/key.ts'
import { KEY_END, type Kv } from '../../kv/kv.ts'
import { openMemoryKv } from '../../kv/memory-kv.ts'
import { copyMap } from './map-copy.ts'
import {
  clearMap,
  mapIntervals,
  mapKey,
  mapRecords,
  overwriteMap,
  putMapRecord,
  sweepMap,
} from './map.ts'

const KIB = 1024
const MAP = 7
const COPY = 8

function openWorld(waits = false) {
  const kv = openMemoryKv({ waits })
  const extents = withSmallSlices(openMemoryExtents({ kv, clock: () => 0 }), kv)
  let id = 100
  const small = (bytes: Uint8Array) => smallPiece(id++, bytes)
  const large = async (bytes: Uint8Array) =>
    wholeSlice(await extents.write(chunksOf(bytes), bytes.length, []))
  const write = (offset: number, piece: Piece, map = MAP) =>
    kv.write((tx) => overwriteMap(tx, map, offset, piece))
  const piecesOf = (from: number, to: number, map = MAP): Promise<(Piece | Hole)[]> =>
    kv.read(function* (tx) {
      return readIntervals(yield* mapIntervals(tx, map, { from, to }), { from, to })
    })
  const read = async (from: number, to: number, map = MAP) =>
    Buffer.from(await readAll(extents, await piecesOf(from, to, map)))
  const sweep = () =>
    sweepSmallSlices(kv, {
      clock: () => 1,
      graceMs: 0,
      isPinned: (of) => extents.isSmallPinned(of),
    })
  const problems = async () => (await checkStore(kv, extents)).problems.map(({ kind }) => kind)
  return { kv, extents, small, large, write, piecesOf, read, sweep, problems }
}

/** The number of records of each kind. */
async function recordCounts(kv: Kv): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  const all = { from: new Uint8Array(0), to: KEY_END, countMax: 10_000 }
  for (const { key } of await kv.read((tx) => tx.scan(all))) {
    const kind = String(decodeKey(key)[0])
    counts[kind] = (counts[kind] ?? 0) + 1
  }
  return counts
}

const bytesOf = (text: string) => Buffer.from(text)

for (const waits of [false, true]) {
  describe(`a map of small writes${waits ? ', on an engine whose reads wait' : ''}`, () => {
    test('near the beginning a write is one record, and the next write replaces it', async () => {
      const { kv, small, write, read, problems } = openWorld(waits)
      for (const text of ['abc', 'def', 'ghi']) await write(10, small(bytesOf(text)))
      assert.deepEqual(await recordCounts(kv), { map: 1 })
      assert.equal((await read(9, 14)).toString(), '\0ghi\0')
      assert.deepEqual(await problems(), [])
    })

    test('a reader keeps the state that it began with', async () => {
      const { extents, small, write, piecesOf } = openWorld(waits)
      await write(0, small(bytesOf('before')))
      const reading = extents.read(await piecesOf(0, 6))
      await write(0, small(bytesOf('after!')))
      const { value } = await reading.next()
      assert.equal(Buffer.from(value ?? []).toString(), 'before')
    })

    test('an inline piece that is cut becomes a slice that its parts share', async () => {
      const { kv, small, write, read, sweep, problems } = openWorld(waits)
      await write(0, small(bytesOf('abcdef')))
      await write(2, small(bytesOf('XY')))
      assert.equal((await read(0, 6)).toString(), 'abXYef')
      const counts = { map: 3, 'small-slice': 1, 'extent-reference': 2 }
      assert.deepEqual(await recordCounts(kv), counts)
      assert.deepEqual(await problems(), [])
      await write(0, small(bytesOf('uvwxyz')))
      assert.equal(await sweep(), 1)
      assert.deepEqual(await recordCounts(kv), { map: 1 })
    })

    test('further on a write is a slice of its own', async () => {
      const { kv, small, write, read, sweep, problems } = openWorld(waits)
      await write(64 * KIB - 3, small(bytesOf('abc')))
      assert.deepEqual(await recordCounts(kv), { map: 1 })
      await write(64 * KIB - 2, small(bytesOf('def')))
      assert.equal((await read(64 * KIB - 3, 64 * KIB + 1)).toString(), 'adef')
      const counts = { map: 2, 'small-slice': 2, 'extent-reference': 2 }
      assert.deepEqual(await recordCounts(kv), counts)
      await write(64 * KIB - 2, small(bytesOf('ghi')))
      assert.equal(await sweep(), 1)
      assert.deepEqual(await recordCounts(kv), counts)
      assert.deepEqual(await problems(), [])
    })

    test('a copy does not change, and outlives the original', async () => {
      const { kv, small, write, read, problems } = openWorld(waits)
      await write(0, small(bytesOf('abc')))
      await write(70 * KIB, small(bytesOf('far')))
      await kv.write((tx) => copyMap(tx, { of: MAP, to: COPY, stamp: 0 }))
      await write(1, small(bytesOf('Z')))
      assert.equal((await read(0, 3)).toString(), 'aZc')
      assert.equal((await read(0, 3, COPY)).toString(), 'abc')
      assert.deepEqual(await problems(), [])
      await kv.write((tx) => sweepMap(tx, MAP, 100))
      assert.equal((await read(70 * KIB, 70 * KIB + 3, COPY)).toString(), 'far')
      assert.deepEqual(await problems(), [])
    })

    test('a part of it can be used further on in another map', async () => {
      const { kv, small, write, piecesOf, read, problems } = openWorld(waits)
      await write(0, small(bytesOf('abcdef')))
      const [part] = await piecesOf(2, 5)
      assert(part?.slice !== undefined)
      await write(90 * KIB, part, COPY)
      await write(0, part, COPY)
      await kv.write((tx) => clearMap(tx, MAP, { from: 0, to: 6 }))
      assert.equal((await read(90 * KIB, 90 * KIB + 3, COPY)).toString(), 'cde')
      assert.equal((await read(0, 3, COPY)).toString(), 'cde')
      assert.deepEqual(await problems(), [])
    })

    test('fsck reports bytes that changed in their record', async () => {
      const { kv, small, write, problems } = openWorld(waits)
      await write(0, small(bytesOf('abc')))
      await kv.write(function* (tx) {
        const value = Buffer.from((yield* tx.get(mapKey(MAP, 0)))?.value ?? [])
        value.writeUInt8(0x7a, value.length - 1)
        tx.put(mapKey(MAP, 0), new StoredRecord(value))
      })
      assert.deepEqual(await problems(), ['sliceDamaged'])
    })

    test('bytes that are missing in their record are an error, not a gap', async () => {
      const { kv, small, write, read } = openWorld(waits)
      await write(0, small(bytesOf('abc')))
      await kv.write(function* (tx) {
        const value = (yield* tx.get(mapKey(MAP, 0)))?.value ?? new Uint8Array()
        tx.put(mapKey(MAP, 0), new StoredRecord(value.slice(0, -1)))
      })
      await assert.rejects(read(0, 3), { name: 'ExtentDamaged' })
    })
  })
}

for (const seed of [1, 2, 3]) {
  test(`300 random changes around the end of the inline part, seed ${seed}`, async () => {
    const world = openWorld()
    const { kv, small, large, write, read } = world
    const random = randomFrom(seed)
    const [start, length] = [64 * KIB - 4_000, 8_000]
    const models = new Map([[MAP, Buffer.alloc(length)]])
    let nextMap = COPY
    for (let step = 0; step < 300; step += 1) {
      const maps = [...models.keys()]
      const map = maps[random.below(maps.length)] ?? MAP
      const model = models.get(map) ?? Buffer.alloc(0)
      const from = random.below(length - 1)
      const to = Math.min(length, from + 1 + random.below(700))
      const kind = random.below(10)
      if (kind < 7) {
        const bytes = Buffer.alloc(to - from, 1 + random.below(255))
        await write(start + from, kind < 5 ? small(bytes) : await large(bytes), map)
        bytes.copy(model, from)
      } else if (kind < 9) {
        await kv.write((tx) => clearMap(tx, map, { from: start + from, to: start + to }))
        model.fill(0, from, to)
      } else if (maps.length < 4) {
        const copy = nextMap++
        await kv.write((tx) => copyMap(tx, { of: map, to: copy, stamp: 0 }))
        models.set(copy, Buffer.from(model))
      }
      assert(model.equals(await read(start, start + length, map)), `step ${step}`)
    }
    for (const [map, model] of models) assert(model.equals(await read(start, start + length, map)))
    assert.deepEqual(await world.problems(), [])
    for (const map of models.keys()) await kv.write((tx) => sweepMap(tx, map, 10_000))
    await world.sweep()
    const { 'small-slice': slices, 'extent-reference': references } = await recordCounts(kv)
    assert.deepEqual([slices, references], [undefined, undefined])
  })
}

test('the records of a block list have blocks and no inline bytes', async () => {
  const { kv, small } = openWorld()
  const blocks = [['AAAA', 1]] as const
  await kv.write((tx) => putMapRecord(tx, MAP, 0, [small(bytesOf('a'))], blocks))
  assert.deepEqual(await recordCounts(kv), { map: 1, 'small-slice': 1, 'extent-reference': 1 })
  const [entry] = await kv.read((tx) => mapRecords(tx, MAP, { from: 0, to: 1 }))
  assert.deepEqual(entry?.record.blocks, blocks)
})
