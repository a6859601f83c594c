// Copies of long maps are made in steps, beside the transaction that needs them: others go on meanwhile, and what the
// transaction shows is one state all the same.
import { countingTx, TxCounts } from '../../kv/counting.ts'
import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { describe, test } from 'node:test'
import { checkStore } from '../sweep/fsck.ts'
import { readAll } from '../harness.ts'
import { readIntervals } from './interval-map.ts'
import { openMemoryExtents } from '../memory.ts'
import { smallPiece, withSmallSlices } from './small.ts'
import { decodeKey, encodeKey } from '../../kv/key.ts'
import { KEY_END, type EventKv, type Step, type Tx } from '../../kv/kv.ts'
import { openMemoryKv } from '../../kv/memory-kv.ts'
import { decodeRecord, encodeRecord } from '../../kv/record.ts'
import { clearLongMap, copyMap, sweepCopiedMaps, withMapCopies } from './map-copy.ts'
import { mapIntervals, overwriteMap } from './map.ts'

const [MAP, COPY] = [7, 8]
const COUNT = 3_000
const STEP = 100
const OWNER = encodeKey('owner')
const NEW_OWNER = encodeKey('new-owner')
const HOUR_MS = 60 * 60 * 1_000

type Owner = { readonly stamp: number; readonly map: number }

function* ownerAt(tx: Tx, key: Uint8Array): Step<Owner | undefined> {
  const value = yield* tx.get(key)
  return value && decodeRecord<Owner>(value)
}

/** A snapshot, as far as it matters here. */
function* copyOwner(tx: Tx): Step<number> {
  const owner = yield* ownerAt(tx, OWNER)
  assert(owner !== undefined)
  yield* copyMap(tx, { of: owner.map, to: COPY, stamp: owner.stamp })
  tx.put(NEW_OWNER, encodeRecord({ stamp: owner.stamp, map: COPY } satisfies Owner))
  return owner.stamp
}

async function openWorld(given: (kv: EventKv<never>) => EventKv<never> = (kv) => kv) {
  const engine = openMemoryKv()
  const kv = withMapCopies(given(engine), () => 0)
  const extents = withSmallSlices(openMemoryExtents({ kv, clock: () => 0 }), kv)
  let id = 100
  let stamp = 0
  const write = (at: number): Promise<void> => {
    stamp += 1
    const [now, piece] = [stamp, smallPiece(id++, Buffer.from(String(stamp).padStart(8)))]
    return kv.write(function* (tx) {
      yield* overwriteMap(tx, MAP, at * STEP, piece)
      tx.put(OWNER, encodeRecord({ stamp: now, map: MAP } satisfies Owner))
    })
  }
  for (let at = 0; at < COUNT; at += 1) await write(at)
  const range = { from: 0, to: COUNT * STEP }
  const read = async (map: number): Promise<Buffer> => {
    const pieces = await kv.read(function* (tx) {
      return readIntervals(yield* mapIntervals(tx, map, range), range)
    })
    return Buffer.from(await readAll(extents, pieces))
  }
  const kinds = async (): Promise<ReadonlySet<unknown>> => {
    const all = { from: new Uint8Array(0), to: KEY_END, countMax: 1_000_000 }
    const entries = await kv.read((tx) => tx.scan(all))
    return new Set(entries.map(({ key }) => decodeKey(key)[0]))
  }
  const problems = async () => (await checkStore(kv, extents)).problems
  return { engine, kv, write, read, kinds, problems }
}

describe('a copy of a long map', () => {
  test('has the same bytes, and leaves nothing to sweep', async () => {
    const { kv, read, kinds, problems } = await openWorld()
    await kv.write((tx) => copyOwner(tx))
    assert.deepEqual(await read(COPY), await read(MAP))
    assert(!(await kinds()).has('copied-map'))
    assert.deepEqual(await problems(), [])
  })

  test('is made in many steps, between which others write', async () => {
    let largest = 0
    const { kv } = await openWorld((inner) => ({
      ...inner,
      write: (body) =>
        inner.write(function* (tx) {
          const counts = new TxCounts()
          const result = yield* body(countingTx(tx, counts))
          largest = Math.max(largest, counts.puts)
          return result
        }),
    }))
    await kv.write((tx) => copyOwner(tx))
    assert(largest < COUNT, `${largest} records in one transaction`)
  })

  test('of a map that is written all the time is made, and is of one state', async () => {
    const { kv, write, read, problems } = await openWorld()
    const state = { isDone: false }
    const states = new Map<number, Buffer>()
    const copying = kv
      .write((tx) => copyOwner(tx))
      .finally(() => {
        state.isDone = true
      })
    let stamp = COUNT
    for (; !state.isDone; stamp += 1) {
      states.set(stamp, await read(MAP))
      await write(stamp % COUNT)
      await setImmediate()
    }
    states.set(stamp, await read(MAP))
    const shown = await copying
    assert(stamp > COUNT + 1, 'others wrote meanwhile')
    assert.deepEqual(await read(COPY), states.get(shown))
    assert.deepEqual(await problems(), [])
  })

  test('is let go of when its transaction fails after all', async () => {
    const { kv, kinds } = await openWorld()
    const failing = kv.write(function* (tx) {
      yield* copyOwner(tx)
      throw new Error('something else')
    })
    await assert.rejects(failing, /something else/)
    const found = await kinds()
    assert.deepEqual([found.has('copied-map'), found.has('deleted-map')], [false, true])
  })

  test('that a crash has left is swept after an hour', async () => {
    const { engine, kv, kinds } = await openWorld()
    const state = { left: 5 }
    const dying: EventKv<never> = {
      ...engine,
      write: (body) => (state.left-- > 0 ? engine.write(body) : new Promise(() => undefined)),
    }
    void withMapCopies(dying, () => 0).write((tx) => copyOwner(tx))
    while (state.left >= 0) await setImmediate()
    assert((await kinds()).has('copied-map'))
    await sweepCopiedMaps(kv, HOUR_MS - 1)
    assert((await kinds()).has('copied-map'))
    await sweepCopiedMaps(kv, HOUR_MS)
    const found = await kinds()
    assert.deepEqual([found.has('copied-map'), found.has('deleted-map')], [false, true])
  })
})

describe('clearing a long map', () => {
  // From and to, in steps of which each has 8 bytes and a hole.
  const RANGES: readonly (readonly [from: number, to: number])[] = [
    [0, COUNT],
    [0.03, COUNT - 0.97],
    [100, 2_500],
    [100.05, 2_500.05],
    [0, 2_900.04],
    [10.07, COUNT],
    // Few enough for the map itself.
    [10.05, 20.05],
  ]
  for (const [from, to] of RANGES) {
    test(`from ${from} to ${to} leaves the rest, and zeros`, async () => {
      const { kv, read, kinds, problems } = await openWorld()
      const model = await read(MAP)
      const without = { from: Math.round(from * STEP), to: Math.round(to * STEP) }
      model.fill(0, without.from, without.to)
      const map = await kv.write(function* (tx) {
        const owner = yield* ownerAt(tx, OWNER)
        assert(owner !== undefined)
        const copy = { of: owner.map, to: COPY, stamp: owner.stamp, without }
        return yield* clearLongMap(tx, copy)
      })
      const isLong = to - from > 1_000
      assert.equal(map, isLong ? COPY : MAP)
      assert.deepEqual(await read(map), model)
      const found = await kinds()
      assert.deepEqual([found.has('copied-map'), found.has('deleted-map')], [false, isLong])
      assert.deepEqual(await problems(), [])
    })
  }
})
