import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { encodeKey } from './key.ts'
import { KEY_END, type Key, type ReadTx } from './kv.ts'
import { Recent, type RecentLimits } from './recent.ts'
import { Scanned } from './scanned.ts'
import { runStraight } from './transaction.ts'

const LIMITS: RecentLimits = { bytesMax: 1 << 20, valueBytesMax: 1_000 }
const text = (value: Uint8Array) => Buffer.from(value).toString()

/** A store that counts its reads. */
function world(limits: RecentLimits = LIMITS) {
  const records = new Map<string, string>()
  const changing = new Set<string>()
  let reads = 0
  const store: Pick<ReadTx, 'get' | 'scanWith'> = {
    *scanWith(range, pick) {
      const names = [...records.keys()].filter((name) => name >= nameOf(range.from)).sort()
      const keys = names.slice(0, range.countMax).map((name) => Buffer.from(name, 'latin1'))
      return keys.map((each) => pick(each, new Value(records.get(nameOf(each)) ?? '', countRead)))
    },
    *get(key) {
      reads += 1
      const value = records.get(nameOf(key))
      return value === undefined ? undefined : Buffer.from(value)
    },
  }
  const countRead = () => (reads += 1)
  const recent = new Recent(store as ReadTx, (name) => changing.has(name), limits)
  return {
    recent,
    changing,
    set: (key: Key, value: string) => {
      records.set(nameOf(key), value)
      recent.forget([nameOf(key)])
    },
    stored: (key: Key, made: string, isPassing: { isPassing?: true } = {}) => {
      const write = { key, value: Buffer.from(made), made: { decode: text, made, ...isPassing } }
      recent.stored(new Map([[nameOf(key), write]]))
    },
    get: (key: Key, decode = text) => runStraight(recent.getWith(key, decode)),
    scan: (from: Key, countMax: number, decode = text) =>
      runStraight(
        recent.scanWith({ from, to: KEY_END, countMax }, (_, value) => value.made(decode)),
      ),
    /** How many reads of the store that took. */
    reads: (work: () => void): number => {
      const before = reads
      work()
      return reads - before
    },
  }
}

class Value extends Scanned {
  readonly #text: string
  readonly #read: () => void

  constructor(value: string, read: () => void) {
    super()
    this.#text = value
    this.#read = read
  }

  bytes(): Uint8Array {
    this.#read()
    return Buffer.from(this.#text, 'latin1')
  }
}

function nameOf(key: Key): string {
  return Buffer.from(key).toString('latin1')
}

describe('what was read of late', () => {
  const key = encodeKey('k')

  test('is kept from the second read on, and so is that there is nothing', () => {
    const { get, set, reads } = world()
    set(key, 'v')
    for (const [record, value] of [
      [key, 'v'],
      [encodeKey('absent'), undefined],
    ] as const) {
      const ask = () => assert.equal(get(record), value)
      assert.deepEqual([reads(ask), reads(ask), reads(ask), reads(ask)], [1, 1, 0, 0])
    }
  })

  test('is what the same decoder made, the very same', () => {
    const { get, set } = world()
    set(key, 'v')
    const decode = () => ({})
    const ask = () => get(key, decode as unknown as typeof text)
    ask()
    const kept = ask()
    assert.equal(ask(), kept)
    assert.equal(get(key), 'v')
  })

  test('is what was written, for who had it at hand, once it is in the store', () => {
    const { get, set, reads, changing, stored } = world()
    get(key)
    changing.add(nameOf(key))
    set(key, 'written')
    stored(key, 'written')
    assert.equal(
      reads(() => assert.equal(get(key), 'written')),
      1,
    )
    changing.delete(nameOf(key))
    stored(key, 'written')
    assert.equal(
      reads(() => assert.equal(get(key), 'written')),
      0,
    )
  })

  test('is not what holds the memory of somebody else', () => {
    const { set, stored, get, reads } = world()
    const key = encodeKey('a')
    for (let i = 0; i < 2; i += 1) {
      set(key, 'new')
      stored(key, 'new', { isPassing: true })
    }
    assert.equal(reads(() => get(key)), 1) // prettier-ignore
  })

  test('is forgotten when it changes, and not kept while it is changing', () => {
    const { get, set, reads, changing } = world()
    set(key, 'old')
    for (let i = 0; i < 3; i += 1) get(key)
    changing.add(nameOf(key))
    set(key, 'new')
    const ask = () => assert.equal(get(key), 'new')
    assert.deepEqual([reads(ask), reads(ask)], [1, 1])
    changing.delete(nameOf(key))
    assert.deepEqual([reads(ask), reads(ask)], [1, 0])
  })

  test('is also what a scan came to that was made before, and a scan finds what a read has kept', () => {
    const { get, set, scan, reads, changing } = world()
    const keys = ['a', 'b', 'c'].map((name) => encodeKey(name))
    for (const each of keys) set(each, nameOf(each))
    const [a = key, b = key, c = key] = keys
    for (let i = 0; i < 2; i += 1) get(b)
    const ask = () => assert.deepEqual(scan(a, 3), keys.map(nameOf))
    assert.deepEqual([reads(ask), reads(ask), reads(ask)], [2, 2, 0])
    // Of one that begins elsewhere, as the next page of a long walk, nothing is.
    for (const name of ['d', 'e']) set(encodeKey(name), name)
    const next = () => assert.deepEqual(scan(c, 3).slice(1), ['d', 'e'])
    assert.deepEqual([reads(next), reads(next), reads(next)], [2, 2, 0])
    changing.add(nameOf(b))
    set(b, 'changed')
    const changed = () => assert.deepEqual(scan(a, 3)[1], 'changed')
    assert.deepEqual([reads(changed), reads(changed)], [1, 1])
    changing.clear()
    assert.deepEqual([reads(changed), reads(changed)], [1, 0])
  })

  test('of a scan with another decoder is made by that', () => {
    const { set, scan } = world()
    set(key, 'v')
    const length = (value: Uint8Array) => String(value.length)
    for (let i = 0; i < 3; i += 1) {
      assert.deepEqual([scan(key, 1), scan(key, 1, length)], [['v'], ['1']])
    }
  })

  test('of scans over more than there is room for is what came first, until others are asked for', () => {
    const { set, scan, reads } = world({ bytesMax: 20_000, valueBytesMax: 1_000 })
    const record = (n: number) => {
      const value = Buffer.alloc(1_000)
      value.writeUInt32LE(100 + (n % 7))
      return value.toString('latin1')
    }
    const key = (n: number) => encodeKey('long', n)
    for (let n = 0; n < 200; n += 1) set(key(n), record(n))
    const walk = () => void scan(key(0), 100)
    const [first, second, third] = [reads(walk), reads(walk), reads(walk)]
    assert.deepEqual([first, second], [100, 100])
    // 20,000 bytes have room for some fifty records of 100 bytes, whatever stands behind those.
    assert(third > 40 && third < 60, String(third))
    assert.equal(reads(walk), third)
    const other = () => void scan(key(100), 40)
    const counts = Array.from({ length: 10 }, () => reads(other))
    assert.deepEqual([counts[0], counts[1], counts.at(-1)], [40, 40, 0])
  })

  test('has bounds: large values are not kept, and the oldest make room', () => {
    const { get, set, reads } = world({ bytesMax: 20_000, valueBytesMax: 1_000 })
    set(key, 'x'.repeat(1_001))
    const ask = () => void get(key)
    assert.deepEqual([reads(ask), reads(ask), reads(ask)], [1, 1, 1])
    const keys = Array.from({ length: 100 }, (_, n) => encodeKey('many', n))
    for (const each of keys) set(each, 'x'.repeat(500))
    for (const each of keys) for (let i = 0; i < 3; i += 1) get(each)
    const keptCount = keys.toReversed().findIndex((each) => reads(() => void get(each)) > 0)
    // 20,000 bytes hold 26 of them; half of that are sure of their place.
    assert(keptCount >= 12 && keptCount <= 26, String(keptCount))
  })

  test('stays while it is asked for, whatever else comes and goes', () => {
    const { get, set, reads } = world({ bytesMax: 20_000, valueBytesMax: 1_000 })
    set(key, 'asked for')
    for (let i = 0; i < 2; i += 1) get(key)
    for (let n = 0; n < 200; n += 1) {
      const other = encodeKey('other', n)
      set(other, 'x'.repeat(500))
      for (let i = 0; i < 2; i += 1) get(other)
      assert.equal(reads(() => void get(key)), 0, `after ${n} others`) // prettier-ignore
    }
  })

  test('stays while another record is written again and again: that has one place', () => {
    const { get, set, stored, reads } = world({ bytesMax: 20_000, valueBytesMax: 1_000 })
    set(key, 'read')
    for (let i = 0; i < 2; i += 1) get(key)
    const written = encodeKey('written')
    for (let n = 0; n < 200; n += 1) {
      set(written, 'x'.repeat(500))
      stored(written, 'x'.repeat(500))
    }
    assert.deepEqual([reads(() => void get(key)), reads(() => void get(written))], [0, 0])
  })

  test('of a scan stays while one of its records is written again and again', () => {
    const { set, scan, reads } = world({ bytesMax: 20_000, valueBytesMax: 1_000 })
    const keys = Array.from({ length: 20 }, (_, n) => encodeKey('listed', n))
    for (const each of keys) set(each, 'a record')
    const [first = key, second = key] = keys
    const walk = () => void scan(first, keys.length)
    for (let n = 0; n < 200; n += 1) {
      set(second, 'a record')
      walk()
    }
    assert.equal(reads(walk), 0)
  })

  test('is almost all of a thousand records that are read in turns', () => {
    const { get, set, reads } = world()
    const keys = Array.from({ length: 1_000 }, (_, n) => encodeKey('in turns', n ** 4))
    for (const each of keys) set(each, 'v')
    const turn = () => keys.forEach((each) => get(each))
    for (let i = 0; i < 2; i += 1) turn()
    const count = reads(turn)
    assert(count < 50, String(count))
  })
})
