import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { checkStore } from '../extent/fsck.ts'
import { addReferences } from '../extent/reference.ts'
import { wholeSlice } from '../extent/slice-list.ts'
import { encodeKey } from '../kv/key.ts'
import { StoreInUse } from '../kv/owner.ts'
import { encodeRecord } from '../kv/record.ts'
import { openStore, type Store } from './store.ts'

async function* source(lengthBytes: number) {
  yield Buffer.alloc(lengthBytes, 'x')
}

async function putContent(store: Store, name: string): Promise<void> {
  const slice = await store.extents.write(source(100_000), 100_000, [])
  const content = { id: store.newId(), pieces: [wholeSlice(slice)] }
  const key = encodeKey('test', name)
  await store.kv.write(function* (tx) {
    yield* addReferences(tx, key, content)
    tx.put(key, encodeRecord({ content }))
  })
}

test('a worker process shares the store of its owner, and takes nothing from it', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'lazuli-store-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const owner = await openStore({ folder, pid: 1, workers: true }, Date.now)
  await putContent(owner, 'before')
  await assert.rejects(openStore({ folder, pid: 2 }, Date.now), StoreInUse)
  const token = owner.ownerToken ?? ''
  const worker = await openStore({ folder, pid: 3, ownerToken: token }, Date.now)
  await Promise.all([putContent(owner, 'owner'), putContent(worker, 'worker')])
  await worker.sweep({ graceMs: 0 })
  await putContent(owner, 'after the sweep')
  await worker.close()
  const check = await checkStore(owner.kv, owner.extents)
  await owner.close()
  assert.deepEqual([check.contentCount, check.problems], [4, []])
})
