import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ChunkCache } from './chunk-cache.ts'

const CHUNK_BYTES = 100

function span(n: number, extent = 1) {
  return { extent, offset: n * CHUNK_BYTES, lengthBytes: CHUNK_BYTES }
}

/** Reads the chunks in order and returns those that were not cached. */
function walk(cache: ChunkCache, chunks: readonly number[]): number[] {
  return chunks.filter((n) => {
    if (cache.get(span(n)) !== undefined) return false
    cache.offer(span(n), new Uint8Array(CHUNK_BYTES))
    return true
  })
}

describe('the chunk cache', () => {
  test('keeps a chunk from the second read on, without a copy', () => {
    const cache = new ChunkCache()
    const chunk = new Uint8Array(CHUNK_BYTES)
    assert.equal(cache.offer(span(1), new Uint8Array(CHUNK_BYTES)), false)
    assert.equal(cache.get(span(1)), undefined)
    assert.equal(cache.offer(span(1), chunk), true)
    assert.equal(cache.get(span(1)), chunk)
    // A second reader at the same time gets its memory back.
    assert.equal(cache.offer(span(1), new Uint8Array(CHUNK_BYTES)), false)
    assert.equal(cache.get(span(1)), chunk)
  })

  test('finds a chunk by extent, offset and length', () => {
    const cache = new ChunkCache()
    for (let i = 0; i < 2; i += 1) cache.offer(span(1), new Uint8Array(CHUNK_BYTES))
    for (const other of [span(2), span(1, 2), { ...span(1), lengthBytes: 1 }]) {
      assert.equal(cache.get(other), undefined)
    }
  })

  test('drops the chunks of a removed extent', () => {
    const cache = new ChunkCache({ bytesMax: 2 * CHUNK_BYTES })
    for (const extent of [1, 11, 1, 11]) cache.offer(span(0, extent), new Uint8Array(CHUNK_BYTES))
    cache.drop([1])
    assert.equal(cache.get(span(0, 1)), undefined)
    assert.notEqual(cache.get(span(0, 11)), undefined)
    // The room is free again.
    for (let i = 0; i < 2; i += 1) cache.offer(span(5), new Uint8Array(CHUNK_BYTES))
    assert.notEqual(cache.get(span(5)), undefined)
  })

  test('keeps the first chunks of a scan that is too long, until readers move on', () => {
    const cache = new ChunkCache({ bytesMax: 3 * CHUNK_BYTES })
    const long = [0, 1, 2, 3, 4]
    assert.deepEqual(walk(cache, long), long)
    assert.deepEqual(walk(cache, long), long)
    assert.deepEqual(walk(cache, long), [3, 4])
    const others = [7, 8, 9]
    for (let i = 0; i < 5; i += 1) walk(cache, others)
    assert.deepEqual(walk(cache, others), [])
  })
})
