// Snapshots compared with a model that makes a full copy for each: after any sequence of writes and deletes, a snapshot
// shows the same as its copy, also after other snapshots were deleted and their states swept.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { randomFrom } from '../../../../test/random.ts'
import { encodeKey } from '../../../kv/key.ts'
import { prefixRange, type Kv, type Tx } from '../../../kv/kv.ts'
import { openMemoryKv } from '../../../kv/memory-kv.ts'
import { decodeRecord } from '../../../kv/record.ts'
import { scanAll } from '../../../kv/scan.ts'
import { deleteVersioned, isInSnapshot, readVersioned, saveVersioned } from './snapshot-view.ts'
import type { VersionedRecord, VersionedKeys, ShareView } from './snapshot-view.ts'

type Thing = VersionedRecord & { readonly text: string }

const keysOf = (name: string): VersionedKeys => ({
  key: encodeKey('thing', name),
  pastKey: (snapshot) => encodeKey('past', name, snapshot),
  pastFrom: (snapshot) => ({
    from: encodeKey('past', name, snapshot),
    to: prefixRange(encodeKey('past', name)).to,
  }),
})

function read(kv: Kv, name: string, lastSnapshot: number, snapshot?: number) {
  const view = { shareId: 1, lastSnapshot, ...(snapshot !== undefined && { snapshot }) }
  return kv.read((tx) => readVersioned<Thing>(tx, keysOf(name), view))
}

function change(kv: Kv, name: string, lastSnapshot: number, text: string | undefined) {
  const view: ShareView = { shareId: 1, lastSnapshot }
  return kv.write(function* (tx: Tx) {
    const before = yield* readVersioned<Thing>(tx, keysOf(name), view)
    if (text !== undefined)
      saveVersioned<Thing>(tx, keysOf(name), view, before, { text, since: view.lastSnapshot })
    else if (before !== undefined) deleteVersioned<Thing>(tx, keysOf(name), view, before)
  })
}

async function pastCount(kv: Kv): Promise<number> {
  return kv.read(function* (tx) {
    return (yield* scanAll(tx, prefixRange(encodeKey('past')), 100)).length
  })
}

/** A state written after snapshot `since` and preserved under `until` is shown by the snapshots in (since, until]. */
function sweep(kv: Kv, names: readonly string[], remaining: readonly number[]) {
  return kv.write(function* (tx) {
    for (const name of names) {
      for (const until of Array.from({ length: 100 }, (_, n) => n + 1)) {
        const value = yield* tx.get(keysOf(name).pastKey(until))
        if (value === undefined) continue
        const { since } = decodeRecord<Thing>(value)
        if (!remaining.some((each) => since < each && each <= until)) {
          tx.delete(keysOf(name).pastKey(until))
        }
      }
    }
  })
}

describe('one record', () => {
  test('a snapshot costs nothing until the record changes, then one preserved state', async () => {
    const kv = openMemoryKv()
    await change(kv, 'a', 0, 'first')
    assert.equal(await pastCount(kv), 0)
    await change(kv, 'a', 7, 'second')
    await change(kv, 'a', 7, 'third')
    assert.equal(await pastCount(kv), 1)
    assert.equal((await read(kv, 'a', 7, 7))?.text, 'first')
    assert.equal((await read(kv, 'a', 7))?.text, 'third')
  })

  test('all snapshots taken during a state share one preserved copy of it', async () => {
    const kv = openMemoryKv()
    await change(kv, 'a', 0, 'first')
    await change(kv, 'a', 9, 'second')
    assert.equal(await pastCount(kv), 1)
    for (const snapshot of [3, 5, 9]) {
      assert.equal((await read(kv, 'a', 9, snapshot))?.text, 'first')
    }
  })

  test('a record created after a snapshot is not in it', async () => {
    const kv = openMemoryKv()
    await change(kv, 'a', 4, 'new')
    assert.equal(await read(kv, 'a', 4, 4), undefined)
    assert.equal((await read(kv, 'a', 5, 5))?.text, 'new')
  })

  test('a record deleted after a snapshot is still in it; recreated, it is a new record', async () => {
    const kv = openMemoryKv()
    await change(kv, 'a', 0, 'first')
    await change(kv, 'a', 4, undefined)
    await change(kv, 'a', 6, 'second')
    assert.equal((await read(kv, 'a', 6, 4))?.text, 'first')
    assert.equal(await read(kv, 'a', 6, 5), undefined)
    assert.equal(await read(kv, 'a', 6, 6), undefined)
    assert.equal((await read(kv, 'a', 6))?.text, 'second')
  })

  test('the current state is in a snapshot only if that was taken after it', () => {
    assert.equal(isInSnapshot({ since: 3 }, { shareId: 1, lastSnapshot: 3 }), false)
    assert.equal(isInSnapshot({ since: 3 }, { shareId: 1, lastSnapshot: 4 }), true)
  })
})

const NAMES = ['a', 'b', 'c', 'd']

async function runAgainstCopies(seed: number): Promise<void> {
  const random = randomFrom(seed)
  const kv = openMemoryKv()
  let present = new Map<string, string>()
  const copies = new Map<number, Map<string, string>>()
  let taken = 0
  let last = 0
  for (let step = 0; step < 80; step += 1) {
    const name = random.pick(NAMES)
    const which = random.below(10)
    if (which < 5) {
      await change(kv, name, last, `${step}`)
      present = new Map(present).set(name, `${step}`)
    } else if (which < 7) {
      await change(kv, name, last, undefined)
      present = new Map([...present].filter(([each]) => each !== name))
    } else if (which < 9) {
      copies.set((taken += 1), present)
      last = taken
    } else {
      const deleted = [...copies.keys()][random.below(copies.size)]
      if (deleted !== undefined) copies.delete(deleted)
      // The newest that is left. Numbers are never reused.
      last = Math.max(0, ...copies.keys())
      await sweep(kv, NAMES, [...copies.keys()])
    }
    for (const each of NAMES) {
      assert.equal((await read(kv, each, last))?.text, present.get(each), `seed ${seed}, present`)
      for (const [snapshot, copy] of copies) {
        const text = (await read(kv, each, last, snapshot))?.text
        assert.equal(text, copy.get(each), `seed ${seed}, step ${step}, snapshot ${snapshot}`)
      }
    }
  }
  await sweep(kv, NAMES, [])
  assert.equal(await pastCount(kv), 0)
}

test('snapshots match full copies under random writes, deletes and snapshot deletions', async () => {
  for (let seed = 1; seed <= 40; seed += 1) await runAgainstCopies(seed)
})
