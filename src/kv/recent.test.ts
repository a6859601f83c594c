import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { encodeKey } from './key.ts'
import type { Key, ReadTx } from './kv.ts'
import { Recent, type RecentLimits } from './recent.ts'
import { runStraight } from './transaction.ts'

const LIMITS: RecentLimits = { bytesMax: 1 << 20, valueBytesMax: 1_000 }
const text = (value: Uint8Array) => Buffer.from(value).toString()

/** A store that counts its reads. */
function world(limits: RecentLimits = LIMITS) {
  const records = new Map<string, string>()
  const changing = new Set<string>()
  let reads = 0
  const store: Pick<ReadTx, 'get'> = {
    *get(key) {
      reads += 1
      const value = records.get(nameOf(key))
      return value === undefined ? undefined : Buffer.from(value)
    },
  }
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
    /** How many reads of the store that took. */
    reads: (work: () => void): number => {
      const before = reads
      work()
      return reads - before
    },
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
