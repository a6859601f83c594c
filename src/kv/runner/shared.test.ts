// What a runner does that shares its engine with others: it shares round trips, checks what it has read, and runs
// bodies again that were overtaken.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import type { Engine, Transaction, Wanted } from '../engine/engine.ts'
import { openLmdbEngine } from '../engine/lmdb.ts'
import { openMemoryEngine } from '../engine/memory.ts'
import { encodeKey } from '../key.ts'
import { keyAfter, prefixRange, type Key, type ReadTx, type Step, type Tx } from '../kv.ts'
import { encodeSharedRecord } from '../record.ts'
import { volatileKey } from '../volatile.ts'
import {
  append,
  get,
  keyOf,
  openHeld,
  put,
  recordOf,
  rivalWrite,
  textOf,
  turn,
  watch,
} from './harness.ts'
import { openKv } from './runner.ts'

const CACHE = { bytesMax: 2 ** 20, valueBytesMax: 2 ** 10 }
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
          await turn()
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
      await turn()
    }
    await begin(10)
    assert.deepEqual(reads.map(({ wanted }) => wanted.keys.length), [10]) // prettier-ignore
    await begin(5)
    await begin(3)
    await begin(8)
    assert.deepEqual(reads.map(({ wanted }) => wanted.keys.length), [10, 5], 'two at a time') // prettier-ignore
    await reads[0]?.end()
    assert.deepEqual(reads.map(({ wanted }) => wanted.keys.length), [10, 5, 11]) // prettier-ignore
    await reads[2]?.end()
    await reads[1]?.end()
    assert.deepEqual([found.length, found.filter((text) => text === 'seven').length], [26, 2])
    await begin(1)
    assert.equal(reads.length, 4)
    await reads[3]?.end()
  })

  test('fail with the round trip that they share, and later ones do not', async () => {
    const { reads, kv } = openSlow()
    const failing = Promise.allSettled([kv.read(get(A)), kv.write(append(B, 'x')), kv.read((tx) => tx.scan(ALL))]) // prettier-ignore
    await turn()
    assert.equal(reads.length, 1)
    await reads[0]?.end(new Error('connection lost'))
    for (const outcome of await failing) {
      assert(outcome.status === 'rejected' && /connection lost/.test(String(outcome.reason)))
    }
    const later = kv.read(get(A))
    await turn()
    await reads[1]?.end()
    assert.equal(await later, undefined)
  })

  test('are of one state, which is read again as a whole when more is wanted', async () => {
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
      const a = textOf(yield* tx.get(A))
      const b = textOf(yield* tx.get(B))
      const all = (yield* tx.scan(ALL)).map(({ value }) => textOf(value))
      return [a, b, ...all]
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
        // Somebody else changes everything meanwhile.
        if (n === 25) void engine.commit(Array.from({ length: 50 }, (_, n) => rivalWrite(keyOf(n), '!'))) // prettier-ignore
        texts += textOf(yield* tx.get(keyOf(n)))
      }
      return texts
    }
    assert.equal(await kv.read(body), Array.from({ length: 50 }, (_, n) => n).join(''))
    assert.deepEqual(counts, { reads: 4, snapshots: 1, released: 1 })
    await assert.rejects(kv.read(function* (tx) {
      yield* body(tx)
      throw new Error('no')
    }), /^Error: no$/) // prettier-ignore
    assert.deepEqual([counts.snapshots, counts.released], [2, 2])
  })

  test('tell ranges apart whose bounds are the same text in a row', async () => {
    for (const separator of ['\n', ' ']) {
      const engine = openShared()
      const key = (text: string): Key => Buffer.from(text.replaceAll('|', separator))
      await engine.commit(['b|1', 'b|c|1', 'c'].map((text) => rivalWrite(key(text), text)))
      const found = await openKv(engine).read(function* (tx) {
        const one = yield* tx.scan({ from: key('b'), to: key('b|c|c'), countMax: 9 })
        const other = yield* tx.scan({ from: key('b|b|c'), to: key('c'), countMax: 9 })
        return [one, other].map((entries) => entries.map(({ value }) => textOf(value)))
      })
      assert.deepEqual(found, [['b|1', 'b|c|1'], ['b|c|1']])
    }
  })
})

describe('a cached record', () => {
  test('is used as long as the engine says that it is unchanged', async () => {
    const engine = openShared()
    const wanted: Wanted[] = []
    const kv = openKv<string>(
      { ...engine, read: (each) => (wanted.push(each), engine.read(each)) },
      { cache: CACHE },
    )
    const other = openKv<string>(engine, { cache: CACHE, number: 2 })
    await other.write(put(KEY, 'first'))
    const read = () => kv.read((tx) => tx.get(KEY))
    const known = () => wanted.at(-1)?.keys[0]?.known !== undefined
    assert.deepEqual([textOf(await read()), known()], ['first', false])
    const kept = await read()
    assert.equal(await read(), kept)
    assert.deepEqual([textOf(kept), known()], ['first', true])
    await other.write(put(KEY, 'second'))
    const changed = await read()
    assert.deepEqual([textOf(changed), known()], ['second', true])
    assert.equal(await read(), changed)
    await other.write(function* (tx) {
      tx.delete(KEY)
    })
    assert.equal(await read(), undefined)
  })

  test('is used in scans as long as its version is the one found', async () => {
    const engine = openShared()
    const kv = openKv<string>(engine, { cache: CACHE })
    const scan = async () => (await kv.read((tx) => tx.scan(ALL))).map(({ value }) => value)
    await engine.commit([rivalWrite(A, 'a'), rivalWrite(B, 'b')])
    await scan()
    const kept = await scan()
    assert.deepEqual(kept.map(textOf), ['a', 'b'])
    const again = await scan()
    assert.deepEqual([again[0] === kept[0], again[1] === kept[1]], [true, true])
    await engine.commit([rivalWrite(B, 'changed')])
    const changed = await scan()
    assert.deepEqual(changed.map(textOf), ['a', 'changed'])
    assert.equal(changed[0], kept[0])
  })

  test('is not used by a body that writes when somebody else has changed it', async () => {
    const engine = openShared()
    const runners = [1, 2].map((number) => openKv<string>(engine, { cache: CACHE, number }))
    let expected = ''
    for (let n = 0; n < 20; n += 1) {
      expected += String(n % 10)
      assert.equal(await runners[n % 2]?.write(append(KEY, String(n % 10))), expected)
      for (const runner of runners) assert.equal(await runner.read(get(KEY)), expected)
    }
  })

  test('is what was written, under the version it was written with', async () => {
    const engine = openShared()
    const kv = openKv<string>(engine, { cache: CACHE })
    const fields = [{ n: 0 }, { n: 1 }]
    for (const each of fields) {
      await kv.write(function* (tx) {
        tx.put(KEY, encodeSharedRecord(each))
      })
    }
    assert.equal((await kv.read((tx) => tx.get(KEY)))?.fields, fields[1])
    await engine.commit([{ writes: [{ key: KEY, value: encodeSharedRecord({ n: 2 }).value, version: 1 }] }]) // prettier-ignore
    assert.deepEqual((await kv.read((tx) => tx.get(KEY)))?.fields, { n: 2 })
  })

  const folders: string[] = []
  after(() => folders.forEach((folder) => rmSync(folder, { recursive: true })))
  const openLmdb = (): Engine => {
    const folder = mkdtempSync(join(tmpdir(), 'lazuli-shared-'))
    folders.push(folder)
    return openLmdbEngine(folder, { isShared: true })
  }
  for (const [name, open] of [
    ['LMDB', openLmdb],
    ['memory', openShared],
  ] as const) {
    // prettier-ignore
    test(`of a snapshot is not that of another one: ${name}`, async () => {
      const engine = open()
      const kv = openKv<string>(engine, { cache: CACHE })
      const keys = Array.from({ length: 8 }, (_, n) => keyOf(n))
      // So many round trips that it needs a snapshot.
      const readAll = function* (tx: ReadTx): Step<readonly unknown[]> {
        const found: unknown[] = []
        for (const key of keys) {
          const entries = yield* tx.scan({ from: key, to: keyAfter(key), countMax: 1 })
          found.push(...entries.map(({ value }) => textOf(value)))
        }
        for (const key of keys) found.push(textOf(yield* tx.get(key)))
        return found
      }
      for (const text of ['a', 'b', 'c']) {
        await engine.commit(keys.map((key) => rivalWrite(key, text)))
        for (let again = 0; again < 3; again += 1) {
          assert.deepEqual(await kv.read(readAll), Array.from({ length: 16 }, () => text))
        }
      }
      await kv.close()
    })
  }
})

describe('a body that is overtaken', () => {
  test('runs again on the current values, which come with the verdict', async () => {
    const { kv, inner, commits, reads, succeedAll } = openHeld('shared')
    let runs = 0
    const told: string[] = []
    const writing = kv.write(function* (tx) {
      runs += 1
      const [a, b] = [textOf(yield* tx.get(A)), textOf(yield* tx.get(B))]
      const all = yield* tx.scanKeys(ALL)
      tx.put(KEY, recordOf(`${a} ${b} ${all.length}`))
      tx.announce(`run ${runs}`)
      return `${a} ${b} ${all.length}`
    })
    kv.listen((event) => told.push(event))
    await turn()
    assert.equal(reads.length, 3)
    await inner.commit([rivalWrite(B, 'rival')])
    await succeedAll(0)
    assert.equal(await writing, 'undefined rival 1')
    assert.deepEqual([runs, reads.length, commits.length], [2, 3, 2])
    assert.deepEqual(told, ['run 2'], 'events are told once')
  })

  test('tells no error before it has seen one state', async () => {
    const { kv, inner, reads, succeedAll } = openHeld('shared')
    await inner.commit([rivalWrite(A, '1'), rivalWrite(B, '1')])
    let runs = 0
    const checking = kv.write(function* (tx) {
      runs += 1
      const a = textOf(yield* tx.get(A))
      // Before the second read, somebody else changes both.
      if (reads.length === 1) void inner.commit([rivalWrite(A, '2'), rivalWrite(B, '2')])
      const b = textOf(yield* tx.get(B))
      if (a !== b) throw new Error(`${a} and ${b}`)
      return a
    })
    await succeedAll(0)
    assert.deepEqual([await checking, runs], ['2', 2])
  })

  test('tells an error that stands', async () => {
    const { kv, commits, succeedAll } = openHeld('shared')
    let runs = 0
    const failing = assert.rejects(kv.write(function* (tx) {
      runs += 1
      yield* tx.get(A)
      yield* tx.get(B)
      tx.put(A, recordOf('never'))
      throw new Error('no')
    }), /^Error: no$/) // prettier-ignore
    await succeedAll(0)
    await failing
    assert.deepEqual([runs, commits.length, commits[0]?.transactions[0]?.writes], [1, 1, []])
  })

  test('takes along those that have seen its writes, and they run again too', async () => {
    const { kv, inner, commits, succeedAll } = openHeld('shared')
    const told: string[] = []
    watch(told, 'first', kv.write(put(keyOf('first'), '')))
    await turn()
    const runs: string[] = []
    const derive = (name: string, from: Key, to: Key) =>
      kv.write(function* (tx) {
        runs.push(name)
        const text = textOf(yield* tx.get(from)) ?? 'none'
        tx.put(to, recordOf(`${text}>`))
        return text
      })
    watch(told, 'a to b', derive('a to b', A, B))
    await turn()
    watch(told, 'b to c', derive('b to c', B, keyOf('c')))
    watch(told, 'c to d', derive('c to d', keyOf('c'), keyOf('d')))
    watch(told, 'aside', derive('aside', keyOf('x'), keyOf('y')))
    watch(told, 'throwing', kv.write(function* (tx) {
      throw new Error(textOf(yield* tx.get(keyOf('d'))))
    })) // prettier-ignore
    await turn()
    await inner.commit([rivalWrite(A, 'rival')])
    await commits[0]?.succeed()
    await succeedAll(1)
    assert.deepEqual(told.toSorted(), [
      'a to b: rival',
      'aside: none',
      'b to c: rival>',
      'c to d: rival>>',
      'first: undefined',
      'throwing failed: Error: rival>>>',
    ])
    assert.deepEqual(runs.toSorted(), ['a to b', 'a to b', 'aside', 'b to c', 'b to c', 'c to d', 'c to d']) // prettier-ignore
  })

  test('takes along those that wait in the next commit', async () => {
    const { kv, inner, commits, succeedAll } = openHeld('shared')
    const told: string[] = []
    watch(told, 'a', kv.write(append(KEY, 'a')))
    await turn()
    watch(told, 'b', kv.write(append(KEY, 'b')))
    watch(told, 'other', kv.write(append(A, 'x')))
    await turn()
    await inner.commit([rivalWrite(KEY, 'rival ')])
    await commits[0]?.succeed()
    await succeedAll(1)
    assert.equal(await kv.read(get(KEY)), 'rival ab')
    assert.deepEqual(told.toSorted(), ['a: rival a', 'b: rival ab', 'other: x'])
  })

  test('runs alone after some attempts', async () => {
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
    const told: string[] = []
    watch(told, 'starving', kv.write(function* (tx) {
      runs += 1
      tx.announce('done')
      tx.put(volatileKey('open'), recordOf(String(runs)))
      return yield* append(KEY, 'own')(tx)
    })) // prettier-ignore
    for (let turns = 0; turns < 50; turns += 1) await turn()
    assert.deepEqual(told, ['starving: rival 8 own'])
    assert.deepEqual([runs, counts], [9, { commits: 8, alone: 1 }])
    assert.deepEqual(events, ['done'])
    assert.equal(await kv.read(get(KEY)), 'rival 8 own')
    assert.equal(await kv.read(get(volatileKey('open'))), '9')
  })

  test('waits for what its runner is committing before it runs alone', async () => {
    const { kv, inner, commits, counts } = openHeld('shared')
    const told: string[] = []
    const both = function* (tx: Tx<string>): Step<string> {
      const other = textOf(yield* tx.get(A)) ?? 'none'
      return `${yield* append(KEY, 'own')(tx)} ${other}`
    }
    watch(told, 'starving', kv.write(both))
    for (let at = 0; at < 8; at += 1) {
      await turn()
      await inner.commit([rivalWrite(KEY, `rival ${at} `)])
      if (at === 7) watch(told, 'other', kv.write(append(A, 'other')))
      await turn()
      await commits[at]?.succeed()
    }
    for (let turns = 0; turns < 5; turns += 1) await turn()
    assert.deepEqual([commits.length, counts.alone, told], [9, 0, []])
    await commits[8]?.succeed()
    for (let turns = 0; turns < 5; turns += 1) await turn()
    assert.deepEqual(told, ['other: other', 'starving: rival 7 own other'])
    assert.equal(counts.alone, 1)
  })

  test('keeps others of its runner waiting while it runs alone', async () => {
    const inner = openShared()
    let rivals = 0
    const { engine, counts } = interfering(inner, async () => {
      rivals += 1
      if (rivals <= 8) await inner.commit([rivalWrite(KEY, 'rival ')])
    })
    const told: string[] = []
    const alone: Engine['alone'] = (work) =>
      engine.alone(async (commit) => {
        // Others run while it does, on what it is about to change and on something else.
        watch(told, 'same key', kv.write(append(KEY, '+')))
        watch(told, 'other key', kv.write(append(A, '+')))
        for (let turns = 0; turns < 5; turns += 1) await turn()
        const result = await work(commit)
        for (let turns = 0; turns < 5; turns += 1) await turn()
        assert.deepEqual([told, counts.commits], [[], 8])
        return result
      })
    const kv = openKv<string>({ ...engine, alone })
    watch(told, 'starving', kv.write(append(KEY, 'own')))
    for (let turns = 0; turns < 50; turns += 1) await turn()
    assert.deepEqual(told.toSorted(), [
      'other key: +',
      'same key: rival own+',
      'starving: rival own',
    ])
    assert.equal(counts.alone, 1)
  })

  test('fails alone like any other, and others go on', async () => {
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
        // To be checked, so it is overtaken as well.
        yield* tx.get(A)
        if (failing === 'the body' && runs === 9) throw new Error('no')
      })
      await assert.rejects(starving, failing === 'the body' ? /^Error: no$/ : /the disk is full/)
      assert.equal(await kv.write(append(B, 'x')), failing === 'the body' ? 'x' : 'xx')
      assert.equal(await kv.read(get(KEY)), 'rival')
    }
    assert.equal(counts.alone, 2)
  })
})

describe('many writers of one runner', () => {
  for (const [name, open] of [
    ['shared', openShared],
    ['waiting (seed 1)', () => openMemoryEngine({ waitSeed: 1 })],
  ] as const) {
    /** Counts how often bodies run and the engine is asked. */
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
      assert(counts.runs <= 150, `${counts.runs} runs`)
      assert(counts.commits <= 10, `${counts.commits} commits`)
    })

    test(`of one key that read several do not overtake each other: ${name}`, async () => {
      const { kv, counts, write } = counted()
      const adding = Array.from({ length: 100 }, (_, n) =>
        write(function* (tx) {
          yield* tx.get(A)
          const text = textOf(yield* tx.get(KEY)) ?? ''
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
            return textOf(first.value)
          }),
        ),
      )
      assert.equal(new Set(taken).size, 100)
      assert.equal((await kv.read((tx) => tx.scanKeys(ALL))).length, 20)
      assert.equal(counts.alone, 0)
      assert(counts.runs <= 300, `${counts.runs} runs`)
      assert(counts.reads <= 12, `${counts.reads} reads`)
    })

    test(`that add the next entry of a range do not overtake each other: ${name}`, async () => {
      const { kv, counts, write } = counted()
      const added = await Promise.all(
        Array.from({ length: 100 }, () =>
          write(function* (tx) {
            const [last] = yield* tx.scan({ ...ALL, countMax: 1, reverse: true })
            const next = last === undefined ? 0 : Number(textOf(last.value)) + 1
            tx.put(keyOf(next), recordOf(String(next)))
            return next
          }),
        ),
      )
      assert.equal(new Set(added).size, 100)
      assert.equal((await kv.read((tx) => tx.scanKeys({ ...ALL, countMax: 999 }))).length, 100)
      assert(counts.runs <= 150, `${counts.runs} runs`)
      assert(counts.reads <= 4, `${counts.reads} reads`)
    })

    test(`that delete and insert a key in turns do not overtake each other: ${name}`, async () => {
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
      assert(counts.runs <= 60, `${counts.runs} runs`)
    })
  }
})

describe('versions', () => {
  test('are never used twice, by one runner or by two', async () => {
    const engine = openShared()
    const seen: Transaction[] = []
    const watched: Engine = {
      ...engine,
      commit: (transactions) => {
        seen.push(...transactions)
        return engine.commit(transactions)
      },
    }
    const runners = [1, 2, 3].map((number) => openKv<string>(watched, { number }))
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
