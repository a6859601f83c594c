// The window of message ids: what is granted may be used once, in any order.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCreditWindow } from './credit.ts'

test('at first there is one id', () => {
  const window = createCreditWindow()
  assert(!window.use(1n, 1))
  assert(!window.use(0n, 2))
  assert(window.use(0n, 1))
  assert(!window.use(0n, 1))
})

test('what is granted comes behind what was', () => {
  const window = createCreditWindow()
  assert(window.use(0n, 1))
  assert.equal(window.grant(3), 3)
  assert(!window.use(4n, 1))
  for (const id of [3n, 1n, 2n]) assert(window.use(id, 1), String(id))
  for (const id of [1n, 2n, 3n]) assert(!window.use(id, 1), String(id))
})

test('an id ahead of others that are not used yet can be used once, too', () => {
  const window = createCreditWindow()
  assert(window.use(0n, 1))
  window.grant(10)
  assert(window.use(3n, 2))
  for (const [id, charge] of [[3n, 1], [4n, 1], [2n, 2]] as const) assert(!window.use(id, charge)) // prettier-ignore
  assert(window.use(2n, 1))
})

test('a charge of several uses as many ids, and 0 is 1', () => {
  const window = createCreditWindow()
  assert(window.use(0n, 0))
  window.grant(10)
  assert(window.use(1n, 8))
  assert(!window.use(8n, 1))
  assert(!window.use(9n, 3))
  assert(window.use(9n, 2))
})

const ASKED: readonly (readonly [string, number, number])[] = [
  ['nothing is asked for: one, or the client could never ask again', 0, 1],
  ['as much as is asked for', 100, 100],
  ['no more than there is', 0xffff, 8_192],
]

for (const [what, asked, granted] of ASKED) {
  test(`granted: ${what}`, () => {
    const window = createCreditWindow()
    assert(window.use(0n, 1))
    assert.equal(window.grant(asked), granted)
  })
}

test('a client that leaves out an id does not widen the window without end', () => {
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
  assert(window.use(1n, 1), 'the id that was left out is still there')
  assert(window.grant(1) === 1)
})
