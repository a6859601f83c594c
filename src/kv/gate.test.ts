import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Gate, gated } from './gate.ts'
import { encodeKey } from './key.ts'
import type { Step, Tx } from './kv.ts'
import { openMemoryKv } from './memory-kv.ts'
import { encodeRecord } from './record.ts'

const KEY = encodeKey('a')

function* put(tx: Tx, at: number): Step<void> {
  tx.put(KEY, encodeRecord({ at }))
}

test('while a gate is closed, writes wait and reads go on', async (t) => {
  const behind = openMemoryKv()
  t.after(() => behind.close())
  const gate = new Gate()
  const kv = gated(behind, gate)
  await kv.write((tx) => put(tx, 1))
  gate.close()
  const writing = kv.write((tx) => put(tx, 2))
  assert.deepEqual(await kv.read((tx) => tx.getFields(KEY)), { at: 1 })
  await behind.write((tx) => put(tx, 3))
  assert.deepEqual(await kv.read((tx) => tx.getFields(KEY)), { at: 3 })
  gate.open()
  await writing
  assert.deepEqual(await kv.read((tx) => tx.getFields(KEY)), { at: 2 })
})

test('a gate that refuses fails reads and writes; what waited already goes on waiting', async (t) => {
  const behind = openMemoryKv()
  t.after(() => behind.close())
  const gate = new Gate()
  const kv = gated(behind, gate)
  gate.close()
  const waiting = kv.write((tx) => put(tx, 1))
  waiting.catch(() => undefined)
  gate.close(() => new Error('busy'))
  await assert.rejects(
    kv.write((tx) => put(tx, 2)),
    /busy/,
  )
  await assert.rejects(
    kv.read((tx) => tx.get(KEY)),
    /busy/,
  )
  gate.open()
  await waiting
  assert.deepEqual(await kv.read((tx) => tx.getFields(KEY)), { at: 1 })
})
