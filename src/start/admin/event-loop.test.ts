// Event-loop lag is reported without flooding the log.
import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { test } from 'node:test'
import { createLagWarning, watchEventLoop } from './event-loop.ts'

// A lag, its time, and the expected warning.
const NOTES: readonly (readonly [lagMs: number, nowMs: number, said: number | undefined])[] = [
  [5, 0, undefined],
  [300, 1_000, 300],
  [400, 2_000, undefined],
  [900, 3_000, undefined],
  [10, 10_000, undefined],
  [10, 11_000, 900],
  [10, 30_000, undefined],
  [250, 31_000, 250],
]

test('a long lag is logged at once, and then at most every ten seconds', () => {
  const said: number[] = []
  const limits = { warnFromMs: 250, warnEveryMs: 10_000 }
  const warning = createLagWarning((maxMs) => said.push(maxMs), limits)
  for (const [lagMs, nowMs, expected] of NOTES) {
    warning.note(lagMs, nowMs)
    assert.equal(said.pop(), expected, `${lagMs} at ${nowMs}`)
  }
})

test('the next scrape reports a blocked event loop', () => {
  const { gauge, stop } = watchEventLoop({ warn: () => undefined })
  try {
    hold()
    const lag = gauge.read()
    assert(lag > 0)
  } finally {
    stop()
  }
})

test('a long block of the event loop is logged in the next turn', async () => {
  const said: string[] = []
  const { stop } = watchEventLoop({ warn: (message) => void said.push(message) })
  try {
    while (said.length === 0) {
      hold()
      await setImmediate()
    }
    assert.deepEqual(said, ['event loop blocked'])
  } finally {
    stop()
  }
})

function hold(): void {
  const untilMs = performance.now() + 300
  while (performance.now() < untilMs);
}
