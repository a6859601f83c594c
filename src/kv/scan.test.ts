import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeKey } from './key.ts'
import { prefixRange } from './kv.ts'
import { openMemoryKv } from './memory-kv.ts'
import { decodeRecord, encodeRecord } from './record.ts'
import { scanAll } from './scan.ts'

for (const [entryCount, countAtOnce] of [
  [0, 3],
  [2, 3],
  [3, 3],
  [7, 3],
  [9, 1],
] as const) {
  test(`scanAll returns each of ${entryCount} entries once and in order, ${countAtOnce} at a time`, async () => {
    const kv = openMemoryKv()
    const numbers = Array.from({ length: entryCount }, (_, n) => n)
    await kv.write(function* (tx) {
      for (const n of numbers) tx.put(encodeKey('in', n), encodeRecord({ n }))
      tx.put(encodeKey('io'), encodeRecord({ n: 255 }))
    })
    const range = prefixRange(encodeKey('in'))
    const entries = await kv.read((tx) => scanAll(tx, range, countAtOnce))
    assert.deepEqual(
      entries.map(({ value }) => decodeRecord<{ n: number }>(value).n),
      numbers,
    )
    await kv.close()
  })
}
