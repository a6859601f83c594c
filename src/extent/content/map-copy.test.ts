// Copies of long maps are made in steps while other transactions run, and still contain one consistent state.
import { countingTx, TxCounts } from '../../kv/counting.ts'
import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { describe, test } from 'node:test'
import { assertBytes } from '../../../test/assert-bytes.ts'
import { checkStore } from '../sweep/fsck.ts'
import { readAll } from '../harness.ts'
import { readIntervals } from './interval-map.ts'
import { openMemoryExtents } from '../memory.ts'
import { smallPiece, withSmallSlices } from './small.ts'
import { decodeKey, encodeKey } from '../../kv/key.ts'
import { KEY_END, withAttempt, type EventKv, type Step, type Tx } from '../../kv/kv.ts'
import { openMemoryKv } from '../../kv/memory-kv.ts'
import { decodeRecord, encodeRecord } from '../../kv/record.ts'
import { need } from '../../kv/step.ts'
import { clearLongMap, copyMap, sweepCopiedMaps, withMapCopies } from './map-copy.ts'
import { clearMap, DELETED_MAPS, mapIntervals, overwriteMap, sweepMap } from './map.ts'
import { ExtentRetired } from '../error.ts'

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

/** A minimal snapshot. */
function* copyOwner(tx: Tx): Step<number> {
  const owner = yield* ownerAt(tx, OWNER)
  assert(owner !== undefined)
  yield* copyMap(tx, { of: owner.map, to: COPY, stamp: owner.stamp })
  tx.put(NEW_OWNER, encodeRecord({ stamp: owner.stamp, map: COPY } satisfies Owner))
  return owner.stamp
}

async function openWorld(
  given: (kv: EventKv<never>) => EventKv<never> = (kv) => kv,
  count = COUNT,
) {
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
  for (let at = 0; at < count; at += 1) await write(at)
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

/** Another node sweeps, two hours later, before the n-th transaction of a copy. Returns how many there were. */
async function copyWhileGivenUp(atCall: number, stepsMax: number): Promise<number> {
  const recordCount = 1_100
  let callCount = -recordCount
  let sweep = async (): Promise<void> => {}
  const { engine, kv, read, kinds, problems } = await openWorld(
    (inner) =>
      withAttempt(inner, async (body) => {
        callCount += 1
        if (callCount === atCall) await sweep()
        return inner.attempt(body)
      }),
    recordCount,
  )
  const swept: number[] = []
  const sweepSome = async (countMax: number) => {
    let count = 0
    for (const id of swept) {
      while (count < countMax && (await engine.write((tx) => sweepMap(tx, id, 100))) > 0) count += 1
    }
  }
  sweep = async () => {
    await sweepCopiedMaps(engine, 2 * HOUR_MS)
    const marks = await engine.read((tx) => tx.scan({ ...DELETED_MAPS, countMax: 2 }))
    swept.push(...marks.map(({ key }) => Number(decodeKey(key)[1])))
    await sweepSome(stepsMax)
  }
  const result = await kv.write((tx) => copyOwner(tx)).catch((error: unknown) => error)
  const callCountAtEnd = callCount
  if (stepsMax < Infinity) await sweepSome(Infinity)
  if (typeof result === 'number') assertBytes(await read(COPY), await read(MAP))
  else assert(result instanceof ExtentRetired && !(await kinds()).has('new-owner'))
  assert.deepEqual(await problems(), [])
  return callCountAtEnd
}

describe('a copy of a long map', () => {
  test('has the same bytes and leaves nothing to sweep', async () => {
    const { kv, read, kinds, problems } = await openWorld()
    await kv.write((tx) => copyOwner(tx))
    assert.deepEqual(await read(COPY), await read(MAP))
    assert(!(await kinds()).has('copied-map'))
    assert.deepEqual(await problems(), [])
  })

  test('is made in many steps, between which others can write', async () => {
    let largest = 0
    const { kv } = await openWorld((inner) =>
      withAttempt(inner, (body) =>
        inner.attempt(function* (tx) {
          const counts = new TxCounts()
          const result = yield* body(countingTx(tx, counts))
          largest = Math.max(largest, counts.puts)
          return result
        }),
      ),
    )
    await kv.write((tx) => copyOwner(tx))
    assert(largest < COUNT, `${largest} records in one transaction`)
  })

  test('of a map that keeps changing completes and contains one state', async () => {
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
    const copiedStamp = await copying
    assert(stamp > COUNT + 1, 'others wrote meanwhile')
    assert.deepEqual(await read(COPY), states.get(copiedStamp))
    assert.deepEqual(await problems(), [])
  })

  for (const [what, stepsMax] of [
    ['some', 1],
    ['all', Infinity],
  ] as const) {
    test(`is never used if a sweep gives it up at any step and removes ${what} of it`, async () => {
      for (let atCall = 1, callCount = 1; atCall <= callCount; atCall += 1) {
        callCount = await copyWhileGivenUp(atCall, stepsMax)
      }
    })
  }

  test('is dropped when its transaction fails', async () => {
    const { kv, kinds } = await openWorld()
    const failing = kv.write(function* (tx) {
      yield* copyOwner(tx)
      throw new Error('something else')
    })
    await assert.rejects(failing, /something else/)
    const found = await kinds()
    assert.deepEqual([found.has('copied-map'), found.has('deleted-map')], [false, true])
  })

  for (const isChanged of [false, true]) {
    const title = `is kept while its transaction needs something else and the map ${isChanged ? 'changes' : 'does not change'}`
    test(title, async () => {
      const { kv, read, kinds, problems } = await openWorld()
      const other = { kind: 'other' }
      let isMet = false
      const copyWhenMet = function* (tx: Tx): Step<void> {
        yield* copyOwner(tx)
        if (!isMet) yield* need(other)
      }
      assert.deepEqual(await kv.attempt(copyWhenMet), { need: other })
      assert((await kinds()).has('copied-map'))
      if (isChanged) {
        await kv.write(function* (tx) {
          yield* clearMap(tx, MAP, { from: 0, to: 10 * STEP })
          tx.put(OWNER, encodeRecord({ stamp: COUNT + 1, map: MAP } satisfies Owner))
        })
      }
      isMet = true
      await kv.write(copyWhenMet)
      assert.deepEqual(await read(COPY), await read(MAP))
      const found = await kinds()
      assert.deepEqual([found.has('copied-map'), found.has('deleted-map')], [false, false])
      assert.deepEqual(await problems(), [])
    })
  }

  test('that a crash left behind is swept after an hour', async () => {
    const { engine, kv, kinds } = await openWorld()
    const state = { left: 5 }
    const dying = withAttempt(engine, async (body) => {
      if (state.left-- <= 0) await new Promise(() => undefined)
      return engine.attempt(body)
    })
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
  // From and to, in steps of 8 bytes and a hole each.
  const RANGES: readonly (readonly [from: number, to: number])[] = [
    [0, COUNT],
    [0.03, COUNT - 0.97],
    [100, 2_500],
    [100.05, 2_500.05],
    [0, 2_900.04],
    [10.07, COUNT],
    // Few enough to clear in place.
    [10.05, 20.05],
  ]
  for (const [from, to] of RANGES) {
    test(`from ${from} to ${to} leaves zeros, and keeps the rest`, async () => {
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
