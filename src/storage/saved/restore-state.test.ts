import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { addReferences, removeReferences } from '../../extent/content/reference.ts'
import { wholeSlice } from '../../extent/content/slice-list.ts'
import type { Content, Slice } from '../../extent/content/slice.ts'
import { smallPiece } from '../../extent/content/small.ts'
import { checkStore } from '../../extent/sweep/fsck.ts'
import { encodeKey } from '../../kv/key.ts'
import { KEY_END, withAttempt, type Step, type Tx } from '../../kv/kv.ts'
import { scanAll } from '../../kv/scan.ts'
import { decodeRecord, encodeRecord } from '../../kv/record.ts'
import { openStore, type Store } from '../../start/store/store.ts'
import type { FileKv } from '../file/open/open.ts'
import { beginRestore, finishRestore } from './restore-state.ts'
import { behindUnsaved } from './saved-record.ts'
import { deleteState, saveState, sweepSavedStates } from './saved-state.ts'

/** 200 plain records, and two with content of both kinds. */
async function fill({ kv, extents }: Store): Promise<readonly [Content, Content]> {
  const slice: Slice = await extents.write(once(Buffer.alloc(70_000, 'a')), 70_000, [])
  const first: Content = { id: 1, pieces: [wholeSlice(slice)] }
  const second: Content = { id: 2, pieces: [smallPiece(3, Buffer.from('small'))] }
  await kv.write((tx) => putAll(tx, first, second))
  // As they are read: without the bytes of the small piece.
  return [first, JSON.parse(JSON.stringify(second)) as Content]
}

async function* once(bytes: Uint8Array) {
  yield bytes
}

function* putAll(tx: Tx, first: Content, second: Content): Step<void> {
  for (let at = 0; at < 200; at += 1) tx.put(encodeKey('plain', at), encodeRecord({ at }))
  yield* putOwner(tx, 'first', first)
  yield* putOwner(tx, 'second', second)
}

function* putOwner(tx: Tx, name: string, content: Content): Step<void> {
  const key = encodeKey('owner-of-content', name)
  tx.put(key, encodeRecord({ content }))
  yield* addReferences(tx, key, content)
}

/** The owners exchange their contents, and most plain records go or change. */
function* spoil(tx: Tx, first: Content, second: Content): Step<void> {
  yield* removeReferences(tx, first)
  yield* removeReferences(tx, second)
  yield* putOwner(tx, 'second', first)
  yield* putOwner(tx, 'first', second)
  for (let at = 0; at < 150; at += 1) tx.delete(encodeKey('plain', at))
  for (let at = 150; at < 400; at += 2) tx.put(encodeKey('plain', at), encodeRecord({ new: at }))
}

async function recordsOf({ kv }: Store): Promise<readonly string[]> {
  const entries = await kv.read((tx) =>
    scanAll(tx, { from: new Uint8Array(0), to: KEY_END }, 1_000),
  )
  return entries
    .filter(({ key }) => behindUnsaved(key) === undefined)
    .map(({ key, value }) => Buffer.from(key).toString('hex') + JSON.stringify(decodeRecord(value)))
}

async function assertSound({ kv, extents }: Store): Promise<void> {
  const { problems } = await checkStore(kv, extents)
  assert.deepEqual(problems, [])
}

class Crash extends Error {}

/** Fails at the n-th write, and at all later ones. */
function crashingAt(kv: FileKv, writeCount: number): FileKv {
  let count = 0
  return withAttempt(kv, async (body) => {
    count += 1
    if (count >= writeCount) throw new Crash()
    return kv.attempt(body)
  })
}

test('a restore that was interrupted at any write is finished by another', async (t) => {
  const store = await openStore({}, () => 1_000)
  t.after(() => store.close())
  const { kv, newId } = store
  const [first, second] = await fill(store)
  const before = await recordsOf(store)
  const state = await saveState(kv, { name: 'a', savedMs: 0, newId })
  assert.equal(state.recordCount, 202)
  await assertSound(store)
  let crashCount = 0
  for (let writeCount = 1; ; writeCount += 1) {
    await kv.write((tx) => spoil(tx, first, second))
    assert.notDeepEqual(await recordsOf(store), before)
    await beginRestore(kv, state)
    const finished = finishRestore(crashingAt(kv, writeCount)).then(
      () => true,
      (error: unknown) => {
        assert(error instanceof Crash)
        return false
      },
    )
    const isFinished = await finished
    assert.equal(await finishRestore(kv), !isFinished)
    assert.deepEqual(await recordsOf(store), before)
    await assertSound(store)
    if (isFinished) break
    crashCount += 1
  }
  assert(crashCount > 8)
})

test('the next start of a store finishes a restore', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'lazuli-restore-'))
  t.after(() => rm(folder, { recursive: true }))
  const place = { folder, pid: process.pid }
  const store = await openStore(place, () => 1_000)
  const [first, second] = await fill(store)
  const before = await recordsOf(store)
  const state = await saveState(store.kv, { name: 'a', savedMs: 0, newId: store.newId })
  await store.kv.write((tx) => spoil(tx, first, second))
  await beginRestore(store.kv, state)
  await assert.rejects(finishRestore(crashingAt(store.kv, 4)), Crash)
  assert.notDeepEqual(await recordsOf(store), before)
  await store.close()
  const again = await openStore(place, () => 1_000)
  t.after(() => again.close())
  assert.deepEqual(await recordsOf(again), before)
  await assertSound(again)
})

test('a save that was interrupted leaves nothing', async (t) => {
  const store = await openStore({}, () => 1_000)
  t.after(() => store.close())
  const { kv, newId } = store
  await fill(store)
  const { recordCount } = await checkStore(kv, store.extents)
  for (const writeCount of [2, 3, 5]) {
    const saving = saveState(crashingAt(kv, writeCount), { name: 'a', savedMs: 0, newId })
    await assert.rejects(saving, Crash)
    await assertSound(store)
    await sweepSavedStates(kv)
    await assertSound(store)
    assert.equal((await checkStore(kv, store.extents)).recordCount, recordCount)
  }
})

test('the bytes of a state stay until it is deleted', async (t) => {
  const store = await openStore({}, () => 1_000)
  t.after(() => store.close())
  const { kv, newId } = store
  const [first, second] = await fill(store)
  await saveState(kv, { name: 'a', savedMs: 0, newId })
  await kv.write(function* (tx) {
    yield* removeReferences(tx, first)
    yield* removeReferences(tx, second)
    for (const name of ['first', 'second']) tx.delete(encodeKey('owner-of-content', name))
  })
  const sweep = async () => {
    for (let count = 0; count < 3; count += 1) await store.sweep({ graceMs: 0 })
    return (await checkStore(kv, store.extents)).checkedBytes
  }
  assert.equal(await sweep(), 70_005)
  await kv.write((tx) => deleteState(tx, 'a'))
  assert.equal(await sweep(), 0)
})
