// Forks of a store: what they share, what they write, and what is left when they close.
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { assertBytes } from '../../test/assert-bytes.ts'
import { addReferences, removeReferences } from '../extent/content/reference.ts'
import { wholeSlice } from '../extent/content/slice-list.ts'
import type { Content } from '../extent/content/slice.ts'
import { smallPiece } from '../extent/content/small.ts'
import { patternBytes, readAll } from '../extent/harness.ts'
import { checkStore } from '../extent/sweep/fsck.ts'
import { encodeKey } from '../kv/key.ts'
import { KEY_END, type ReadTx, type Step, type Tx } from '../kv/kv.ts'
import { scanAll } from '../kv/scan.ts'
import { encodeRecord } from '../kv/record.ts'
import { openStore, type Store, type StorePlace } from '../start/store/store.ts'
import { behindUnsaved } from '../storage/saved/saved-record.ts'
import { deleteState, getState, saveState } from '../storage/saved/saved-state.ts'
import { forkStore } from './fork.ts'
import { snapshotApi } from './snapshots.ts'

const clock = () => 1_000
const MIB = 1_048_576
const SMALL = patternBytes(1, 3_000)

type Bodies = Readonly<Record<string, Uint8Array>>

async function open(t: TestContext, place: StorePlace): Promise<Store> {
  const store = await openStore(place, clock)
  t.after(() => store.close())
  return store
}

async function onDisk(t: TestContext): Promise<StorePlace> {
  const folder = await mkdtemp(join(tmpdir(), 'lazuli-fork-'))
  t.after(() => rm(folder, { recursive: true }))
  return { folder, pid: process.pid }
}

async function fork(t: TestContext, from: Store, name: string): Promise<Store> {
  const state = await from.kv.read((tx) => getState(tx, name))
  assert(state !== undefined)
  return open(t, { forked: await forkStore(from, state) })
}

async function* once(bytes: Uint8Array) {
  yield bytes
}

function ownerKey(name: string) {
  return encodeKey('owner-of-content', name)
}

async function put({ kv, extents, newId }: Store, name: string, bytes: Uint8Array) {
  const slice = await extents.write(once(bytes), bytes.length, [])
  const content: Content = {
    id: newId(),
    pieces: [wholeSlice(slice), smallPiece(newId(), SMALL)],
  }
  await kv.write((tx) => putOwner(tx, name, content))
}

function* putOwner(tx: Tx, name: string, content: Content): Step<void> {
  yield* removeOwner(tx, name)
  tx.put(ownerKey(name), encodeRecord({ content }))
  yield* addReferences(tx, ownerKey(name), content)
}

function* removeOwner(tx: Tx, name: string): Step<void> {
  const old = yield* getContent(tx, name)
  if (old !== undefined) yield* removeReferences(tx, old)
  tx.delete(ownerKey(name))
}

/** Another record with the same content: it refers to extents that may be shared. */
function* copyOwner(tx: Tx, name: string, to: string, id: number): Step<void> {
  const content = yield* getContent(tx, name)
  assert(content !== undefined)
  yield* putOwner(tx, to, { ...content, id })
}

function* getContent(tx: ReadTx, name: string): Step<Content | undefined> {
  return (yield* tx.getFields<{ content: Content }>(ownerKey(name)))?.content
}

async function assertHas(store: Store, bodies: Bodies): Promise<void> {
  for (const [name, bytes] of Object.entries(bodies)) {
    const content = await store.kv.read((tx) => getContent(tx, name))
    assert(content !== undefined, name)
    assertBytes(await readAll(store.extents, content.pieces), Buffer.concat([bytes, SMALL]))
  }
}

async function assertSound({ kv, extents }: Store): Promise<number> {
  const { problems, checkedBytes } = await checkStore(kv, extents)
  assert.deepEqual(problems, [])
  return checkedBytes
}

async function sweep(store: Store): Promise<void> {
  for (let count = 0; count < 4; count += 1) await store.sweep({ graceMs: 0 })
}

async function recordsOf({ kv }: Store): Promise<readonly string[]> {
  const all = { from: new Uint8Array(0), to: KEY_END }
  const entries = await kv.read((tx) => scanAll(tx, all, 1_000))
  return entries
    .filter(({ key }) => behindUnsaved(key) === undefined)
    .map(({ key, value }) => Buffer.concat([key, value.value]).toString('hex'))
}

const BODIES: Bodies = {
  large: patternBytes(2, 5 * MIB + 7),
  other: patternBytes(3, 3 * MIB),
  short: patternBytes(4, 20_000),
}

async function fill(store: Store): Promise<void> {
  for (const [name, bytes] of Object.entries(BODIES)) await put(store, name, bytes)
  await store.kv.write(function* (tx) {
    for (let at = 0; at < 600; at += 1) tx.put(encodeKey('plain', at), encodeRecord({ at }))
  })
  await saveState(store.kv, { name: 'filled', savedMs: 0, newId: store.newId })
}

async function empty(store: Store): Promise<void> {
  await store.kv.write(function* (tx) {
    for (const name of Object.keys(BODIES)) yield* removeOwner(tx, name)
    yield* deleteState(tx, 'filled')
  })
}

const PLACES = { memory: async (): Promise<StorePlace> => ({}), folder: onDisk }

for (const [kind, placeIn] of Object.entries(PLACES)) {
  test(`a fork of a store in a ${kind} has the same records and no bytes of its own`, async (t) => {
    const store = await open(t, await placeIn(t))
    await fill(store)
    const forked = await fork(t, store, 'filled')
    assert.deepEqual(await recordsOf(forked), await recordsOf(store))
    assert.deepEqual(await forked.extents.list(), [])
    assert.equal(forked.extents.sizeBytes(), 0)
    await assertHas(forked, BODIES)
    assert((await assertSound(forked)) > 8 * MIB)
  })

  test(`a fork keeps its bytes in a ${kind} while their store is emptied and swept`, async (t) => {
    const store = await open(t, await placeIn(t))
    await fill(store)
    const forked = await fork(t, store, 'filled')
    // On disk, what is left of an extent is moved to another one.
    await store.kv.write((tx) => copyOwner(tx, 'short', 'kept', store.newId()))
    await empty(store)
    await sweep(store)
    await assertHas(store, { kept: BODIES.short ?? SMALL })
    await assertHas(forked, BODIES)
    await assertSound(forked)
    await assertSound(store)
    assert(store.extents.sizeBytes() > 8 * MIB)
    await forked.close()
    await sweep(store)
    assert(store.extents.sizeBytes() < MIB)
    await assertHas(store, { kept: BODIES.short ?? SMALL })
    await assertSound(store)
  })

  test(`the sweep of a fork leaves the bytes of a store in a ${kind} alone`, async (t) => {
    const store = await open(t, await placeIn(t))
    await fill(store)
    const forked = await fork(t, store, 'filled')
    const mine = patternBytes(9, 2 * MIB)
    // Less than half of the extent on disk is still used: compaction would copy it.
    await forked.kv.write((tx) => copyOwner(tx, 'other', 'copy', forked.newId()))
    await forked.kv.write((tx) => removeOwner(tx, 'large'))
    await forked.kv.write((tx) => removeOwner(tx, 'other'))
    await put(forked, 'short', mine)
    await sweep(forked)
    assert.equal(forked.extents.sizeBytes(), mine.length)
    await assertHas(forked, { copy: BODIES.other ?? SMALL, short: mine })
    await assertSound(forked)
    await assertHas(store, BODIES)
    await assertSound(store)
    await forked.kv.write((tx) => removeOwner(tx, 'copy'))
    await forked.kv.write((tx) => removeOwner(tx, 'short'))
    await sweep(forked)
    assert.equal(forked.extents.sizeBytes(), 0)
    assert.equal(await assertSound(forked), 0)
    await assertHas(store, BODIES)
  })

  test(`a fork of a fork of a store in a ${kind} reads through both`, async (t) => {
    const store = await open(t, await placeIn(t))
    await fill(store)
    const child = await fork(t, store, 'filled')
    const mine = patternBytes(9, 2 * MIB)
    await put(child, 'short', mine)
    await saveState(child.kv, { name: 'filled', savedMs: 0, newId: child.newId })
    const grandchild = await fork(t, child, 'filled')
    await empty(child)
    await empty(store)
    await sweep(child)
    await sweep(store)
    await assertHas(grandchild, { ...BODIES, short: mine })
    await assertSound(grandchild)
    assert.equal(grandchild.extents.sizeBytes(), 0)
    await grandchild.close()
    await sweep(child)
    assert.equal(child.extents.sizeBytes(), 0)
    await child.close()
    await sweep(store)
    assert.equal(store.extents.sizeBytes(), 0)
  })
}

test('ids, stamps and extents of a fork are above those of its store', async (t) => {
  const store = await open(t, {})
  await fill(store)
  const [id, { stamp }] = [store.newId(), store.moment()]
  const forked = await fork(t, store, 'filled')
  assert(forked.newId() > id)
  assert(forked.moment().stamp > stamp)
  await put(forked, 'more', SMALL)
  const [extent = 0] = await forked.extents.list()
  assert(extent > Math.max(...(await store.extents.list())))
})

test('a fork that fails leaves nothing pinned', async (t) => {
  const store = await open(t, {})
  await fill(store)
  const state = await store.kv.read((tx) => getState(tx, 'filled'))
  assert(state !== undefined)
  class Broken extends Error {}
  let readCount = 0
  const kvBehindGate: Store['kv'] = {
    ...store.kv,
    read: async (body) => {
      readCount += 1
      if (readCount > 4) throw new Broken()
      return store.kv.read(body)
    },
  }
  await assert.rejects(forkStore({ ...store, kvBehindGate }, state), Broken)
  await empty(store)
  await sweep(store)
  assert.equal(store.extents.sizeBytes(), 0)
})

test('a store that other nodes use, too, is not forked', async (t) => {
  const store = await open(t, {})
  await fill(store)
  const { forkStore: ask } = snapshotApi({
    store,
    clock,
    isShared: true,
    betweenSweeps: (work) => work(),
    restored: async () => undefined,
  })
  await assert.rejects(
    ask('filled'),
    /Snapshots need the whole store .* not available with --store/,
  )
})
