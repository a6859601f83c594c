import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { checkStore } from '../../extent/sweep/fsck.ts'
import { addReferences } from '../../extent/content/reference.ts'
import { wholeSlice } from '../../extent/content/slice-list.ts'
import { encodeKey } from '../../kv/key.ts'
import { StoreInUse } from '../../node/owner.ts'
import { encodeRecord } from '../../kv/record.ts'
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

test('no stamp is repeated after a crash with a clock that was set back', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'lazuli-store-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const nowMs = Date.UTC(2026, 0)
  const store = await openStore({ folder, pid: 1 }, () => nowMs)
  const { stamp } = store.moment()
  await putContent(store, 'stamped')
  // As after a crash: closing does not save the floor.
  const copy = mkdtempSync(join(tmpdir(), 'lazuli-store-'))
  t.after(() => rmSync(copy, { recursive: true, force: true }))
  cpSync(join(folder, 'store'), join(copy, 'store'), { recursive: true })
  await store.close()
  const crashed = await openStore({ folder: copy, pid: 2 }, () => nowMs - 60_000)
  assert(crashed.moment().stamp > stamp)
  await crashed.close()
})

test('a second server is refused while the first owns the store', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'lazuli-store-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const store = await openStore({ folder, pid: 1 }, Date.now)
  await putContent(store, 'before')
  await assert.rejects(openStore({ folder, pid: 2 }, Date.now), StoreInUse)
  await putContent(store, 'after')
  const check = await checkStore(store.kv, store.extents)
  await store.close()
  assert.deepEqual([check.contentCount, check.problems], [2, []])
})
