import assert from 'node:assert/strict'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { encodeKey } from './key.ts'
import type { Step, Tx } from './kv.ts'
import { openLmdbKv } from './lmdb.ts'

const put = (name: string, lengthBytes: number) =>
  function* (tx: Tx): Step<void> {
    tx.put(encodeKey(name), Buffer.alloc(lengthBytes, 1))
  }

for (const own of [false, true]) {
  const who = own ? 'one process' : 'many processes'
  test(`of ${who}: a disk without room refuses a write, the larger the sooner, and nothing else`, async () => {
    const disk = { freeBytes: 2 ** 30 }
    const folder = mkdtempSync(join(tmpdir(), 'lazuli-full-'))
    const kv = openLmdbKv(folder, { freeBytes: () => disk.freeBytes })
    if (own) kv.own()
    const lengthOf = (name: string) =>
      kv.read((tx) => tx.getWith(encodeKey(name), (value) => value.length))
    await kv.write(put('before', 10))
    disk.freeBytes = 1_100_000
    await assert.rejects(kv.write(put('large', 100_000)), { code: 'ENOSPC' })
    await kv.write(put('small', 100))
    disk.freeBytes = 1_000_000
    await assert.rejects(kv.write(put('small', 200)), { code: 'ENOSPC' })
    assert.deepEqual(
      [await lengthOf('before'), await lengthOf('large'), await lengthOf('small')],
      [10, undefined, 100],
    )
    disk.freeBytes = 2 ** 30
    await kv.write(put('large', 100_000))
    assert.equal(await lengthOf('large'), 100_000)
    await kv.close()
  })
}

test('of a disk with ample room it is not asked before every commit', async () => {
  const asked: number[] = []
  let now = 0
  const freeBytes = () => {
    asked.push(now)
    return 2 ** 40
  }
  const folder = mkdtempSync(join(tmpdir(), 'lazuli-ample-'))
  const kv = openLmdbKv(folder, { freeBytes, nowMs: () => now })
  for (; now < 250; now += 25) await kv.write(put('a', 10))
  assert.deepEqual(asked, [0, 100, 200])
  await kv.close()
})
