import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { letGo } from './let-go.ts'

const BYTES = 64 * 1_024

describe('memory that is let go', () => {
  test('is gone at once, if it was all of its own', () => {
    const chunk = Buffer.allocUnsafeSlow(BYTES)
    letGo(chunk)
    // Node 20 can't.
    const isGone = 'transfer' in ArrayBuffer.prototype
    assert.equal(chunk.length, isGone ? 0 : BYTES)
    letGo(chunk)
  })

  test('stays, if others may look at a part of it', () => {
    const whole = Buffer.allocUnsafeSlow(BYTES)
    for (const view of [whole.subarray(1), whole.subarray(0, -1)]) letGo(view)
    assert.equal(whole.length, BYTES)
    const pooled = Buffer.allocUnsafe(3_000)
    letGo(pooled)
    assert.equal(pooled.length, 3_000)
  })

  test('stays, if it is shared between threads', () => {
    const shared = new Uint8Array(new SharedArrayBuffer(BYTES))
    letGo(shared)
    assert.equal(shared.length, BYTES)
  })
})
