// Reads of a shared runner: they share round trips, and each body sees one state.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Engine, Wanted } from '../engine/engine.ts'
import { openMemoryEngine } from '../engine/memory.ts'
import { StoreUnavailable } from '../engine/unavailable.ts'
import { encodeKey } from '../key.ts'
import { prefixRange, type Key, type ReadTx, type Step } from '../kv.ts'
import { append, get, keyOf, recordText, rivalWrite, roundTrip } from './harness.ts'
import { openKv } from './runner.ts'

const [A, B] = [keyOf('a'), keyOf('b')]
const ALL = { ...prefixRange(encodeKey('k')), countMax: 99 }

const openShared = () => openMemoryEngine({ isShared: true })

describe('reads of a shared runner', () => {
  /** An engine whose reads end when the test says so. */
  function openSlow() {
    const engine = openShared()
    const reads: { readonly wanted: Wanted; end(error?: Error): Promise<void> }[] = []
    const read: Engine['read'] = (wanted) =>
      new Promise((resolve, reject) => {
        const end = async (error?: Error): Promise<void> => {
          if (error === undefined) resolve(await engine.read(wanted))
          else reject(error)
          await roundTrip()
        }
        reads.push({ wanted, end })
      })
    return { engine, reads, kv: openKv<string>({ ...engine, read }) }
  }

  test('share one round trip to the engine, and those that wait share the next', async () => {
    const { engine, reads, kv } = openSlow()
    await engine.commit([rivalWrite(keyOf(7), 'seven')])
    const found: (string | undefined)[] = []
    const begin = async (count: number): Promise<void> => {
      for (let n = 0; n < count; n += 1)
        void kv.read(get(keyOf(n))).then((text) => found.push(text))
      await roundTrip()
    }
    await begin(10)
    assert.deepEqual(reads.map(({ wanted }) => wanted.keys.length), [10]) // prettier-ignore
    await begin(5)
    await begin(3)
    await begin(8)
    assert.deepEqual(reads.map(({ wanted }) => wanted.keys.length), [10, 5], 'two at a time') // prettier-ignore
    await reads[0]?.end()
    assert.deepEqual(reads.map(({ wanted }) => wanted.keys.length), [10, 5, 8], 'each key once') // prettier-ignore
    await reads[2]?.end()
    await reads[1]?.end()
    assert.deepEqual([found.length, found.filter((text) => text === 'seven').length], [26, 2])
    await begin(1)
    assert.equal(reads.length, 4)
    await reads[3]?.end()
  })

  test('fail with the round trip they share, and later reads do not', async () => {
    const { reads, kv } = openSlow()
    const failing = Promise.allSettled([kv.read(get(A)), kv.write(append(B, 'x')), kv.read((tx) => tx.scan(ALL))]) // prettier-ignore
    await roundTrip()
    assert.equal(reads.length, 1)
    await reads[0]?.end(new Error('connection lost'))
    for (const outcome of await failing) {
      assert(outcome.status === 'rejected' && /connection lost/.test(String(outcome.reason)))
    }
    const later = kv.read(get(A))
    await roundTrip()
    await reads[1]?.end()
    assert.equal(await later, undefined)
  })

  test('do not wait for a second round trip while the store is unavailable', async () => {
    const { reads, kv } = openSlow()
    const outcomes: string[] = []
    for (const key of [A, B, keyOf('c'), keyOf('d')]) {
      void kv.read(get(key)).catch((error: unknown) => outcomes.push(String(error)))
      await roundTrip()
    }
    assert.equal(reads.length, 2)
    await reads[0]?.end(new StoreUnavailable('away'))
    assert.deepEqual(
      outcomes,
      Array.from({ length: 3 }, () => 'StoreUnavailable: away'),
    )
    assert.equal(reads.length, 2)
    const later = kv.read(get(A))
    await roundTrip()
    await reads[2]?.end()
    assert.equal(await later, undefined)
  })

  test('see one state, which is read again as a whole when a body needs more', async () => {
    const engine = openShared()
    const reads: Wanted[] = []
    let version = 0
    const change = () => {
      version += 1
      return engine.commit([rivalWrite(A, `${version}`), rivalWrite(B, `${version}`)])
    }
    await change()
    const kv = openKv({
      ...engine,
      read: async (wanted) => {
        reads.push(wanted)
        await change()
        return engine.read(wanted)
      },
    })
    const body = function* (tx: ReadTx): Step<readonly unknown[]> {
      const a = recordText(yield* tx.get(A))
      // What it reads next can't be guessed.
      const b = a && recordText(yield* tx.get(B))
      const all = b === undefined ? [] : yield* tx.scan(ALL)
      return [a, b, ...all.map(({ value }) => recordText(value))]
    }
    assert.deepEqual(await kv.read(body), ['4', '4', '4', '4'])
    assert.deepEqual(reads.map(({ keys, ranges }) => [keys.length, ranges.length]), [[1, 0], [2, 0], [2, 1]]) // prettier-ignore
  })

  test('that need many round trips get a snapshot', async () => {
    const engine = openShared()
    const counts = { reads: 0, snapshots: 0, released: 0 }
    const kv = openKv({
      ...engine,
      read: (wanted) => {
        counts.reads += 1
        return engine.read(wanted)
      },
      snapshot: async () => {
        counts.snapshots += 1
        const snapshot = await engine.snapshot()
        const release = () => {
          counts.released += 1
          snapshot.release()
        }
        return { ...snapshot, release }
      },
    })
    await engine.commit(Array.from({ length: 50 }, (_, n) => rivalWrite(keyOf(n), String(n))))
    const body = function* (tx: ReadTx): Step<string> {
      let texts = ''
      for (let n = 0; n < 50; n += 1) {
        // Another writer changes everything meanwhile.
        if (n === 25) void engine.commit(Array.from({ length: 50 }, (_, n) => rivalWrite(keyOf(n), '!'))) // prettier-ignore
        const text = recordText(yield* tx.get(keyOf(n)))
        if (text === undefined) break
        texts += text
      }
      return texts
    }
    assert.equal(await kv.read(body), Array.from({ length: 50 }, (_, n) => n).join(''))
    assert.deepEqual(counts, { reads: 3, snapshots: 1, released: 1 })
    await assert.rejects(kv.read(function* (tx) {
      yield* body(tx)
      throw new Error('no')
    }), /^Error: no$/) // prettier-ignore
    assert.deepEqual([counts.snapshots, counts.released], [2, 2])
  })

  test('distinguish ranges whose bounds are the same when joined', async () => {
    for (const separator of ['\n', ' ']) {
      const engine = openShared()
      const key = (text: string): Key => Buffer.from(text.replaceAll('|', separator))
      await engine.commit(['b|1', 'b|c|1', 'c'].map((text) => rivalWrite(key(text), text)))
      const found = await openKv(engine).read(function* (tx) {
        const one = yield* tx.scan({ from: key('b'), to: key('b|c|c'), countMax: 9 })
        const other = yield* tx.scan({ from: key('b|b|c'), to: key('c'), countMax: 9 })
        return [one, other].map((entries) => entries.map(({ value }) => recordText(value)))
      })
      assert.deepEqual(found, [['b|1', 'b|c|1'], ['b|c|1']])
    }
  })
})
