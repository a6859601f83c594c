import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { BufferPool, ChunkPool } from './buffer-pool.ts'

const KIB = 1024
const MIB = 1024 * KIB

describe('a buffer pool', () => {
  test('reuses a buffer for a request that fits', () => {
    const pool = new BufferPool(16 * MIB)
    const buffer = Buffer.allocUnsafeSlow(8 * MIB)
    assert.equal(pool.take(8 * MIB), undefined)
    pool.giveBack(buffer.subarray(4, 100))
    assert.equal(pool.take(8 * MIB + 1), undefined, 'too short')
    assert.equal(pool.take(MIB), undefined, 'far too long')
    assert.equal(pool.take(5 * MIB)?.buffer, buffer.buffer)
    assert.equal(pool.take(5 * MIB), undefined, 'taken already')
  })

  test('holds no more than its limit, and nothing small', () => {
    const pool = new BufferPool(2 * MIB)
    pool.giveBack(Buffer.allocUnsafeSlow(64 * KIB))
    assert.equal(pool.take(64 * KIB), undefined)
    for (const lengthBytes of [MIB, MIB, MIB]) pool.giveBack(Buffer.allocUnsafeSlow(lengthBytes))
    assert.notEqual(pool.take(MIB), undefined)
    assert.notEqual(pool.take(MIB), undefined)
    assert.equal(pool.take(MIB), undefined)
  })
})

describe('a chunk pool', () => {
  const chunkBytes = 512 * KIB

  test('lends a chunk again once it is given back, and only once', () => {
    const pool = new ChunkPool({ chunkBytes, bytesMax: 10 * chunkBytes })
    const first = pool.take(chunkBytes)
    pool.giveBack(first)
    pool.giveBack(first)
    const again = pool.take(400 * KIB)
    assert.equal(again.buffer, first.buffer)
    assert.equal(again.length, 400 * KIB)
    assert.notEqual(pool.take(chunkBytes).buffer, first.buffer)
  })

  test('ignores chunks that it did not lend, or that are disowned', () => {
    const pool = new ChunkPool({ chunkBytes, bytesMax: 10 * chunkBytes })
    const foreign = Buffer.allocUnsafeSlow(chunkBytes)
    pool.giveBack(foreign)
    assert.notEqual(pool.take(chunkBytes).buffer, foreign.buffer)
    const disowned = pool.take(chunkBytes)
    pool.disown(disowned)
    pool.giveBack(disowned)
    assert.notEqual(pool.take(chunkBytes).buffer, disowned.buffer)
  })

  test('holds no more than its limit', () => {
    const pool = new ChunkPool({ chunkBytes, bytesMax: chunkBytes })
    const [a, b] = [pool.take(chunkBytes), pool.take(chunkBytes)]
    pool.giveBack(a)
    pool.giveBack(b)
    assert.equal(pool.take(chunkBytes).buffer, a.buffer)
    assert.notEqual(pool.take(chunkBytes).buffer, b.buffer)
  })
})
