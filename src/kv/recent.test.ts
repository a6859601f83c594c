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
    stored: (key: Key, made: string) => {
      const write = { key, value: Buffer.from(made), made: { decode: text, made } }
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
    return Buffer.from(this.#text)
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
    const [a = key, b = key] = keys
    const ask = () => assert.deepEqual(scan(a, 3), keys.map(nameOf))
    assert.deepEqual([reads(ask), reads(ask), reads(ask)], [3, 3, 0])
    assert.equal(
      reads(() => void get(b)),
      0,
    )
    // Of one that begins elsewhere, as the next page of a long walk, nothing is.
    for (const name of ['d', 'e']) set(encodeKey(name), name)
    const next = () => assert.deepEqual(scan(b, 4).slice(2), ['d', 'e'])
    assert.deepEqual([reads(next), reads(next), reads(next)], [2, 2, 0])
    changing.add(nameOf(b))
    set(b, 'changed')
    const changed = () => assert.deepEqual(scan(a, 3)[1], 'changed')
    assert.deepEqual([reads(changed), reads(changed)], [1, 1])
  })

  test('is only in part what a long scan came to', () => {
    const { set, scan, reads } = world({ bytesMax: 80_000, valueBytesMax: 1_000 })
    for (let n = 0; n < 30; n += 1) set(encodeKey('long', n), 'x'.repeat(1_000))
    const ask = () => void scan(encodeKey('long', 0), 30)
    // An eighth of 80,000 bytes are ten of them, from each scan on ten more.
    assert.deepEqual([reads(ask), reads(ask), reads(ask), reads(ask)], [30, 30, 20, 10])
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
})
