// What a runner does that is alone with its engine.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Engine } from '../engine/engine.ts'
import { openMemoryEngine } from '../engine/memory.ts'
import { encodeKey } from '../key.ts'
import { prefixRange, type ReadTx, type Step, type Tx } from '../kv.ts'
import { giveWay } from '../step.ts'
import { encodeRecord, encodeSharedRecord } from '../record.ts'
import {
  append,
  get,
  keyOf,
  openHeld,
  put,
  recordOf,
  spin,
  textOf,
  turn,
  watch,
} from './harness.ts'
import { openKv } from './runner.ts'

const KEY = keyOf('n')
const CACHE = { bytesMax: 2 ** 20, valueBytesMax: 2 ** 10 }

/** A memory engine that counts the records it is asked for. */
function openCounting() {
  const engine = openMemoryEngine()
  const { local } = engine
  assert(local !== undefined)
  const counts = { gets: 0 }
  const counting: Engine = {
    ...engine,
    local: {
      ...local,
      get: (key, part) => {
        counts.gets += 1
        return local.get(key, part)
      },
    },
  }
  /** How many records were asked for meanwhile. */
  const during = async (work: () => Promise<unknown>): Promise<number> => {
    const before = counts.gets
    await work()
    return counts.gets - before
  }
  return { kv: openKv<string>(counting, { cache: CACHE }), during }
}

/** A body that reads for longer than one turn. */
function* longRead(tx: ReadTx): Step<string | undefined> {
  for (let again = 0; again < 3; again += 1) {
    spin(15)
    yield* giveWay()
  }
  return textOf(yield* tx.get(KEY))
}

describe('a commit', () => {
  test('stores the last write of each key, once', async () => {
    const { kv, commits, succeedAll } = openHeld('local')
    const writes = [kv.write(put(keyOf('first'), ''))]
    for (let n = 0; n < 10; n += 1) {
      writes.push(kv.write(put(KEY, String(n))), kv.write(put(keyOf(n % 2), String(n))))
    }
    writes.push(kv.write(function* (tx) { tx.delete(keyOf(1)) })) // prettier-ignore
    await succeedAll(0)
    await Promise.all(writes)
    const groups = commits.map(({ transactions }) =>
      transactions.map(({ reads, writes }) => ({ reads, count: writes.length })),
    )
    // 22 transactions in three commits; no read sets.
    assert.deepEqual(groups, [
      [{ reads: undefined, count: 1 }],
      [{ reads: undefined, count: 3 }],
      [{ reads: undefined, count: 3 }],
    ])
    const found = await Promise.all([KEY, keyOf(0), keyOf(1)].map((key) => kv.read(get(key))))
    assert.deepEqual(found, ['9', '8', undefined])
  })

  test('is not made for transactions that write nothing', async () => {
    const { kv, commits } = openHeld('local')
    const told: string[] = []
    watch(told, 'first', kv.write(append(KEY, 'a')))
    watch(told, 'reader', kv.write(get(KEY)))
    await turn()
    await commits[0]?.succeed()
    assert.deepEqual(told, ['first: a', 'reader: a'])
    assert.equal(commits.length, 1)
  })
})

describe('the cache of a local runner', () => {
  test('has what was read twice, and that a key is absent', async () => {
    const { kv, during } = openCounting()
    await kv.write(put(KEY, 'text'))
    for (const [key, text] of [
      [KEY, 'text'],
      [keyOf('absent'), undefined],
    ] as const) {
      // prettier-ignore
      const read = async () => assert.equal(await kv.read(get(key)), text)
      const counts = [await during(read), await during(read), await during(read)]
      assert.deepEqual(counts, [1, 1, 0])
    }
  })

  test('has the records of a scan that was made twice', async () => {
    const { kv, during } = openCounting()
    await kv.write(function* (tx) {
      for (let n = 0; n < 5; n += 1) tx.put(keyOf(n), recordOf(String(n)))
    })
    const range = { ...prefixRange(encodeKey('k')), countMax: 9 }
    const scan = async () => {
      const found = await kv.read((tx) => tx.scan(range))
      assert.deepEqual(found.map(({ value }) => textOf(value)), ['0', '1', '2', '3', '4']) // prettier-ignore
    }
    const counts = [await during(scan), await during(scan), await during(scan)]
    assert.deepEqual(counts, [5, 5, 0])
    const fields = async () => assert.equal((await kv.read((tx) => tx.scanFields(range))).length, 5)
    assert.equal(await during(fields), 0)
    assert.equal(await during(() => kv.read(get(keyOf(3)))), 0)
    await kv.write(put(keyOf(2), '2'))
    assert.equal(await during(scan), 1, 'only the one that was written is read again')
  })

  test('has what was written, where its fields are at hand and it was written before', async () => {
    const { kv, during } = openCounting()
    const fields = [{ n: 0 }, { n: 1 }, { n: 2 }]
    const write = (n: number) =>
      kv.write(function* (tx) {
        tx.put(KEY, encodeSharedRecord(fields[n] ?? {}))
      })
    await write(0)
    await write(1)
    const read = async (n: number) =>
      assert.equal((await kv.read((tx) => tx.get(KEY)))?.fields, fields[n])
    assert.equal(await during(() => read(1)), 0)
    await Promise.all([write(0), write(1), write(2)])
    assert.equal(await during(() => read(2)), 0)
  })

  test('does not have a write that another one follows', async () => {
    const { kv, succeedAll } = openHeld('local', { cache: CACHE })
    const record = { shared: encodeSharedRecord({ n: 1 }), plain: encodeRecord({ n: 2 }) }
    const write = (kind: keyof typeof record) =>
      watch([], kind, kv.write(function* (tx) { tx.put(KEY, record[kind]) })) // prettier-ignore
    write('shared')
    await succeedAll(0)
    write('shared')
    write('plain')
    await succeedAll(1)
    assert.deepEqual(await kv.read((tx) => tx.getFields(KEY)), { n: 2 })
  })

  test('reads a record whose bytes it does not have when they are wanted', async () => {
    const { kv } = openCounting()
    const bytes = Buffer.alloc(5_000, 'x')
    for (let again = 0; again < 3; again += 1) {
      await kv.write(function* (tx) {
        tx.put(KEY, encodeSharedRecord({ again }, bytes))
      })
      for (let reads = 0; reads < 3; reads += 1) {
        assert.deepEqual(await kv.read((tx) => tx.getFields(KEY)), { again })
        if (reads !== 1) assert.equal(await kv.read(get(KEY)), bytes.toString())
        const [scanned] = await kv.read((tx) => tx.scan({ ...prefixRange(KEY), countMax: 1 }))
        assert.equal(textOf(scanned?.value), bytes.toString())
      }
    }
  })

  test('does not have what the engine already shows of a commit that is not told yet', async () => {
    const { kv, inner, commits } = openHeld('local', { cache: CACHE })
    const told: string[] = []
    watch(told, 'first', kv.write(put(KEY, 'first')))
    await commits[0]?.succeed()
    for (let again = 0; again < 3; again += 1) assert.equal(await kv.read(get(KEY)), 'first')
    watch(told, 'second', kv.write(put(KEY, 'second')))
    for (let again = 0; again < 3; again += 1) assert.equal(await kv.read(get(KEY)), 'first')
    await inner.commit(commits[1]?.transactions ?? [])
    assert.equal(await kv.read(get(KEY)), 'second')
    assert.deepEqual(told, ['first: undefined'])
    await commits[1]?.succeed()
    for (let again = 0; again < 3; again += 1) assert.equal(await kv.read(get(KEY)), 'second')
  })
})

describe('a long read', () => {
  test('takes its snapshot between two commits', async () => {
    const { kv, commits } = openHeld('local')
    const told: string[] = []
    watch(told, 'first', kv.write(append(KEY, 'a')))
    watch(told, 'reader', kv.read(longRead))
    watch(told, 'second', kv.write(append(KEY, 'b')))
    await turn()
    await turn()
    await commits[0]?.succeed()
    for (let turns = 0; turns < 10 && told.length < 2; turns += 1) await turn()
    assert.deepEqual(told, ['first: a', 'reader: a'])
    await commits[1]?.succeed()
    assert.deepEqual(told.at(-1), 'second: ab')
  })

  test('that gets no snapshot fails, and nothing else does', async () => {
    const { engine, commits, succeedAll } = openHeld('local')
    const snapshot = () => {
      throw new Error('too many readers')
    }
    const kv = openKv<string>({ ...engine, snapshot })
    const told: string[] = []
    watch(told, 'first', kv.write(append(KEY, 'a')))
    watch(told, 'reader', kv.read(longRead))
    watch(told, 'second', kv.write(append(KEY, 'b')))
    for (let turns = 0; turns < 5; turns += 1) await turn()
    assert.deepEqual([told, commits.length], [[], 1], 'it waits for the commit under way')
    await succeedAll(0)
    assert.deepEqual(told.toSorted(), [
      'first: a',
      'reader failed: Error: too many readers',
      'second: ab',
    ])
    await assert.rejects(kv.read(longRead), /too many readers/)
    assert.equal(await kv.read(get(KEY)), 'ab')
  })

  test('ends before the store is closed', async () => {
    const engine = openMemoryEngine()
    const order: string[] = []
    const kv = openKv<string>({
      ...engine,
      snapshot: () => {
        assert(!order.includes('closed'), 'the engine is closed')
        return engine.snapshot()
      },
      close: async () => void order.push('closed'),
    })
    await kv.write(put(KEY, 'text'))
    const reading = kv.read(longRead).then((text) => order.push(`read ${text}`))
    await Promise.all([kv.close(), reading])
    assert.deepEqual(order, ['read text', 'closed'])
  })
})

describe('a long write', () => {
  /** Appends a letter, and pauses between reading and writing. */
  function appendLong(letter: string) {
    return function* (tx: Tx<string>): Step<string> {
      const before = textOf(yield* tx.get(KEY)) ?? ''
      for (let again = 0; again < 3; again += 1) {
        spin(15)
        yield* giveWay()
      }
      assert.equal(textOf(yield* tx.get(KEY)) ?? '', before)
      tx.put(KEY, recordOf(before + letter))
      return before + letter
    }
  }

  const untilTold = async (told: readonly string[], count: number): Promise<void> => {
    for (let turns = 0; turns < 100 && told.length < count; turns += 1) await turn()
  }

  test('lets reads pass, and writes wait for it in their order', async () => {
    const kv = openKv<string>(openMemoryEngine())
    const told: string[] = []
    watch(told, 'a', kv.write(appendLong('a')))
    watch(told, 'b', kv.write(append(KEY, 'b')))
    watch(told, 'c', kv.write(appendLong('c')))
    watch(told, 'd', kv.write(append(KEY, 'd')))
    assert.equal(await kv.read(get(KEY)), undefined)
    assert.deepEqual(told, [])
    watch(told, 'e', kv.write(append(KEY, 'e')))
    await untilTold(told, 5)
    assert.deepEqual(told, ['a: a', 'b: ab', 'c: abc', 'd: abcd', 'e: abcde'])
  })

  test('starts over when a commit fails whose writes it has seen', async () => {
    const { kv, commits, succeedAll } = openHeld('local')
    const told: string[] = []
    watch(told, 'failed', kv.write(append(KEY, 'a')))
    watch(told, 'long', kv.write(appendLong('b')))
    watch(told, 'behind', kv.write(append(KEY, 'c')))
    await turn()
    await commits[0]?.fail()
    for (let turns = 0; turns < 20 && commits.length < 2; turns += 1) await turn()
    await succeedAll(1)
    assert.deepEqual(told, ['failed failed: Error: the disk is full', 'long: b', 'behind: bc'])
  })

  test('that throws lets the others go on', async () => {
    const kv = openKv<string>(openMemoryEngine())
    const told: string[] = []
    watch(told, 'throwing', kv.write(function* (tx) {
      yield* appendLong('a')(tx)
      throw new Error('no')
    })) // prettier-ignore
    watch(told, 'behind', kv.write(append(KEY, 'b')))
    await untilTold(told, 2)
    assert.deepEqual(told.toSorted(), ['behind: b', 'throwing failed: Error: no'])
  })

  test('is done before the store is closed, and so are those behind it', async () => {
    const engine = openMemoryEngine()
    const told: string[] = []
    const kv = openKv<string>({ ...engine, close: async () => void told.push('closed') })
    watch(told, 'long', kv.write(appendLong('a')))
    watch(told, 'behind', kv.write(append(KEY, 'b')))
    await kv.close()
    assert.deepEqual(told, ['long: a', 'behind: ab', 'closed'])
  })
})
