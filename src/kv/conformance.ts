// The contract of a store, as one suite that every combination of engine and runners passes. The rules above the
// seam rely on all of it, and on nothing else. With several runners over one engine, each call goes to the next
// runner, as requests go to the nodes of a cluster.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { decodeKey, encodeKey } from './key.ts'
import { derived } from './derived.ts'
import { turn } from './engine/harness.ts'
import { prefixRange, type Kv, type ReadTx, type ScanRange, type Step, type Tx } from './kv.ts'
import { giveWay, need } from './step.ts'
import { encodeRecord, encodeSharedRecord, type StoredRecord } from './record.ts'

const bytes = (text: string) => encodeRecord({ length: text.length }, Buffer.from(text))
const text = (record: StoredRecord | undefined) => record && Buffer.from(record.bytes).toString()

/** `open` opens one or several runners over a new engine. */
export function kvConformance(name: string, open: () => Promise<readonly Kv[]>): void {
  describe(name, () => {
    let kv: Kv
    let close: () => Promise<void>
    before(async () => {
      const runners = await open()
      kv = roundRobin(runners)
      close = () => closeAll(runners)
    })
    after(() => close())

    const put = (key: Uint8Array, value: string) =>
      kv.write(function* (tx) {
        tx.put(key, bytes(value))
      })
    const get = (key: Uint8Array) =>
      kv.read(function* (tx) {
        return text(yield* tx.get(key))
      })
    const scan = (range: ScanRange) =>
      kv.read(function* (tx) {
        return (yield* tx.scan(range)).map((entry) => decodeKey(entry.key).at(-1))
      })

    test('every read that begins after a write sees it', async () => {
      const key = encodeKey('read-after-write')
      for (let i = 0; i < 50; i += 1) {
        await put(key, String(i))
        assert.equal(await get(key), String(i))
      }
      await kv.write(function* (tx) {
        tx.delete(key)
      })
      assert.equal(await get(key), undefined)
    })

    test('a long read gives way and still sees one state', async () => {
      const rangeOf = prefixRange(encodeKey('long'))
      await kv.write(function* (tx) {
        for (let at = 0; at < 10; at += 1) tx.put(encodeKey('long', at), bytes('before'))
        tx.put(encodeKey('long', 'moving -1'), bytes('before'))
      })
      let turns = 0
      const state = { isDone: false }
      const reading = kv.read(function* (tx) {
        const found: (string | undefined)[] = []
        for (let at = 0; at < 10; at += 1) {
          found.push(text(yield* tx.get(encodeKey('long', at))))
          // Work that takes longer than a turn.
          const untilMs = performance.now() + 15
          while (performance.now() < untilMs);
          yield* giveWay()
        }
        found.push(
          ...(yield* tx.scan({ ...rangeOf, countMax: 20 })).map(({ value }) => text(value)),
        )
        return found
      })
      const ended = reading.finally(() => {
        state.isDone = true
      })
      for (; !state.isDone; turns += 1) {
        await turn()
        await kv.write(function* (tx) {
          for (let at = 0; at < 10; at += 1) tx.put(encodeKey('long', at), bytes(`after ${turns}`))
          tx.delete(encodeKey('long', `moving ${turns - 1}`))
          tx.put(encodeKey('long', `moving ${turns}`), bytes(`after ${turns}`))
        })
      }
      const found = await ended
      assert(turns > 2, 'others had their turn')
      assert.equal(found.length, 21)
      assert.equal(new Set(found).size, 1, 'one state')
    })

    test('a long write gives way, and no other write comes in between', async () => {
      const [counter, copy] = [encodeKey('long write', 'counter'), encodeKey('long write', 'copy')]
      await put(counter, '0')
      const increment = () =>
        kv.write(function* (tx) {
          const count = Number(text(yield* tx.get(counter)))
          tx.put(counter, bytes(String(count + 1)))
        })
      const state = { isDone: false }
      const writing = kv.write(function* (tx) {
        const before = text(yield* tx.get(counter))
        // Work that takes longer than a turn.
        for (let at = 0; at < 5; at += 1) {
          const untilMs = performance.now() + 12
          while (performance.now() < untilMs);
          yield* giveWay()
        }
        tx.put(copy, bytes(`${before} ${text(yield* tx.get(counter))}`))
        tx.put(counter, bytes(String(Number(before) + 1)))
      })
      const ended = writing.finally(() => {
        state.isDone = true
      })
      const increments: Promise<void>[] = []
      const reads: Promise<string | undefined>[] = []
      let turns = 0
      for (; !state.isDone; turns += 1) {
        await turn()
        if (turns >= 20) continue
        increments.push(increment())
        reads.push(get(counter))
      }
      await Promise.all([ended, ...increments])
      for (const read of await Promise.all(reads)) assert.match(read ?? '', /^\d+$/)
      assert(turns > 2, 'others had their turn')
      assert.equal(await get(counter), String(increments.length + 1))
      const [first, last] = (await get(copy))?.split(' ') ?? []
      assert.equal(first, last, 'its two reads see one state')
    })

    test('an empty value is a value', async () => {
      await put(encodeKey('empty'), '')
      assert.equal(await get(encodeKey('empty')), '')
    })

    test('keys are sorted, whatever the order of writes', async () => {
      const names = ['b', 'a\0', 'a', '', 'é', 'z', 'a/b', 'A', '\u{1f600}', '\uffff']
      await kv.write(function* (tx) {
        for (const each of names) tx.put(encodeKey('order', each), bytes(each))
      })
      const all = { ...prefixRange(encodeKey('order')), countMax: 100 }
      assert.deepEqual(await scan(all), names.toSorted())
      assert.deepEqual(await scan({ ...all, reverse: true }), names.toSorted().toReversed())
    })

    describe('a scan', () => {
      const key = (n: number) => encodeKey('scan', n)
      before(() =>
        kv.write(function* (tx) {
          for (let n = 0; n < 1_000; n += 1) tx.put(key(n), bytes(String(n)))
        }),
      )
      const range = (from: number, to: number, rest: Partial<ScanRange> = {}): ScanRange => {
        return { from: key(from), to: key(to), countMax: 2_000, ...rest }
      }
      for (const [what, scanned, expected] of [
        ['includes its first key and excludes its end', range(3, 6), [3, 4, 5]],
        ['finds the same keys when reversed', range(3, 6, { reverse: true }), [5, 4, 3]],
        ['returns at most its count', range(3, 900, { countMax: 2 }), [3, 4]],
        [
          'returns the last keys when reversed',
          range(3, 9, { countMax: 2, reverse: true }),
          [8, 7],
        ],
        ['with equal bounds is empty', range(6, 6), []],
        ['with swapped bounds is empty', range(6, 3), []],
        ['past the last key is empty', range(1_000, 2_000), []],
        ['may reach past the last key', range(998, 5_000), [998, 999]],
        ['may reach past the last key, reversed', range(998, 5_000, { reverse: true }), [999, 998]],
        ['with a count of 0 is empty', range(0, 10, { countMax: 0 }), []],
      ] as const) {
        test(what, async () => assert.deepEqual(await scan(scanned), expected))
      }

      test('of a thousand keys is complete', async () => {
        const found = await scan(range(0, 1_000))
        assert.deepEqual(
          found,
          Array.from({ length: 1_000 }, (_, n) => n),
        )
      })
    })

    test('keys may have names of 3,072 bytes', async () => {
      const first = '\uffff'.repeat(1_023)
      const [a, b] = [encodeKey('long', 1, `${first}a`), encodeKey('long', 1, `${first}b`)]
      await put(a, 'a')
      await put(b, 'b')
      assert.deepEqual([await get(a), await get(b)], ['a', 'b'])
    })

    test('values may be large', async () => {
      const large = Buffer.alloc(1_500_000, 'x')
      const key = encodeKey('large')
      await kv.write(function* (tx) {
        tx.put(key, encodeRecord({}, large))
      })
      const found = await kv.read(function* (tx) {
        return yield* tx.get(key)
      })
      assert.equal(Buffer.compare(found?.bytes ?? Buffer.alloc(0), large), 0)
    })

    test('a value is the reader’s own: later reads and writes do not change it', async () => {
      const [a, b] = [encodeKey('own', 'a'), encodeKey('own', 'b')]
      await put(a, 'first')
      await put(b, 'other')
      const held = await kv.read(function* (tx) {
        const value = yield* tx.get(a)
        yield* tx.get(b)
        return value
      })
      await put(a, 'later')
      await get(b)
      assert.equal(text(held), 'first')
    })

    test('a body sees its own writes, in gets and in scans of both directions', async () => {
      const key = (each: string) => encodeKey('own-writes', each)
      for (const each of ['a', 'b', 'c']) await put(key(each), 'old')
      const seen = await kv.write(function* (tx) {
        tx.delete(key('a'))
        tx.put(key('b'), bytes('new'))
        tx.put(key('bb'), bytes('new'))
        const all = { ...prefixRange(encodeKey('own-writes')), countMax: 3 }
        return {
          deleted: yield* tx.get(key('a')),
          changed: text(yield* tx.get(key('b'))),
          up: (yield* tx.scan(all)).map((entry) => decodeKey(entry.key)[1]),
          down: (yield* tx.scan({ ...all, reverse: true })).map((entry) => decodeKey(entry.key)[1]),
          one: (yield* tx.scan({ ...all, countMax: 1 })).map((entry) => text(entry.value)),
        }
      })
      const expected = { deleted: undefined, changed: 'new', up: ['b', 'bb', 'c'] }
      assert.deepEqual(seen, { ...expected, down: ['c', 'bb', 'b'], one: ['new'] })
    })

    test('fields are always the current ones, also in a body’s own writes', async () => {
      const key = encodeKey('fields')
      const read = () =>
        kv.read(function* (tx) {
          return (yield* tx.get(key))?.fields
        })
      for (const value of ['1', '2', '2', '3']) {
        await kv.write(function* (tx) {
          tx.put(key, encodeSharedRecord({ value }))
        })
        for (let again = 0; again < 4; again += 1) assert.deepEqual(await read(), { value })
      }
      const own = await kv.write(function* (tx) {
        tx.put(key, encodeSharedRecord({ value: 'own' }))
        const before = (yield* tx.get(key))?.fields
        tx.delete(key)
        return [before, yield* tx.get(key)]
      })
      assert.deepEqual(own, [{ value: 'own' }, undefined])
      assert.deepEqual([await read(), await read()], [undefined, undefined])
    })

    test('a derived value always belongs to the current record', async () => {
      const key = encodeKey('derived')
      const read = () =>
        kv.read(function* (tx) {
          const record = yield* tx.get(key)
          return record && derived(record, 'text', () => text(record))
        })
      for (const value of ['1', '2', '2', '3']) {
        await put(key, value)
        for (let again = 0; again < 4; again += 1) assert.equal(await read(), value)
      }
    })

    test('a scan of fields or keys finds the same records without their bytes', async () => {
      const key = (each: string) => encodeKey('parts', each)
      const range = { ...prefixRange(encodeKey('parts')), countMax: 9 }
      const scanParts = function* (tx: ReadTx): Step<unknown> {
        const fields = (yield* tx.scanFields(range)).map((entry) => [
          decodeKey(entry.key)[1],
          entry.value.fields,
        ])
        const keys = (yield* tx.scanKeys(range)).map((found) => decodeKey(found)[1])
        const whole = (yield* tx.scan(range)).map((entry) => text(entry.value))
        return { fields, keys, whole }
      }
      await put(key('b'), '22')
      for (const value of ['1', '4444', '4444', '333']) {
        await put(key('a'), value)
        const expected = {
          fields: [['a', { length: value.length }], ['b', { length: 2 }]], // prettier-ignore
          keys: ['a', 'b'],
          whole: [value, '22'],
        }
        for (let again = 0; again < 4; again += 1) {
          assert.deepEqual(await kv.read(scanParts), expected)
          assert.equal(await get(key('a')), value, 'a get still returns the bytes')
        }
      }
      const own = await kv.write(function* (tx) {
        tx.delete(key('b'))
        tx.put(key('c'), bytes('own'))
        return yield* scanParts(tx)
      })
      assert.deepEqual(own, {
        fields: [['a', { length: 3 }], ['c', { length: 3 }]], // prettier-ignore
        keys: ['a', 'c'],
        whole: ['333', 'own'],
      })
      assert.deepEqual(await kv.read(scanParts), own)
    })

    test('a body that needs something first writes nothing and returns the need', async () => {
      const key = encodeKey('need')
      const what = { kind: 'something' }
      const needing = function* (tx: Tx): Step<string> {
        tx.put(key, bytes('written'))
        if ((yield* tx.get(encodeKey('met'))) === undefined) yield* need(what)
        return 'done'
      }
      assert.deepEqual(await kv.attempt(needing), { need: what })
      assert.equal(await get(key), undefined)
      assert.deepEqual(await kv.attemptRead(() => need(what)), { need: what })
      await put(encodeKey('met'), '')
      assert.deepEqual(await kv.attempt(needing), { value: 'done' })
      assert.equal(await get(key), 'written')
    })

    test('a body that throws writes nothing', async () => {
      const [a, b] = [encodeKey('throw', 'a'), encodeKey('throw', 'b')]
      await put(a, 'before')
      const failing = kv.write(function* (tx) {
        tx.put(a, bytes('after'))
        tx.put(b, bytes('after'))
        yield* tx.get(a)
        throw new Error('no')
      })
      await assert.rejects(failing, /^Error: no$/)
      assert.deepEqual([await get(a), await get(b)], ['before', undefined])
    })

    test('a body that throws does not affect concurrent ones', async () => {
      const outcomes = await Promise.allSettled(
        Array.from({ length: 40 }, (_, n) =>
          kv.write(function* (tx) {
            tx.put(encodeKey('beside', n), bytes(String(n)))
            if (n % 2 === 1) throw new Error('odd')
          }),
        ),
      )
      assert.equal(outcomes.filter((each) => each.status === 'rejected').length, 20)
      const even = Array.from({ length: 20 }, (_, n) => n * 2)
      assert.deepEqual(await scan({ ...prefixRange(encodeKey('beside')), countMax: 99 }), even)
    })

    test('none of 100 concurrent increments is lost', async () => {
      const key = encodeKey('counter')
      await Promise.all(Array.from({ length: 100 }, () => kv.write((tx) => increment(tx, key))))
      assert.equal(await get(key), '100')
    })

    test('scans are serializable too: each of 30 concurrent inserts gets its own number', async () => {
      const prefix = encodeKey('phantom')
      const insertNext = function* (tx: Tx): Step<number> {
        const last = yield* tx.scan({ ...prefixRange(prefix), countMax: 1, reverse: true })
        const next = last[0] === undefined ? 0 : Number(decodeKey(last[0].key)[1]) + 1
        tx.put(encodeKey('phantom', next), bytes(''))
        return next
      }
      const numbers = await Promise.all(Array.from({ length: 30 }, () => kv.write(insertNext)))
      assert.deepEqual(
        numbers.toSorted((a, b) => a - b),
        Array.from({ length: 30 }, (_, n) => n),
      )
    })

    test('a read sees one state during concurrent transfers: the sum never changes', async () => {
      const key = (n: number) => encodeKey('sum', n)
      for (let n = 0; n < 10; n += 1) await put(key(n), '10')
      const move = (from: number, to: number) =>
        kv.write(function* (tx) {
          const [a, b] = [
            Number(text(yield* tx.get(key(from)))),
            Number(text(yield* tx.get(key(to)))),
          ]
          tx.put(key(from), bytes(String(a - 1)))
          tx.put(key(to), bytes(String(b + 1)))
        })
      // By gets and by a scan, which find records in different ways.
      const sum = function* (tx: ReadTx): Step<number> {
        let total = 0
        for (let n = 0; n < 5; n += 1) total += Number(text(yield* tx.get(key(n))))
        const others = yield* tx.scan({ from: key(5), to: key(10), countMax: 9 })
        return others.reduce((sum, { value }) => sum + Number(text(value)), total)
      }
      const totals = new Set<number>()
      const state = { isWriting: true }
      const writers = Array.from({ length: 300 }, (_, n) => move(n % 10, (n * 7 + 3) % 10))
      const written = Promise.all(writers).finally(() => (state.isWriting = false))
      while (state.isWriting) {
        for (const total of await Promise.all([kv.read(sum), kv.read(sum)])) totals.add(total)
        await turn()
      }
      await written
      assert.deepEqual([...totals], [100])
    })

    test('closing waits for the writes under way', async () => {
      const runners = await open()
      const closing = roundRobin(runners)
      const writes = Array.from({ length: 50 }, (_, n) =>
        closing.write(function* (tx) {
          tx.put(encodeKey('closing', n), bytes(''))
          return n
        }),
      )
      await closeAll(runners)
      assert.deepEqual(
        await Promise.all(writes),
        Array.from({ length: 50 }, (_, n) => n),
      )
    })

    test('a body may run more than once and takes effect once', async () => {
      const [a, b] = [encodeKey('twice', 'a'), encodeKey('twice', 'b')]
      let runs = 0
      const swap = (from: Uint8Array, to: Uint8Array) =>
        kv.write(function* (tx) {
          runs += 1
          const value = text(yield* tx.get(from)) ?? ''
          tx.put(to, bytes(`${value}+`))
        })
      await Promise.all([swap(a, b), swap(b, a), swap(a, b), swap(b, a)])
      assert(runs >= 4)
      // Any serial order of the four leaves one to four characters in each text.
      const lengths = [(await get(a))?.length, (await get(b))?.length]
      assert(lengths.every((length) => length !== undefined && length >= 1 && length <= 4))
    })
  })
}

function* increment(tx: Tx, key: Uint8Array): Step<void> {
  const count = Number(text(yield* tx.get(key)) ?? 0)
  tx.put(key, bytes(String(count + 1)))
}

/** Each call goes to the next runner. */
function roundRobin(runners: readonly Kv[]): Kv {
  let at = 0
  const next = (): Kv => {
    const runner = runners[(at += 1) % runners.length]
    assert(runner !== undefined)
    return runner
  }
  return {
    read: (body) => next().read(body),
    write: (body) => next().write(body),
    attemptRead: (body) => next().attemptRead(body),
    attempt: (body) => next().attempt(body),
    sizeBytes: () => next().sizeBytes(),
    close: () => closeAll(runners),
  }
}

/** Closes all runners: the last one closes the engine. */
async function closeAll(runners: readonly Kv[]): Promise<void> {
  await Promise.all(runners.map((runner) => runner.close()))
}
