// A runner that is its engine's only writer.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Engine } from '../engine/engine.ts'
import { turn } from '../engine/harness.ts'
import { openMemoryEngine } from '../engine/memory.ts'
import { encodeKey } from '../key.ts'
import { prefixRange, type ReadTx, type Step, type Tx } from '../kv.ts'
import { giveWay } from '../step.ts'
import { encodeRecord, encodeSharedRecord } from '../record.ts'
import { append, get, keyOf, openHeld, put, recordOf, recordText, spin, watch } from './harness.ts'
import { openKv } from './runner.ts'

const KEY = keyOf('n')
const CACHE = { bytesMax: 2 ** 20, valueBytesMax: 2 ** 10 }

/** A runner over a memory engine that counts its gets. */
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
  /** The number of gets that `work` causes. */
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
  return recordText(yield* tx.get(KEY))
}

describe('a commit', () => {
  test('has the writes of many transactions in order, and no read sets', async () => {
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
    assert.deepEqual(groups, [
      [{ reads: undefined, count: 1 }],
      [{ reads: undefined, count: 16 }],
      [{ reads: undefined, count: 5 }],
    ])
    const found = await Promise.all([KEY, keyOf(0), keyOf(1)].map((key) => kv.read(get(key))))
    assert.deepEqual(found, ['9', '8', undefined])
  })

  test('is skipped for transactions that write nothing', async () => {
    const { kv, commits } = openHeld('local')
    const outcomes: string[] = []
    watch(outcomes, 'first', kv.write(append(KEY, 'a')))
    watch(outcomes, 'reader', kv.write(get(KEY)))
    await turn()
    await commits[0]?.succeed()
    assert.deepEqual(outcomes, ['first: a', 'reader: a'])
    assert.equal(commits.length, 1)
  })
})

describe('the cache of a local runner', () => {
  test('keeps records and absent keys that were read twice', async () => {
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

  test('keeps the records of a scan that ran twice', async () => {
    const { kv, during } = openCounting()
    await kv.write(function* (tx) {
      for (let n = 0; n < 5; n += 1) tx.put(keyOf(n), recordOf(String(n)))
    })
    const range = { ...prefixRange(encodeKey('k')), countMax: 9 }
    const scan = async () => {
      const found = await kv.read((tx) => tx.scan(range))
      assert.deepEqual(found.map(({ value }) => recordText(value)), ['0', '1', '2', '3', '4']) // prettier-ignore
    }
    const counts = [await during(scan), await during(scan), await during(scan)]
    assert.deepEqual(counts, [5, 5, 0])
    const fields = async () => assert.equal((await kv.read((tx) => tx.scanFields(range))).length, 5)
    assert.equal(await during(fields), 0)
    assert.equal(await during(() => kv.read(get(keyOf(3)))), 0)
    await kv.write(put(keyOf(2), '2'))
    assert.equal(await during(scan), 1, 'only the changed record is read again')
  })

  test('keeps a cached record when it is overwritten, if its fields are decoded', async () => {
    const { kv, during } = openCounting()
    const fields = [{ n: 0 }, { n: 1 }, { n: 2 }]
    const write = (n: number) =>
      kv.write(function* (tx) {
        tx.put(KEY, encodeSharedRecord(fields[n] ?? {}))
      })
    await write(0)
    for (let again = 0; again < 2; again += 1) await kv.read((tx) => tx.get(KEY))
    await write(1)
    const read = async (n: number) =>
      assert.equal((await kv.read((tx) => tx.get(KEY)))?.fields, fields[n])
    assert.equal(await during(() => read(1)), 0)
    await Promise.all([write(0), write(1), write(2)])
    assert.equal(await during(() => read(2)), 0)
  })

  test('does not keep a record that is created, even though its absence was read', async () => {
    const { kv, during } = openCounting()
    await kv.write(function* (tx) {
      assert.equal(yield* tx.get(KEY), undefined)
      tx.put(KEY, encodeSharedRecord({ n: 0 }))
    })
    assert.equal(await during(() => kv.read(get(KEY))), 1)
  })

  test('does not keep a write that a later one replaces', async () => {
    const { kv, succeedAll } = openHeld('local', { cache: CACHE })
    const record = { shared: encodeSharedRecord({ n: 1 }), plain: encodeRecord({ n: 2 }) }
    const write = (kind: keyof typeof record) =>
      watch([], kind, kv.write(function* (tx) { tx.put(KEY, record[kind]) })) // prettier-ignore
    write('shared')
    await succeedAll(0)
    for (let again = 0; again < 2; again += 1) await kv.read((tx) => tx.get(KEY))
    write('shared')
    write('plain')
    await succeedAll(1)
    assert.deepEqual(await kv.read((tx) => tx.getFields(KEY)), { n: 2 })
  })

  test('reads a record again when its bytes are needed and not cached', async () => {
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
        assert.equal(recordText(scanned?.value), bytes.toString())
      }
    }
  })

  test('keeps no record of a commit that is visible in the engine but not acknowledged yet', async () => {
    const { kv, inner, commits } = openHeld('local', { cache: CACHE })
    const outcomes: string[] = []
    watch(outcomes, 'first', kv.write(put(KEY, 'first')))
    await commits[0]?.succeed()
    for (let again = 0; again < 3; again += 1) assert.equal(await kv.read(get(KEY)), 'first')
    watch(outcomes, 'second', kv.write(put(KEY, 'second')))
    for (let again = 0; again < 3; again += 1) assert.equal(await kv.read(get(KEY)), 'first')
    await inner.commit(commits[1]?.transactions ?? [])
    assert.equal(await kv.read(get(KEY)), 'second')
    assert.deepEqual(outcomes, ['first: undefined'])
    await commits[1]?.succeed()
    for (let again = 0; again < 3; again += 1) assert.equal(await kv.read(get(KEY)), 'second')
  })
})

describe('a long read', () => {
  test('takes its snapshot between two commits', async () => {
    const { kv, commits } = openHeld('local')
    const outcomes: string[] = []
    watch(outcomes, 'first', kv.write(append(KEY, 'a')))
    watch(outcomes, 'reader', kv.read(longRead))
    watch(outcomes, 'second', kv.write(append(KEY, 'b')))
    await turn()
    await turn()
    await commits[0]?.succeed()
    for (let turns = 0; turns < 10 && outcomes.length < 2; turns += 1) await turn()
    assert.deepEqual(outcomes, ['first: a', 'reader: a'])
    await commits[1]?.succeed()
    assert.deepEqual(outcomes.at(-1), 'second: ab')
  })

  test('fails if it gets no snapshot, and nothing else fails', async () => {
    const { engine, commits, succeedAll } = openHeld('local')
    const snapshot = () => {
      throw new Error('too many readers')
    }
    const kv = openKv<string>({ ...engine, snapshot })
    const outcomes: string[] = []
    watch(outcomes, 'first', kv.write(append(KEY, 'a')))
    watch(outcomes, 'reader', kv.read(longRead))
    watch(outcomes, 'second', kv.write(append(KEY, 'b')))
    for (let turns = 0; turns < 5; turns += 1) await turn()
    assert.deepEqual([outcomes, commits.length], [[], 1], 'it waits for the commit under way')
    await succeedAll(0)
    assert.deepEqual(outcomes.toSorted(), [
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
      const before = recordText(yield* tx.get(KEY)) ?? ''
      for (let again = 0; again < 3; again += 1) {
        spin(15)
        yield* giveWay()
      }
      assert.equal(recordText(yield* tx.get(KEY)) ?? '', before)
      tx.put(KEY, recordOf(before + letter))
      return before + letter
    }
  }

  const waitForOutcomes = async (outcomes: readonly string[], count: number): Promise<void> => {
    for (let turns = 0; turns < 100 && outcomes.length < count; turns += 1) await turn()
  }

  test('does not block reads, and makes later writes wait in order', async () => {
    const kv = openKv<string>(openMemoryEngine())
    const outcomes: string[] = []
    watch(outcomes, 'a', kv.write(appendLong('a')))
    watch(outcomes, 'b', kv.write(append(KEY, 'b')))
    watch(outcomes, 'c', kv.write(appendLong('c')))
    watch(outcomes, 'd', kv.write(append(KEY, 'd')))
    assert.equal(await kv.read(get(KEY)), undefined)
    assert.deepEqual(outcomes, [])
    watch(outcomes, 'e', kv.write(append(KEY, 'e')))
    await waitForOutcomes(outcomes, 5)
    assert.deepEqual(outcomes, ['a: a', 'b: ab', 'c: abc', 'd: abcd', 'e: abcde'])
  })

  test('starts over when a commit whose writes it has read fails', async () => {
    const { kv, commits, succeedAll } = openHeld('local')
    const outcomes: string[] = []
    watch(outcomes, 'failed', kv.write(append(KEY, 'a')))
    watch(outcomes, 'long', kv.write(appendLong('b')))
    watch(outcomes, 'behind', kv.write(append(KEY, 'c')))
    await turn()
    await commits[0]?.fail()
    for (let turns = 0; turns < 20 && commits.length < 2; turns += 1) await turn()
    await succeedAll(1)
    assert.deepEqual(outcomes, ['failed failed: Error: the disk is full', 'long: b', 'behind: bc'])
  })

  test('that throws does not block later writes', async () => {
    const kv = openKv<string>(openMemoryEngine())
    const outcomes: string[] = []
    watch(outcomes, 'throwing', kv.write(function* (tx) {
      yield* appendLong('a')(tx)
      throw new Error('no')
    })) // prettier-ignore
    watch(outcomes, 'behind', kv.write(append(KEY, 'b')))
    await waitForOutcomes(outcomes, 2)
    assert.deepEqual(outcomes.toSorted(), ['behind: b', 'throwing failed: Error: no'])
  })

  test('ends before the store is closed, and so do the writes behind it', async () => {
    const engine = openMemoryEngine()
    const order: string[] = []
    const kv = openKv<string>({ ...engine, close: async () => void order.push('closed') })
    watch(order, 'long', kv.write(appendLong('a')))
    watch(order, 'behind', kv.write(append(KEY, 'b')))
    await kv.close()
    assert.deepEqual(order, ['long: a', 'behind: ab', 'closed'])
  })
})
