import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { freeBuffer } from './free-buffer.ts'

const BYTES = 64 * 1_024

describe('freeBuffer', () => {
  test('frees a buffer that nobody shares', () => {
    const chunk = Buffer.allocUnsafeSlow(BYTES)
    freeBuffer(chunk)
    // Node 20 has no ArrayBuffer.prototype.transfer.
    const isFreed = 'transfer' in ArrayBuffer.prototype
    assert.equal(chunk.length, isFreed ? 0 : BYTES)
    freeBuffer(chunk)
  })

  test('leaves memory alone that other views may share', () => {
    const whole = Buffer.allocUnsafeSlow(BYTES)
    for (const view of [whole.subarray(1), whole.subarray(0, -1)]) freeBuffer(view)
    assert.equal(whole.length, BYTES)
    const pooled = Buffer.allocUnsafe(3_000)
    freeBuffer(pooled)
    assert.equal(pooled.length, 3_000)
  })

  test('leaves memory alone that threads share', () => {
    const shared = new Uint8Array(new SharedArrayBuffer(BYTES))
    freeBuffer(shared)
    assert.equal(shared.length, BYTES)
  })
})
