import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { formatHttpDate, parseHttpDate } from './date.ts'

const TIME_MS = Date.UTC(1994, 10, 6, 8, 49, 37)

const DATES = [
  ['Sun, 06 Nov 1994 08:49:37 GMT', TIME_MS],
  ['Sun, 6 Nov 1994 08:49:37 GMT', TIME_MS],
  ['06 Nov 1994 08:49:37 UTC', TIME_MS],
  ['Sun, 06 Nov 1994 09:49:37 +0100', TIME_MS],
  ['Sunday, 06-Nov-94 08:49:37 GMT', TIME_MS],
  ['Sun Nov  6 08:49:37 1994', TIME_MS],
  ['1994-11-06T08:49:37Z', TIME_MS],
  ['1994-11-06T08:49:37.5000000Z', TIME_MS + 500],
  ['', undefined],
  ['now', undefined],
  ['1994', undefined],
  ['Sun, 31 Jun 1994 08:49:37 GMT', undefined],
  ['Sun, 06 Nob 1994 08:49:37 GMT', undefined],
  ['Sun, 06 Nov 1994 24:49:37 GMT', undefined],
  ['Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT', undefined],
  ['1994-13-06T08:49:37Z', undefined],
] as const

for (const [text, timeMs] of DATES) {
  test(`${JSON.stringify(text)} is ${timeMs ?? 'not a date'}`, () => {
    assert.equal(parseHttpDate(text), timeMs)
  })
}

test('a date is formatted to the second, whether cached or not', () => {
  assert.equal(formatHttpDate(TIME_MS + 999), 'Sun, 06 Nov 1994 08:49:37 GMT')
  assert.equal(formatHttpDate(TIME_MS), 'Sun, 06 Nov 1994 08:49:37 GMT')
  assert.equal(formatHttpDate(TIME_MS + 256_000), 'Sun, 06 Nov 1994 08:53:53 GMT')
  assert.equal(formatHttpDate(-1), 'Wed, 31 Dec 1969 23:59:59 GMT')
})

test('any formatted date parses back, and any text is a date or undefined', () => {
  const time = fc.integer({ min: 0, max: Date.UTC(9999, 11, 31) })
  fc.assert(
    fc.property(time, (timeMs) => {
      assert.equal(parseHttpDate(formatHttpDate(timeMs)), Math.floor(timeMs / 1000) * 1000)
    }),
  )
  fc.assert(fc.property(fc.string(), (text) => void parseHttpDate(text)))
})
