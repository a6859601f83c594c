// A runner that shares its engine with others runs overtaken bodies again.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Engine, Transaction } from '../engine/engine.ts'
import { openMemoryEngine } from '../engine/memory.ts'
import { encodeKey } from '../key.ts'
import { prefixRange, type Key, type Step, type Tx } from '../kv.ts'
import { volatileKey } from '../volatile.ts'
import {
  append,
  get,
  keyOf,
  openHeld,
  put,
  recordOf,
  recordText,
  rivalWrite,
  watch,
  roundTrip,
} from './harness.ts'
import { openKv, versionsOf } from './runner.ts'

const KEY = keyOf('n')
const [A, B] = [keyOf('a'), keyOf('b')]
const ALL = { ...prefixRange(encodeKey('k')), countMax: 99 }

const openShared = () => openMemoryEngine({ isShared: true })

/** An engine that calls `interfere` before each commit. */
function interfering(engine: Engine, interfere: () => Promise<unknown>) {
  const counts = { commits: 0, alone: 0 }
  const interfered: Engine = {
    ...engine,
    commit: async (transactions) => {
      counts.commits += 1
      await interfere()
      return engine.commit(transactions)
    },
    alone: (work) => {
      counts.alone += 1
      return engine.alone(work)
    },
  }
  return { engine: interfered, counts }
}

describe('a body that is overtaken', () => {
  test('runs again on the current values, which come with the verdict', async () => {
    const { kv, inner, commits, reads, succeedAll } = openHeld('shared')
    let runs = 0
    const events: string[] = []
    const writing = kv.write(function* (tx) {
      runs += 1
      const [a, b] = [recordText(yield* tx.get(A)), recordText(yield* tx.get(B))]
      const all = yield* tx.scanKeys(ALL)
      tx.put(KEY, recordOf(`${a} ${b} ${all.length}`))
      tx.announce(`run ${runs}`)
      return `${a} ${b} ${all.length}`
    })
    kv.listen((event) => events.push(event))
    await roundTrip()
    assert.equal(reads.length, 1)
    await inner.commit([rivalWrite(B, 'rival')])
    await succeedAll(0)
    assert.equal(await writing, 'undefined rival 1')
    assert.deepEqual([runs, reads.length, commits.length], [3, 1, 2])
    assert.deepEqual(events, ['run 3'], 'only the last run announces')
  })

  test('reports no error that comes from reading two states', async () => {
    const { kv, inner, reads, succeedAll } = openHeld('shared')
    await inner.commit([rivalWrite(A, '1'), rivalWrite(B, '1')])
    let runs = 0
    const checking = kv.write(function* (tx) {
      runs += 1
      const a = recordText(yield* tx.get(A))
      if (a === undefined) return 'guessed'
      // Before the second read, another writer changes both.
      if (reads.length === 1) void inner.commit([rivalWrite(A, '2'), rivalWrite(B, '2')])
      const b = recordText(yield* tx.get(B))
      if (a !== b) throw new Error(`${a} and ${b}`)
      return a
    })
    await succeedAll(0)
    assert.deepEqual([await checking, runs], ['2', 4])
  })

  test('reports an error whose reads are still current', async () => {
    const { kv, inner, commits, succeedAll } = openHeld('shared')
    await inner.commit([rivalWrite(A, '1')])
    let runs = 0
    const failing = assert.rejects(kv.write(function* (tx) {
      runs += 1
      // Not in one round trip.
      if ((yield* tx.get(A)) !== undefined) yield* tx.get(B)
      tx.put(A, recordOf('never'))
      throw new Error('no')
    }), /^Error: no$/) // prettier-ignore
    await succeedAll(0)
    await failing
    assert.deepEqual([runs, commits.length, commits[0]?.transactions[0]?.writes], [3, 1, []])
  })

  test('makes the bodies that have read its writes run again too', async () => {
    const { kv, inner, commits, succeedAll } = openHeld('shared')
    const outcomes: string[] = []
    watch(outcomes, 'first', kv.write(put(keyOf('first'), '')))
    await roundTrip()
    const runs: string[] = []
    const derive = (name: string, from: Key, to: Key) =>
      kv.write(function* (tx) {
        runs.push(name)
        const text = recordText(yield* tx.get(from)) ?? 'none'
        tx.put(to, recordOf(`${text}>`))
        return text
      })
    watch(outcomes, 'a to b', derive('a to b', A, B))
    await roundTrip()
    watch(outcomes, 'b to c', derive('b to c', B, keyOf('c')))
    watch(outcomes, 'c to d', derive('c to d', keyOf('c'), keyOf('d')))
    watch(outcomes, 'aside', derive('aside', keyOf('x'), keyOf('y')))
    watch(outcomes, 'throwing', kv.write(function* (tx) {
      throw new Error(recordText(yield* tx.get(keyOf('d'))))
    })) // prettier-ignore
    await roundTrip()
    await inner.commit([rivalWrite(A, 'rival')])
    await commits[0]?.succeed()
    await succeedAll(1)
    assert.deepEqual(outcomes.toSorted(), [
      'a to b: rival',
      'aside: none',
      'b to c: rival>',
      'c to d: rival>>',
      'first: undefined',
      'throwing failed: Error: rival>>>',
    ])
    assert.deepEqual(runs.toSorted(), ['a to b', 'a to b', 'a to b', 'aside', 'aside', 'b to c', 'b to c', 'c to d', 'c to d']) // prettier-ignore
  })

  test('makes the bodies of the next commit that have read its writes run again too', async () => {
    const { kv, inner, commits, succeedAll } = openHeld('shared')
    const outcomes: string[] = []
    watch(outcomes, 'a', kv.write(append(KEY, 'a')))
    await roundTrip()
    watch(outcomes, 'b', kv.write(append(KEY, 'b')))
    watch(outcomes, 'other', kv.write(append(A, 'x')))
    await roundTrip()
    await inner.commit([rivalWrite(KEY, 'rival ')])
    await commits[0]?.succeed()
    await succeedAll(1)
    assert.equal(await kv.read(get(KEY)), 'rival ab')
    assert.deepEqual(outcomes.toSorted(), ['a: rival a', 'b: rival ab', 'other: x'])
  })

  test('runs alone after four attempts', async () => {
    const inner = openShared()
    let rivals = 0
    const { engine, counts } = interfering(inner, () => {
      rivals += 1
      return inner.commit([rivalWrite(KEY, `rival ${rivals} `)])
    })
    const kv = openKv<string>(engine)
    let runs = 0
    const events: string[] = []
    kv.listen((event) => events.push(event))
    const outcomes: string[] = []
    watch(outcomes, 'starving', kv.write(function* (tx) {
      runs += 1
      tx.announce('done')
      tx.put(volatileKey('open'), recordOf(String(runs)))
      return yield* append(KEY, 'own')(tx)
    })) // prettier-ignore
    for (let turns = 0; turns < 50; turns += 1) await roundTrip()
    assert.deepEqual(outcomes, ['starving: rival 4 own'])
    assert.deepEqual([runs, counts], [7, { commits: 4, alone: 1 }])
    assert.deepEqual(events, ['done'])
    assert.equal(await kv.read(get(KEY)), 'rival 4 own')
    assert.equal(await kv.read(get(volatileKey('open'))), '7')
  })

  test('waits for its runner’s commit under way before it runs alone', async () => {
    const { kv, inner, commits, counts } = openHeld('shared')
    const outcomes: string[] = []
    const both = function* (tx: Tx<string>): Step<string> {
      const other = recordText(yield* tx.get(A)) ?? 'none'
      return `${yield* append(KEY, 'own')(tx)} ${other}`
    }
    watch(outcomes, 'starving', kv.write(both))
    for (let at = 0; at < 4; at += 1) {
      await roundTrip()
      await inner.commit([rivalWrite(KEY, `rival ${at} `)])
      if (at === 3) watch(outcomes, 'other', kv.write(append(A, 'other')))
      await roundTrip()
      await commits[at]?.succeed()
    }
    for (let turns = 0; turns < 5; turns += 1) await roundTrip()
    assert.deepEqual([commits.length, counts.alone, outcomes], [5, 0, []])
    await commits[4]?.succeed()
    for (let turns = 0; turns < 5; turns += 1) await roundTrip()
    assert.deepEqual(outcomes, ['other: other', 'starving: rival 3 own other'])
    assert.equal(counts.alone, 1)
  })

  test('makes other bodies of its runner wait while it runs alone', async () => {
    const inner = openShared()
    let rivals = 0
    const { engine, counts } = interfering(inner, async () => {
      rivals += 1
      if (rivals <= 4) await inner.commit([rivalWrite(KEY, 'rival ')])
    })
    const outcomes: string[] = []
    let during: readonly string[] | undefined
    const alone: Engine['alone'] = (work) =>
      engine.alone((commit) =>
        work(async (transactions) => {
          if (during !== undefined) return commit(transactions)
          during = []
          // Other bodies run meanwhile, one on the same key and one on another.
          watch(outcomes, 'same key', kv.write(append(KEY, '+')))
          watch(outcomes, 'other key', kv.write(append(A, '+')))
          for (let turns = 0; turns < 5; turns += 1) await roundTrip()
          during = [...outcomes]
          return commit(transactions)
        }),
      )
    const kv = openKv<string>({ ...engine, alone })
    watch(outcomes, 'starving', kv.write(append(KEY, 'own')))
    for (let turns = 0; turns < 50; turns += 1) await roundTrip()
    assert.deepEqual(outcomes.toSorted(), [
      'other key: +',
      'same key: rival own+',
      'starving: rival own',
    ])
    assert.deepEqual([during, counts.alone], [[], 1])
  })

  test('shares the time alone with others that starve', async () => {
    const inner = openShared()
    let rivals = 0
    const { engine, counts } = interfering(inner, async () => {
      rivals += 1
      if (rivals <= 40) await inner.commit([rivalWrite(KEY, '')])
    })
    const kv = openKv<string>(engine)
    await Promise.all(Array.from({ length: 50 }, () => kv.write(append(KEY, 'x'))))
    assert.equal(await kv.read(get(KEY)), 'x'.repeat(50))
    assert(counts.alone < 5, `${counts.alone} times alone`)
  })

  test('may fail while it runs alone, and later bodies still run', async () => {
    const inner = openShared()
    const { engine, counts } = interfering(inner, () => inner.commit([rivalWrite(KEY, 'rival')]))
    for (const failing of ['the body', 'the commit'] as const) {
      const alone: Engine['alone'] = (work) =>
        engine.alone((commit) =>
          work(
            failing === 'the body' ? commit : () => Promise.reject(new Error('the disk is full')),
          ),
        )
      const kv = openKv<string>({ ...engine, alone })
      let runs = 0
      const starving = kv.write(function* (tx) {
        runs += 1
        yield* append(KEY, 'own')(tx)
        yield* tx.get(A)
        if (failing === 'the body' && runs === 7) throw new Error('no')
      })
      await assert.rejects(starving, failing === 'the body' ? /^Error: no$/ : /the disk is full/)
      assert.equal(await kv.write(append(B, 'x')), failing === 'the body' ? 'x' : 'xx')
      assert.equal(await kv.read(get(KEY)), 'rival')
    }
    assert.equal(counts.alone, 2)
  })
})

describe('versions', () => {
  test('are never reused, within one runner or across several', async () => {
    const engine = openShared()
    const seen: Transaction[] = []
    const watched: Engine = {
      ...engine,
      commit: (transactions) => {
        seen.push(...transactions)
        return engine.commit(transactions)
      },
    }
    const runners = [1, 2, 3].map((number) =>
      openKv<string>(watched, { nextVersion: versionsOf(number) }),
    )
    const writes = Array.from({ length: 90 }, (_, n) =>
      runners[n % 3]?.write(append(keyOf(n % 4), 'x')),
    )
    await Promise.all(writes)
    const versions = seen.flatMap(({ writes }) => writes.map(({ version }) => version))
    assert(versions.length >= 90)
    assert.equal(new Set(versions).size, versions.length)
    assert(versions.every((version) => Number.isSafeInteger(version) && version > 1))
  })
})
