import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runInNewContext } from 'node:vm'
import type { Duration, Time } from './api.ts'
import { ControlError } from './control-error.ts'
import { decodeDuration, decodeTime } from './time.ts'

const DURATIONS: readonly (readonly [Duration, number])[] = [
  [0, 0],
  [60_000, 60_000],
  ['PT60S', 60_000],
  ['PT0.001S', 1],
  ['PT1.100S', 1_100],
  ['PT0.1H', 360_000],
  ['PT0,5M', 30_000],
  ['P1D', 86_400_000],
  ['P0.5D', 43_200_000],
  ['P2W', 1_209_600_000],
  ['P1DT2H3M4.5S', 86_400_000 + 7_200_000 + 180_000 + 4_500],
]
for (const [duration, ms] of DURATIONS) {
  test(`${duration} is ${ms} ms`, () => assert.equal(decodeDuration(duration, 'advance'), ms))
}

const REFUSED: readonly (readonly [Duration, RegExp])[] = [
  [-1, /not negative/],
  [0.5, /whole milliseconds/],
  [Number.NaN, /whole milliseconds/],
  [Infinity, /whole milliseconds/],
  ['PT0.0001S', /whole milliseconds/],
  ['P1Y', /years or months/],
  ['P1M', /years or months/],
  ['P1Y2DT3H', /years or months/],
  ['', /PT60S/],
  ['P', /PT60S/],
  ['PT', /PT60S/],
  ['P1DT', /PT60S/],
  ['PT1.5H30M', /PT60S/],
  ['60', /PT60S/],
  ['-PT1S', /PT60S/],
  ['PT1S ', /PT60S/],
  ['PT999999999999999H', /whole milliseconds/],
]
for (const [duration, message] of REFUSED) {
  test(`the duration "${duration}" is refused`, () => {
    assert.throws(
      () => decodeDuration(duration, 'advance'),
      (error) => error instanceof ControlError && message.test(error.message),
    )
  })
}

const TIMES: readonly (readonly [Time, number])[] = [
  [Date.UTC(2027, 0, 1), Date.UTC(2027, 0, 1)],
  [new Date(Date.UTC(2027, 0, 1)), Date.UTC(2027, 0, 1)],
  ['2027-01-01', Date.UTC(2027, 0, 1)],
  ['2027-01-01T00:00:00Z', Date.UTC(2027, 0, 1)],
  ['2027-01-01T01:30:00+01:30', Date.UTC(2027, 0, 1)],
  ['2027-01-01T00:00:00.1234567Z', Date.UTC(2027, 0, 1, 0, 0, 0, 123)],
]
for (const [time, ms] of TIMES) {
  test(`${String(time)} is ${ms}`, () => assert.equal(decodeTime(time, 'set'), ms))
}

for (const time of [
  'tomorrow',
  '2027-01-01T00:00:00',
  '2027-13-01',
  '1999-12-31',
  '2200-01-02',
  new Date(Number.NaN),
  1.5,
] as const) {
  test(`the time ${String(time)} is refused`, () => {
    assert.throws(() => decodeTime(time, 'set'), ControlError)
  })
}

test('a Date of another context counts as one', () => {
  const date = runInNewContext(`new Date(${Date.UTC(2027, 0, 1)})`) as Date
  assert(!(date instanceof Date))
  assert.equal(decodeTime(date, 'set'), Date.UTC(2027, 0, 1))
})
