import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMemoryBudget } from './memory-budget.ts'

test('who holds the most has to go, and only when all hold too much', () => {
  const budget = createMemoryBudget<string>(100)
  assert.equal(budget.set('a', 40), undefined)
  assert.equal(budget.set('b', 30), undefined)
  assert.equal(budget.set('c', 30), undefined)
  assert.equal(budget.set('c', 31), 'a')
  assert.equal(budget.set('d', 39), undefined)
  assert.equal(budget.set('d', 40), 'd', 'also the one that asks')
})

test('what is given back counts no more', () => {
  const budget = createMemoryBudget<string>(100)
  budget.set('a', 100)
  budget.set('a', 10)
  assert.equal(budget.set('b', 90), undefined)
  budget.set('b', 0)
  assert.equal(budget.set('c', 90), undefined)
})
