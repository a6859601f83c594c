// Durations that people write.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { durationMs } from './duration.ts'

const DURATIONS = [
  [0, 0],
  [1, 1],
  ['PT0S', 0],
  ['PT60S', 60_000],
  ['PT0.25S', 250],
  ['PT1M30S', 90_000],
  ['PT2H', 7_200_000],
  ['PT1.5H', 5_400_000],
  ['P1D', 86_400_000],
  ['P0DT1H', 3_600_000],
] as const

for (const [text, expected] of DURATIONS) {
  test(`${text} is ${expected} ms`, () => assert.equal(durationMs(text, 'delay'), expected))
}

const WRONG = [
  '', 'P', 'PT', 'P1', '60', '60s', 'PT60', 'pt60s', 'P1Y', 'P1M', 'P2D', 'P1W', '-PT1S', 'PT1S ', 'PT1S1M', 'PT.5S', 1.5,
  'PT1DT1S', `PT${'1'.repeat(400)}S`, -1, 86_400_001, Number.NaN, Infinity, undefined, null, true, {}, [1],
] // prettier-ignore

for (const value of WRONG) {
  test(`${JSON.stringify(value)?.slice(0, 40) ?? 'nothing'} is refused`, () => {
    assert.throws(() => durationMs(value, 'effect.delay'), { field: 'effect.delay' })
  })
}
