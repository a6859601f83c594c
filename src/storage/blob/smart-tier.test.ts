import assert from 'node:assert/strict'
import { test } from 'node:test'
import { capacityTier, isAccessNoted } from './smart-tier.ts'

const DAY_MS = 24 * 60 * 60 * 1_000
const SMALL = 128 * 1_024 - 1

// length, days since the last access, capacity tier ("Working with smart tier")
const TIERS = [
  [SMALL + 1, 0, 'Hot'],
  [SMALL + 1, 29.999, 'Hot'],
  [SMALL + 1, 30, 'Cool'],
  [SMALL + 1, 89.999, 'Cool'],
  [SMALL + 1, 90, 'Cold'],
  [SMALL + 1, 10_000, 'Cold'],
  [SMALL, 0, 'Hot'],
  [SMALL, 10_000, 'Hot'],
  [0, 90, 'Hot'],
] as const

for (const [lengthBytes, days, expected] of TIERS) {
  test(`${lengthBytes} bytes, not accessed for ${days} days → ${expected}`, () => {
    assert.equal(capacityTier(lengthBytes, 1_000, 1_000 + days * DAY_MS), expected)
  })
}

test('a blob stays hot when the clock goes back', () => {
  assert.equal(capacityTier(SMALL + 1, 1_000, 0), 'Hot')
})

test('an access is recorded once a day', () => {
  assert.equal(isAccessNoted(1_000, 1_000 + DAY_MS - 1), true)
  assert.equal(isAccessNoted(1_000, 1_000 + DAY_MS), false)
})
