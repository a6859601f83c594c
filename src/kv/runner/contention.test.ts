// Many bodies of one runner that want the same records: each runs about once, and they share commits.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Engine } from '../engine/engine.ts'
import { turn } from '../engine/harness.ts'
import { openMemoryEngine } from '../engine/memory.ts'
import { encodeKey } from '../key.ts'
import { prefixRange, type Step, type Tx } from '../kv.ts'
import { append, get, keyOf, recordOf, recordText } from './harness.ts'
import { openKv, versionsOf } from './runner.ts'

const KEY = keyOf('n')
const A = keyOf('a')
const ALL = { ...prefixRange(encodeKey('k')), countMax: 99 }

const openShared = () => openMemoryEngine({ isShared: true })

describe('many writers of one runner', () => {
  for (const [name, open] of [
    ['shared', openShared],
    ['waiting (seed 1)', () => openMemoryEngine({ waitSeed: 1 })],
  ] as const) {
    /** Counts runs of bodies and calls of the engine. A body that has to fetch something runs on guesses first. */
    function counted() {
      const counts = { runs: 0, reads: 0, commits: 0, alone: 0 }
      const engine = open()
      const kv = openKv<string>({
        ...engine,
        read: (wanted) => ((counts.reads += 1), engine.read(wanted)),
        commit: (transactions) => ((counts.commits += 1), engine.commit(transactions)),
        alone: (work) => ((counts.alone += 1), engine.alone(work)),
      })
      const write = <T>(body: (tx: Tx<string>) => Step<T>): Promise<T> =>
        kv.write((tx) => ((counts.runs += 1), body(tx)))
      return { kv, counts, write }
    }

    test(`of one key do not overtake each other: ${name}`, async () => {
      const { kv, counts, write } = counted()
      await Promise.all(Array.from({ length: 100 }, () => write(append(KEY, 'x'))))
      assert.equal(await kv.read(get(KEY)), 'x'.repeat(100))
      assert.equal(counts.alone, 0)
      assert(counts.runs <= 250, `${counts.runs} runs`)
      assert(counts.commits <= 10, `${counts.commits} commits`)
    })

    test(`of one key that read several do not overtake each other: ${name}`, async () => {
      const { kv, counts, write } = counted()
      const adding = Array.from({ length: 100 }, (_, n) =>
        write(function* (tx) {
          yield* tx.get(A)
          const text = recordText(yield* tx.get(KEY)) ?? ''
          yield* tx.get(keyOf(n % 3))
          tx.put(KEY, recordOf(`${text}x`))
        }),
      )
      await Promise.all(adding)
      assert.equal(await kv.read(get(KEY)), 'x'.repeat(100))
      assert.equal(counts.alone, 0)
      assert(counts.runs <= 300, `${counts.runs} runs`)
    })

    test(`that take the first entries of a range do not overtake each other: ${name}`, async () => {
      const { kv, counts, write } = counted()
      await kv.write(function* (tx) {
        for (let n = 0; n < 120; n += 1) tx.put(keyOf(n), recordOf(String(n)))
      })
      const taken = await Promise.all(
        Array.from({ length: 100 }, () =>
          write(function* (tx) {
            const [first] = yield* tx.scan({ ...ALL, countMax: 1 })
            assert(first !== undefined)
            tx.delete(first.key)
            return recordText(first.value)
          }),
        ),
      )
      assert.equal(new Set(taken).size, 100)
      assert.equal((await kv.read((tx) => tx.scanKeys(ALL))).length, 20)
      assert.equal(counts.alone, 0)
      assert(counts.runs <= 450, `${counts.runs} runs`)
      assert(counts.reads <= 12, `${counts.reads} reads`)
    })

    test(`that add the next entry of a range do not overtake each other: ${name}`, async () => {
      const { kv, counts, write } = counted()
      const added = await Promise.all(
        Array.from({ length: 100 }, () =>
          write(function* (tx) {
            const [last] = yield* tx.scan({ ...ALL, countMax: 1, reverse: true })
            const next = last === undefined ? 0 : Number(recordText(last.value)) + 1
            tx.put(keyOf(next), recordOf(String(next)))
            return next
          }),
        ),
      )
      assert.equal(new Set(added).size, 100)
      assert.equal((await kv.read((tx) => tx.scanKeys({ ...ALL, countMax: 999 }))).length, 100)
      assert(counts.runs <= 250, `${counts.runs} runs`)
      assert(counts.reads <= 4, `${counts.reads} reads`)
    })

    test(`that alternately delete and insert a key do not overtake each other: ${name}`, async () => {
      const { counts, write } = counted()
      const toggles = await Promise.all(
        Array.from({ length: 40 }, () =>
          write(function* (tx) {
            const isThere = (yield* tx.get(KEY)) !== undefined
            if (isThere) tx.delete(KEY)
            else tx.put(KEY, recordOf('here'))
            return isThere
          }),
        ),
      )
      assert.equal(toggles.filter(Boolean).length, 20)
      assert(counts.runs <= 100, `${counts.runs} runs`)
    })
  }
})

describe('runners that write one key', () => {
  test('are overtaken once at most, and commit together what was', async () => {
    const engine = openMemoryEngine({ waitSeed: 1 })
    const counts = { runs: 0, reads: 0, commits: 0, alone: 0 }
    const counted: Engine = {
      ...engine,
      read: (wanted) => ((counts.reads += 1), engine.read(wanted)),
      commit: (transactions, retry) => {
        counts.commits += 1
        return engine.commit(transactions, retry)
      },
      alone: (work) => ((counts.alone += 1), engine.alone(work)),
    }
    const runners = [1, 2, 3].map((number) =>
      openKv<string>(counted, { nextVersion: versionsOf(number) }),
    )
    const writing = Array.from({ length: 300 }, async (_, n) => {
      // Not all at once.
      for (let turns = 0; turns < n / 3; turns += 1) await turn()
      await runners[n % 3]?.write((tx) => ((counts.runs += 1), append(KEY, 'x')(tx)))
    })
    await Promise.all(writing)
    assert.equal(await runners[0]?.read(get(KEY)), 'x'.repeat(300))
    assert.equal(counts.alone, 0)
    // On guesses, on what was read, and on the current values.
    assert(counts.runs <= 1_000, `${counts.runs} runs`)
  })
})
