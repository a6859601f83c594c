import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openMemoryKv } from '../kv/memory-kv.ts'
import { openIds } from './id.ts'

test('no id is used twice, across blocks and restarts', async () => {
  const kv = openMemoryKv()
  const seen = new Set<number>()
  for (let start = 0; start < 3; start += 1) {
    const next = await openIds(kv, 10)
    for (let i = 0; i < 25; i += 1) {
      const id = next()
      assert(!seen.has(id))
      seen.add(id)
      await new Promise(setImmediate)
    }
  }
  assert.equal(seen.size, 75)
})
