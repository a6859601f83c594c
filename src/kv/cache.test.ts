import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import { randomFrom } from '../../test/random.ts'
import { NO_CACHE, RecordCache, setDefaultCacheLimits, type CacheLimits } from './cache.ts'
import { derived } from './derived.ts'
import { encodeKey, keyName } from './key.ts'
import { encodeRecord, encodeSharedRecord, StoredRecord } from './record.ts'

const LIMITS: CacheLimits = { bytesMax: 1 << 20, valueBytesMax: 4_000 }
/** Room for 26 records of 500 bytes under short names. */
const FEW: CacheLimits = { bytesMax: 20_000, valueBytesMax: 1_000 }

const nameOf = (n: number) => keyName(encodeKey(n))

/** A record whose value has this many bytes, in memory of its own. */
function recordOf(lengthBytes: number): StoredRecord {
  const overhead = encodeRecord({}).value.length
  const record = encodeRecord({}, Buffer.alloc(lengthBytes - overhead, 'x'))
  assert.equal(record.value.length, lengthBytes)
  return new StoredRecord(Buffer.from(record.value))
}

/** Reads as runners do: a miss keeps the record if its key was read before. Returns whether it was a hit. */
function read(cache: RecordCache, n: number, lengthBytes = 500): boolean {
  const key = encodeKey(n)
  if (cache.get(keyName(key)) !== undefined) return true
  if (cache.wasSeen(key)) cache.keep(keyName(key), recordOf(lengthBytes), 1)
  return false
}

/** How many of the first `count` records are cached. */
function keptCount(cache: RecordCache, count: number): number {
  return Array.from({ length: count }, (_, n) => cache.get(nameOf(n))).filter(Boolean).length
}

describe('a cache', () => {
  test('admits a record when it is read for the second time', () => {
    const cache = new RecordCache(LIMITS)
    const reads = () => [read(cache, 1), read(cache, 1), read(cache, 1), read(cache, 1)]
    assert.deepEqual(reads(), [false, false, true, true])
    assert.equal(read(cache, 2), false, 'other keys do not count as seen')
  })

  test('gives all readers the same record, with its fields parsed once', () => {
    const cache = new RecordCache(LIMITS)
    const kept = cache.keep('a', encodeRecord({ a: 1 }, Buffer.from('bytes')), 7)
    const found = cache.get('a')
    assert(kept !== undefined && found !== undefined)
    assert.equal(found.record, kept)
    assert.equal(found.record?.fields, cache.get('a')?.record?.fields)
    assert.deepEqual([found.version, kept.fields, Buffer.from(kept.bytes).toString()], [7, { a: 1 }, 'bytes']) // prettier-ignore
  })

  test('remembers that a key is absent, with its version', () => {
    const cache = new RecordCache(LIMITS)
    assert.equal(cache.get('a'), undefined)
    assert.equal(cache.keep('a', undefined, 3), undefined)
    const found = cache.get('a')
    assert.deepEqual([found?.record, found?.version], [undefined, 3])
    assert(found !== undefined)
  })

  test('holds one record per key: the last one kept', () => {
    const cache = new RecordCache(FEW)
    for (let n = 0; n < 10; n += 1) cache.keep(nameOf(n), recordOf(500), 1)
    const last = recordOf(400)
    for (let version = 2; version < 200; version += 1) cache.keep('again', recordOf(500), version)
    cache.keep('again', last, 200)
    assert.deepEqual([cache.get('again')?.record, cache.get('again')?.version], [last, 200])
    assert.equal(keptCount(cache, 10), 10, 'it has evicted no other')
  })

  test('removes a dropped record and frees its space', () => {
    const cache = new RecordCache(FEW)
    for (let n = 0; n < 10; n += 1) cache.keep(nameOf(n), recordOf(500), 1)
    for (let n = 100; n < 300; n += 1) {
      cache.keep(nameOf(n), recordOf(500), 1)
      cache.drop(nameOf(n))
      assert.equal(cache.get(nameOf(n)), undefined)
    }
    cache.drop('never there')
    assert.equal(keptCount(cache, 10), 10)
  })

  test('keeps no large values', () => {
    const cache = new RecordCache(FEW)
    for (const [lengthBytes, isKept] of [
      [1_000, true],
      [1_001, false],
    ] as const) {
      const record = recordOf(lengthBytes)
      assert.deepEqual(cache.keep(String(lengthBytes), record, 1)?.fields, {})
      assert.equal(cache.get(String(lengthBytes)) !== undefined, isKept)
    }
  })

  test('evicts records to stay within its limit, and no more than that', () => {
    const cache = new RecordCache(FEW)
    for (let n = 0; n < 100; n += 1) cache.keep(nameOf(n), recordOf(500), 1)
    const count = keptCount(cache, 100)
    assert(count >= 24 && count <= 26, String(count))
    cache.keep('large', recordOf(1_000), 1)
    assert(keptCount(cache, 100) >= count - 3)
  })

  test('counts names and entries, so that absent keys are limited too', () => {
    const cache = new RecordCache(FEW)
    for (let n = 0; n < 1_000; n += 1) cache.keep(nameOf(n), undefined, 1)
    const count = keptCount(cache, 1_000)
    assert(count >= 60 && count <= 80, String(count))
    const long = 'x'.repeat(15_000)
    cache.keep(long, undefined, 1)
    assert(keptCount(cache, 1_000) < 25)
  })

  test('keeps no record that is larger than the cache', () => {
    const cache = new RecordCache({ bytesMax: 500, valueBytesMax: 1_000 })
    cache.keep('large', recordOf(900), 1)
    assert.equal(cache.get('large'), undefined)
    cache.keep('small', recordOf(100), 1)
    assert(cache.get('small') !== undefined)
  })

  test('a scan of many records evicts none that are in use', () => {
    const cache = new RecordCache(FEW)
    for (let again = 0; again < 2; again += 1) for (let n = 0; n < 20; n += 1) read(cache, n)
    assert.equal(keptCount(cache, 20), 20)
    for (let n = 1_000; n < 3_000; n += 1) assert.equal(read(cache, n), false)
    assert.equal(keptCount(cache, 20), 20)
  })

  test('records in use nearly always hit, whatever else is read twice', () => {
    const cache = new RecordCache(FEW)
    let misses = 0
    for (let n = 1_000; n < 3_000; n += 1) {
      for (let again = 0; again < 2; again += 1) read(cache, n)
      for (let hot = 0; hot < 5; hot += 1) if (!read(cache, hot)) misses += 1
    }
    // Of 10,000 reads. Evicting the oldest entries, in use or not, would give about 450.
    assert(misses < 200, String(misses))
  })

  test('a repeated scan larger than the cache still hits', () => {
    const cache = new RecordCache(FEW)
    let hits = 0
    for (let again = 0; again < 20; again += 1) {
      for (let n = 0; n < 40; n += 1) if (read(cache, n)) hits += 1
    }
    // 800 reads; under LRU none of them would hit.
    assert(hits > 100, String(hits))
  })

  test('hits nearly all of a thousand records that are read in rotation', () => {
    const cache = new RecordCache({ bytesMax: 1 << 20, valueBytesMax: 1_000 })
    const pass = () => Array.from({ length: 1_000 }, (_, n) => read(cache, n ** 4, 100)).filter(Boolean).length // prettier-ignore
    for (let again = 0; again < 2; again += 1) pass()
    const hits = pass()
    assert(hits > 950, String(hits))
  })

  for (const seed of [1, 2, 3]) {
    test(`never holds anything but the last record kept (seed ${seed})`, () => {
      const random = randomFrom(seed)
      const cache = new RecordCache(FEW)
      const model = new Map<string, StoredRecord | undefined>()
      let hits = 0
      for (let step = 0; step < 5_000; step += 1) {
        const name = nameOf(random.below(60))
        if (random.below(4) === 0) {
          cache.drop(name)
          model.delete(name)
        } else if (random.below(2) === 0) {
          const record = recordOf(100 + random.below(600))
          const kept = cache.keep(name, record, step)
          assert.deepEqual(kept?.value, record.value)
          model.set(name, kept)
        }
        const found = cache.get(name)
        if (found !== undefined) assert.equal(found.record, model.get(name))
        if (found !== undefined) hits += 1
      }
      assert(hits > 1_000)
    })
  }
})

describe('the memory of cached records', () => {
  test('a cached record keeps no pool of buffers alive, however small it is', () => {
    const cache = new RecordCache(LIMITS)
    for (const lengthBytes of [40, 500, 3_000]) {
      const pool = Buffer.alloc(1 << 16)
      const { value } = recordOf(lengthBytes)
      pool.set(value)
      const kept = cache.keep('a', new StoredRecord(pool.subarray(0, value.length)), 1)
      assert(kept !== undefined && kept.value.buffer.byteLength <= Math.max(4_096, lengthBytes))
      assert.deepEqual(Buffer.from(kept.value), Buffer.from(value))
    }
  })

  test('is their own: large values are copied out of a larger buffer', () => {
    const cache = new RecordCache(LIMITS)
    const pool = Buffer.alloc(1 << 16)
    const { value } = encodeRecord({ a: 1 }, Buffer.alloc(2_000, 'x'))
    pool.set(value)
    const record = new StoredRecord(pool.subarray(0, value.length))
    const { fields } = record
    const kept = cache.keep('a', record, 1)
    assert.equal(cache.get('a')?.record, kept)
    assert.equal(kept?.value.buffer.byteLength, value.length)
    assert.deepEqual(Buffer.from(kept.value), Buffer.from(value))
    assert.equal(kept.fields, fields, 'parsed fields are kept')
  })

  test('holds only the fields of a record that was read without its bytes', () => {
    const cache = new RecordCache(LIMITS)
    const { value } = encodeRecord({ a: 1 })
    const kept = cache.keep('a', new StoredRecord(value, undefined, false), 1)
    assert.deepEqual([kept?.fields, kept?.isWhole, kept?.value.length], [{ a: 1 }, false, 0])
  })

  test('a damaged record is kept as it is', () => {
    const cache = new RecordCache(LIMITS)
    const damaged = Buffer.from([1, 0, 0, 0, 0x7b])
    for (const isWhole of [true, false]) {
      cache.keep('damaged', new StoredRecord(damaged, undefined, isWhole), 1)
      const found = cache.get('damaged')?.record
      assert.deepEqual(Buffer.from(found?.value ?? []), damaged)
      assert.throws(() => found?.fields, SyntaxError)
    }
  })
})

describe('a record that was just written', () => {
  test('is kept whole when it is small', () => {
    const cache = new RecordCache(LIMITS)
    const record = encodeSharedRecord({ a: 1 }, Buffer.alloc(900))
    cache.keepWritten('a', record, 5)
    const found = cache.get('a')
    assert.deepEqual(Buffer.from(found?.record?.value ?? []), Buffer.from(record.value))
    assert.deepEqual([found?.record?.fields, found?.version], [{ a: 1 }, 5])
  })

  test('is kept without its bytes when it is large', () => {
    const cache = new RecordCache(LIMITS)
    const fields = { a: 1 }
    cache.keepWritten('a', encodeSharedRecord(fields, Buffer.alloc(100_000)), 5)
    const found = cache.get('a')?.record
    assert(found !== undefined && !found.isWhole)
    assert.equal(found.fields, fields)
    assert.equal(found.value.length, 0)
    assert.throws(() => found.bytes, /without its bytes/)
  })

  test('counts its fields', () => {
    const cache = new RecordCache({ bytesMax: 100_000, valueBytesMax: 4_000 })
    const write = (n: number, lengthBytes: number) =>
      cache.keepWritten(nameOf(n), encodeSharedRecord({ text: 'x'.repeat(lengthBytes) }), 1)
    write(0, 5_000)
    assert.equal(cache.get(nameOf(0)), undefined, 'no large fields')
    for (let n = 0; n < 500; n += 1) write(n, 2_000)
    const count = keptCount(cache, 500)
    assert(count >= 40 && count <= 50, String(count))
  })
})

describe('values derived from a record', () => {
  test('are kept once the record has hit twice', () => {
    const cache = new RecordCache(LIMITS)
    const record = encodeRecord({ a: 1 })
    const kept = cache.keep('a', record, 1)
    assert(kept !== undefined)
    const make = () => ({})
    const isKept = (owner: object) => derived(owner, 'k', make) === derived(owner, 'k', make)
    assert.equal(isKept(kept), false)
    assert.equal(isKept(cache.get('a')?.record ?? {}), false)
    const found = cache.get('a')?.record
    assert(found !== undefined)
    assert.equal(isKept(found), true)
    const { fields } = found
    assert(typeof fields === 'object' && fields !== null)
    assert.equal(isKept(fields), true)
  })
})

describe('without a cache', () => {
  afterEach(() => setDefaultCacheLimits({ bytesMax: 32 * 2 ** 20, valueBytesMax: 16 * 2 ** 10 }))

  test('no record is kept', () => {
    setDefaultCacheLimits(NO_CACHE)
    for (const cache of [new RecordCache(NO_CACHE), new RecordCache()]) {
      const record = encodeSharedRecord({ a: 1 })
      assert.deepEqual([cache.wasSeen(encodeKey(1)), cache.wasSeen(encodeKey(1))], [false, false])
      assert.equal(cache.keep('a', record, 1), record)
      assert.equal(cache.keep('b', undefined, 1), undefined)
      cache.keepWritten('c', record, 1)
      for (const name of ['a', 'b', 'c']) assert.equal(cache.get(name), undefined)
    }
  })
})
