// Memory of frames that is used again: only where it fits, and never more of it than agreed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FramePool } from './frame-pool.ts'

const MIB = 1024 * 1024

test('memory is used again where it fits', () => {
  const pool = new FramePool(16 * MIB)
  const frame = Buffer.allocUnsafeSlow(8 * MIB)
  assert.equal(pool.take(8 * MIB), undefined)
  pool.giveBack(frame.subarray(4, 100))
  assert.equal(pool.take(8 * MIB + 1), undefined, 'too small')
  assert.equal(pool.take(MIB), undefined, 'much too large')
  assert.equal(pool.take(5 * MIB)?.buffer, frame.buffer)
  assert.equal(pool.take(5 * MIB), undefined, 'lent once')
})

test('no more is kept than agreed, and nothing small', () => {
  const pool = new FramePool(2 * MIB)
  pool.giveBack(Buffer.allocUnsafeSlow(64 * 1024))
  assert.equal(pool.take(64 * 1024), undefined)
  for (const lengthBytes of [MIB, MIB, MIB]) pool.giveBack(Buffer.allocUnsafeSlow(lengthBytes))
  assert.notEqual(pool.take(MIB), undefined)
  assert.notEqual(pool.take(MIB), undefined)
  assert.equal(pool.take(MIB), undefined)
})
