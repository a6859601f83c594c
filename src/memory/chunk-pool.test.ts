import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ChunkPool } from './chunk-pool.ts'

test('a chunk that was given back is lent again, and only once', () => {
  const pool = new ChunkPool(1_000, 10)
  const first = pool.take(1_000)
  pool.giveBack(first)
  pool.giveBack(first)
  const again = pool.take(900)
  assert.equal(again.buffer, first.buffer)
  assert.equal(again.length, 900)
  assert.notEqual(pool.take(1_000).buffer, first.buffer)
})

test('bytes of another origin are never lent', () => {
  const pool = new ChunkPool(1_000, 10)
  const foreign = Buffer.allocUnsafeSlow(1_000)
  pool.giveBack(foreign)
  assert.notEqual(pool.take(1_000).buffer, foreign.buffer)
})

test('it keeps no more than it may', () => {
  const pool = new ChunkPool(1_000, 1)
  const [a, b] = [pool.take(1_000), pool.take(1_000)]
  pool.giveBack(a)
  pool.giveBack(b)
  assert.equal(pool.take(1_000).buffer, a.buffer)
  assert.notEqual(pool.take(1_000).buffer, b.buffer)
})
