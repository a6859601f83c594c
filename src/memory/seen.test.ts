import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { hashBytes, hashNumbers, SeenFilter } from './seen.ts'

describe('a seen filter', () => {
  test('reports a key as seen from the second time on', () => {
    const filter = new SeenFilter()
    const [a, b] = [hashBytes(Buffer.from('a')), hashBytes(Buffer.from('b'))]
    assert.deepEqual([filter.mark(a), filter.mark(b)], [false, false])
    assert.deepEqual([filter.mark(a), filter.mark(b)], [true, true])
  })

  test('forgets a key when another takes its slot', () => {
    const filter = new SeenFilter(1)
    assert.deepEqual([filter.mark(1), filter.mark(2), filter.mark(1)], [false, false, false])
  })
})

test('numbers that differ in any bit or place have different hashes', () => {
  const hashes = [
    hashNumbers(1, 2),
    hashNumbers(2, 1),
    hashNumbers(1, 3),
    hashNumbers(1, 2 + 2 ** 32),
    hashNumbers(1 + 2 ** 40, 2),
  ]
  assert.equal(new Set(hashes).size, hashes.length)
})

test('offsets of chunks spread over the slots', () => {
  const slots = new Set<number>()
  for (let i = 0; i < 1_000; i += 1) slots.add(hashNumbers(7, i * 512 * 1_024) & 0xffff)
  assert(slots.size > 950, `${slots.size} slots`)
})
