import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { etagOf, parseTimestamp, timestampOf } from './etag.ts'
import { createMoments, nextStamp, STAMPS_PER_MS } from '../../node/moment.ts'

const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
const STAMP = NOW_MS * STAMPS_PER_MS

test('an ETag is 0x8D and 13 upper-case hexadecimal digits, in quotes', () => {
  assert.equal(etagOf(0), '"0x8D0000000000000"')
  assert.match(etagOf(STAMP), /^"0x8D[0-9A-F]{13}"$/)
  assert.notEqual(etagOf(STAMP), etagOf(STAMP + 1))
})

test('a snapshot id is the time, with the sequence number in the fraction', () => {
  assert.equal(timestampOf(STAMP), '2026-01-02T03:04:05.6780000Z')
  assert.equal(timestampOf(STAMP + 1023), '2026-01-02T03:04:05.6781023Z')
})

for (const text of [
  '',
  '2026-01-02T03:04:05Z',
  '2026-01-02T03:04:05.678000Z',
  '2026-01-02T03:04:05.6781024Z',
  '2026-06-31T03:04:05.6780000Z',
  '2026-13-01T03:04:05.6780000Z',
  '1969-12-31T23:59:59.9990000Z',
  '9999-12-31T23:59:59.9990000Z',
]) {
  test(`${JSON.stringify(text)} is not a snapshot id`, () => {
    assert.equal(parseTimestamp(text), undefined)
  })
}

test('ids and ETags sort like stamps, and ids convert back', () => {
  const stamp = fc.integer({ min: 0, max: 2 ** 52 - 1 })
  fc.assert(
    fc.property(stamp, stamp, (a, b) => {
      assert.equal(parseTimestamp(timestampOf(a)), a)
      assert.equal(timestampOf(a) < timestampOf(b), a < b)
      assert.equal(etagOf(a) < etagOf(b), a < b)
    }),
  )
  fc.assert(fc.property(fc.string(), (text) => void parseTimestamp(text)))
})

const CLOCKS = [
  ['advances', [5, 6, 7]],
  ['stands still', [5, 5, 5]],
  ['goes back', [5, 4, 1]],
] as const

for (const [title, times] of CLOCKS) {
  test(`stamps increase when the clock ${title}`, () => {
    const left = [...times]
    const next = createMoments(() => left.shift() ?? 0, 0)
    const moments = times.map(() => next())
    assert.deepEqual(
      moments.map((moment) => moment.nowMs),
      times,
    )
    for (const [at, moment] of moments.entries()) {
      assert(at === 0 || moment.stamp > (moments[at - 1]?.stamp ?? Infinity))
    }
  })
}

test('the first stamp is above the floor', () => {
  assert.equal(createMoments(() => 1, 9_999)().stamp, 10_000)
})

test('the stamp of a write is above that of the object, even if the clock of its last writer was ahead', () => {
  const moment = { nowMs: 1, stamp: 1024 }
  assert.equal(nextStamp(undefined, moment), 1024)
  assert.equal(nextStamp(1023, moment), 1024)
  assert.equal(nextStamp(1024, moment), 1025)
  assert.equal(nextStamp(5000, moment), 5001)
})
