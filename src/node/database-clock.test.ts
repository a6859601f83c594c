import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DatabaseClock } from './database-clock.ts'

function clockAt() {
  const own = { ms: 1_000 }
  return { own, clock: new DatabaseClock(() => own.ms) }
}

test('the time of an answer goes on by the node’s own clock', () => {
  const { own, clock } = clockAt()
  clock.observe(5_000_000, 1_000, 1_000)
  own.ms = 1_250
  assert.equal(clock.nowMs(), 5_000_250)
})

test('an answer that took long counts only while there is no better one', () => {
  const { own, clock } = clockAt()
  clock.observe(5_000_000, 0, 1_000)
  assert.equal(clock.nowMs(), 5_000_500)
  clock.observe(5_000_010, 1_008, 1_010)
  own.ms = 1_010
  assert.equal(clock.nowMs(), 5_000_011)
  clock.observe(5_000_100, 1_010, 1_210)
  own.ms = 1_210
  assert.equal(clock.nowMs(), 5_000_211, 'the better one stays')
})

test('an old estimate gives way, because clocks drift', () => {
  const { own, clock } = clockAt()
  clock.observe(5_000_000, 1_000, 1_002)
  own.ms = 3_601_000
  clock.observe(8_600_300, 3_600_900, 3_601_000)
  assert.equal(clock.nowMs(), 8_600_350)
})

test('a database whose clock was set is followed at once', () => {
  for (const setMs of [-3_600_000, 3_600_000]) {
    const { own, clock } = clockAt()
    clock.observe(5_000_000, 1_000, 1_000)
    own.ms = 2_000
    clock.observe(5_001_000 + setMs, 1_990, 2_000)
    assert.equal(clock.nowMs(), 5_001_005 + setMs)
  }
})

test('there is no time before the first answer', () => {
  assert.throws(() => clockAt().clock.nowMs(), /not known yet/)
})
