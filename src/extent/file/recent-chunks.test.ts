import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { RecentChunks } from './recent-chunks.ts'

const CHUNK_BYTES = 100

function span(n: number, extent = 1) {
  return { extent, offset: n * CHUNK_BYTES, lengthBytes: CHUNK_BYTES }
}

/** Reads the chunks one after the other and answers which of them had to be fetched. */
function walk(recent: RecentChunks, chunks: readonly number[]): number[] {
  return chunks.filter((n) => {
    if (recent.find(span(n)) !== undefined) return false
    recent.keep(span(n), new Uint8Array(CHUNK_BYTES))
    return true
  })
}

describe('chunks that were read of late', () => {
  test('are kept from the second time on, the very same memory', () => {
    const recent = new RecentChunks()
    const chunk = new Uint8Array(CHUNK_BYTES)
    assert.equal(recent.keep(span(1), new Uint8Array(CHUNK_BYTES)), false)
    assert.equal(recent.find(span(1)), undefined)
    assert.equal(recent.keep(span(1), chunk), true)
    assert.equal(recent.find(span(1)), chunk)
    // Two read it at the same time: the second one's memory is used again.
    assert.equal(recent.keep(span(1), new Uint8Array(CHUNK_BYTES)), false)
    assert.equal(recent.find(span(1)), chunk)
  })

  test('are found by extent, place and length', () => {
    const recent = new RecentChunks()
    for (let i = 0; i < 2; i += 1) recent.keep(span(1), new Uint8Array(CHUNK_BYTES))
    for (const other of [span(2), span(1, 2), { ...span(1), lengthBytes: 1 }]) {
      assert.equal(recent.find(other), undefined)
    }
  })

  test('go with their extent', () => {
    const recent = new RecentChunks({ bytesMax: 2 * CHUNK_BYTES })
    for (const extent of [1, 11, 1, 11]) recent.keep(span(0, extent), new Uint8Array(CHUNK_BYTES))
    recent.drop([1])
    assert.equal(recent.find(span(0, 1)), undefined)
    assert.notEqual(recent.find(span(0, 11)), undefined)
    // And leave their room to others.
    for (let i = 0; i < 2; i += 1) recent.keep(span(5), new Uint8Array(CHUNK_BYTES))
    assert.notEqual(recent.find(span(5)), undefined)
  })

  test('of more than there is room for are the first, until others are asked for', () => {
    const recent = new RecentChunks({ bytesMax: 3 * CHUNK_BYTES })
    const long = [0, 1, 2, 3, 4]
    assert.deepEqual(walk(recent, long), long)
    assert.deepEqual(walk(recent, long), long)
    assert.deepEqual(walk(recent, long), [3, 4])
    const others = [7, 8, 9]
    for (let i = 0; i < 5; i += 1) walk(recent, others)
    assert.deepEqual(walk(recent, others), [])
  })
})
