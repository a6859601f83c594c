// The window of message ids: each granted id may be used once, in any order.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCreditWindow } from './credit.ts'

test('a new window has one id', () => {
  const window = createCreditWindow()
  assert(!window.use(1n, 1))
  assert(!window.use(0n, 2))
  assert(window.use(0n, 1))
  assert(!window.use(0n, 1))
})

test('newly granted ids follow the earlier ones', () => {
  const window = createCreditWindow()
  assert(window.use(0n, 1))
  assert.equal(window.grant(3), 3)
  assert(!window.use(4n, 1))
  for (const id of [3n, 1n, 2n]) assert(window.use(id, 1), String(id))
  for (const id of [1n, 2n, 3n]) assert(!window.use(id, 1), String(id))
})

test('an id may be used before earlier ones, but only once', () => {
  const window = createCreditWindow()
  assert(window.use(0n, 1))
  window.grant(10)
  assert(window.use(3n, 2))
  for (const [id, charge] of [[3n, 1], [4n, 1], [2n, 2]] as const) assert(!window.use(id, charge)) // prettier-ignore
  assert(window.use(2n, 1))
})

test('a charge uses that many ids, and a charge of 0 uses one', () => {
  const window = createCreditWindow()
  assert(window.use(0n, 0))
  window.grant(10)
  assert(window.use(1n, 8))
  assert(!window.use(8n, 1))
  assert(!window.use(9n, 3))
  assert(window.use(9n, 2))
})

const REQUESTED: readonly (readonly [string, number, number])[] = [
  ['one credit to a client that requests none and would have none left', 0, 1],
  ['as many credits as requested', 100, 100],
  ['no more credits than the limit', 0xffff, 8_192],
]

for (const [what, requested, granted] of REQUESTED) {
  test(`grants ${what}`, () => {
    const window = createCreditWindow()
    assert(window.use(0n, 1))
    assert.equal(window.grant(requested), granted)
  })
}

test('a client that skips an id does not widen the window without limit', () => {
  const window = createCreditWindow()
  window.use(0n, 1)
  let next = 2n
  let left = window.grant(8_192) - 1
  for (let turn = 0; turn < 20_000 && left > 0; turn += 1) {
    assert(window.use(next++, 1))
    left += window.grant(1) - 1
  }
  assert.equal(left, 0)
  assert(next <= 8_194n)
  assert(window.use(1n, 1), 'the skipped id is still valid')
  assert(window.grant(1) === 1)
})
