// What every engine must hold, as one suite that each runs. The rules above the seam rely on nothing
// else, and on all of this.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { decodeKey, encodeKey } from './key.ts'
import { giveWay } from './paced.ts'
import { prefixRange, type Kv, type ReadTx, type ScanRange, type Step, type Tx } from './kv.ts'

const bytes = (text: string) => Buffer.from(text)
const numberOf = (value: Uint8Array) => Number(text(value))
const turn = () => new Promise((resolve) => setImmediate(resolve))
const text = (value: Uint8Array | undefined) => value && Buffer.from(value).toString()

export function kvConformance(name: string, open: () => Promise<Kv>): void {
  describe(name, () => {
    let kv: Kv
    before(async () => {
      kv = await open()
    })
    after(() => kv.close())

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

    test('a write is there for every read that begins after it', async () => {
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

    test('a long read gives way, and sees one state all the same', async () => {
      const rangeOf = prefixRange(encodeKey('long'))
      await kv.write(function* (tx) {
        for (let at = 0; at < 10; at += 1) tx.put(encodeKey('long', at), bytes('before'))
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
          tx.put(encodeKey('long', `more ${turns}`), bytes('more'))
        })
      }
      const found = await ended
      assert(turns > 2, 'others had their turn')
      assert.equal(found.length, 20)
      assert.equal(new Set(found).size, 1, 'one state')
    })

    test('an empty value is a value', async () => {
      await put(encodeKey('empty'), '')
      assert.equal(await get(encodeKey('empty')), '')
    })

    test('keys are in order, whatever the order of writing', async () => {
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
      for (const [what, asked, expected] of [
        ['takes its first key and leaves its last', range(3, 6), [3, 4, 5]],
        ['is the same set when reversed', range(3, 6, { reverse: true }), [5, 4, 3]],
        ['gives at most the count', range(3, 900, { countMax: 2 }), [3, 4]],
        ['gives the last ones when reversed', range(3, 9, { countMax: 2, reverse: true }), [8, 7]],
        ['of nothing is empty', range(6, 6), []],
        ['whose bounds are turned round is empty', range(6, 3), []],
        ['past the last key is empty', range(1_000, 2_000), []],
        ['reaches over the end', range(998, 5_000), [998, 999]],
        ['reaches over the end, reversed', range(998, 5_000, { reverse: true }), [999, 998]],
        ['of no count is empty', range(0, 10, { countMax: 0 }), []],
      ] as const) {
        test(what, async () => assert.deepEqual(await scan(asked), expected))
      }

      test('of a thousand is complete', async () => {
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
        tx.put(key, large)
      })
      const found = await kv.read(function* (tx) {
        return yield* tx.get(key)
      })
      assert.equal(Buffer.compare(found ?? Buffer.alloc(0), large), 0)
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
          gone: yield* tx.get(key('a')),
          changed: text(yield* tx.get(key('b'))),
          up: (yield* tx.scan(all)).map((entry) => decodeKey(entry.key)[1]),
          down: (yield* tx.scan({ ...all, reverse: true })).map((entry) => decodeKey(entry.key)[1]),
          one: (yield* tx.scan({ ...all, countMax: 1 })).map((entry) => text(entry.value)),
        }
      })
      const expected = { gone: undefined, changed: 'new', up: ['b', 'bb', 'c'] }
      assert.deepEqual(seen, { ...expected, down: ['c', 'bb', 'b'], one: ['new'] })
    })

    test('a record is found as what is made of it, as it is now, and of a body’s own writes', async () => {
      const key = encodeKey('made')
      const made = () => kv.read((tx) => tx.getWith(key, String))
      for (const value of ['1', '2', '2', '3']) {
        assert.deepEqual([await made(), await made()], [await get(key), await get(key)])
        await put(key, value)
        assert.deepEqual([await made(), await made(), await made()], [value, value, value])
      }
      const own = await kv.write(function* (tx) {
        tx.put(key, bytes('own'))
        const before = yield* tx.getWith(key, String)
        tx.delete(key)
        return [before, yield* tx.getWith(key, String)]
      })
      assert.deepEqual(own, ['own', undefined])
      assert.deepEqual([await made(), await made()], [undefined, undefined])
    })

    test('a scan finds records as what is made of them, as they are now, and a body’s own', async () => {
      const key = (each: string) => encodeKey('made-scan', each)
      const range = { ...prefixRange(encodeKey('made-scan')), countMax: 9 }
      const scanMade = (tx: ReadTx) =>
        tx.scanWith(range, (found, value) => [decodeKey(found)[1], value.made(text)].join())
      const made = () => kv.read(scanMade)
      for (const value of ['1', '2', '2', '333']) {
        await put(key('a'), value)
        await put(key(`b${value}`), value)
        const expected = (await kv.read((tx) => tx.scan(range))).map((entry) =>
          [decodeKey(entry.key)[1], text(entry.value)].join(),
        )
        assert.equal(expected[0], `a,${value}`)
        for (let again = 0; again < 4; again += 1) assert.deepEqual(await made(), expected)
      }
      const lengths = await kv.read((tx) =>
        tx.scanWith(range, (_, value) => [value.lengthBytes(), text(value.bytes())]),
      )
      assert.deepEqual(lengths, [[3, '333'], [1, '1'], [1, '2'], [3, '333']]) // prettier-ignore
      const own = await kv.write(function* (tx) {
        tx.delete(key('b1'))
        tx.put(key('b2'), bytes('own'))
        return yield* scanMade(tx)
      })
      assert.deepEqual(own, ['a,333', 'b2,own', 'b333,333'])
      assert.deepEqual(await made(), own)
    })

    test('a body that throws has written nothing', async () => {
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

    test('a failing body takes none of those beside it with it', async () => {
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

    test('100 concurrent increments lose none', async () => {
      const key = encodeKey('counter')
      await Promise.all(Array.from({ length: 100 }, () => kv.write((tx) => increment(tx, key))))
      assert.equal(await get(key), '100')
    })

    test('a scan is protected too: 30 concurrent inserts at most once each', async () => {
      const prefix = encodeKey('phantom')
      const insertNext = function* (tx: Tx): Step<number> {
        const last = yield* tx.scan({ ...prefixRange(prefix), countMax: 1, reverse: true })
        const next = last[0] === undefined ? 0 : Number(decodeKey(last[0].key)[1]) + 1
        tx.put(encodeKey('phantom', next), bytes(''))
        return next
      }
      const given = await Promise.all(Array.from({ length: 30 }, () => kv.write(insertNext)))
      assert.deepEqual(
        given.toSorted((a, b) => a - b),
        Array.from({ length: 30 }, (_, n) => n),
      )
    })

    test('a read sees one state while writers move it: the sum never changes', async () => {
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
      // Some of them as values and some as what is made of them, which an engine finds in other ways.
      const sum = function* (tx: ReadTx): Step<number> {
        let total = 0
        for (let n = 0; n < 5; n += 1) {
          total +=
            n % 2 === 0
              ? Number(text(yield* tx.get(key(n))))
              : ((yield* tx.getWith(key(n), numberOf)) ?? NaN)
        }
        const others = { from: key(5), to: key(10), countMax: 9 }
        const scanned = yield* tx.scanWith(others, (_, value) => value.made(numberOf))
        return scanned.reduce((sum, each) => sum + each, total)
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
      const closing = await open()
      const writes = Array.from({ length: 50 }, (_, n) =>
        closing.write(function* (tx) {
          tx.put(encodeKey('closing', n), bytes(''))
          return n
        }),
      )
      await closing.close()
      assert.deepEqual(
        await Promise.all(writes),
        Array.from({ length: 50 }, (_, n) => n),
      )
    })

    test('a body may be run twice and does its work once', async () => {
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
      // In some serial order: the lengths add up to what four single steps can give.
      const lengths = [(await get(a))?.length, (await get(b))?.length]
      assert(lengths.every((length) => length !== undefined && length >= 1 && length <= 4))
    })
  })
}

function* increment(tx: Tx, key: Uint8Array): Step<void> {
  const count = Number(text(yield* tx.get(key)) ?? 0)
  tx.put(key, bytes(String(count + 1)))
}
