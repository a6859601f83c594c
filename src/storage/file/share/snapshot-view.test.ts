// Snapshots against a model that makes a full copy for each: whatever is written and deleted in whatever order,
// a snapshot shows what its copy has, also when others have gone and their states have been swept.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { randomFrom } from '../../../../test/random.ts'
import { encodeKey } from '../../../kv/key.ts'
import { prefixRange, type Kv, type Tx } from '../../../kv/kv.ts'
import { openMemoryKv } from '../../../kv/memory-kv.ts'
import { decodeRecord } from '../../../kv/record.ts'
import { scanAll } from '../../../kv/scan.ts'
import { deleteKept, isShown, readKept, saveKept } from './snapshot-view.ts'
import type { Kept, KeptPlace, ShareView } from './snapshot-view.ts'

type Thing = Kept & { readonly text: string }

const place = (name: string): KeptPlace => ({
  key: encodeKey('thing', name),
  pastKey: (snapshot) => encodeKey('past', name, snapshot),
  pastFrom: (snapshot) => ({
    from: encodeKey('past', name, snapshot),
    to: prefixRange(encodeKey('past', name)).to,
  }),
})

function read(kv: Kv, name: string, lastSnapshot: number, snapshot?: number) {
  const view = { shareId: 1, lastSnapshot, ...(snapshot !== undefined && { snapshot }) }
  return kv.read((tx) => readKept<Thing>(tx, place(name), view))
}

function change(kv: Kv, name: string, lastSnapshot: number, text: string | undefined) {
  const view: ShareView = { shareId: 1, lastSnapshot }
  return kv.write(function* (tx: Tx) {
    const before = yield* readKept<Thing>(tx, place(name), view)
    if (text !== undefined)
      saveKept<Thing>(tx, place(name), view, before, { text, since: view.lastSnapshot })
    else if (before !== undefined) deleteKept<Thing>(tx, place(name), view, before)
  })
}

async function pastCount(kv: Kv): Promise<number> {
  return kv.read(function* (tx) {
    return (yield* scanAll(tx, prefixRange(encodeKey('past')), 100)).length
  })
}

/** A state kept under `kept` that began at `since` is shown by the snapshots in (since, kept]. */
function sweep(kv: Kv, names: readonly string[], remaining: readonly number[]) {
  return kv.write(function* (tx) {
    for (const name of names) {
      for (const kept of Array.from({ length: 100 }, (_, n) => n + 1)) {
        const value = yield* tx.get(place(name).pastKey(kept))
        if (value === undefined) continue
        const { since } = decodeRecord<Thing>(value)
        if (!remaining.some((each) => since < each && each <= kept)) {
          tx.delete(place(name).pastKey(kept))
        }
      }
    }
  })
}

describe('one record', () => {
  test('a snapshot costs nothing until the record changes, and then one state', async () => {
    const kv = openMemoryKv()
    await change(kv, 'a', 0, 'first')
    assert.equal(await pastCount(kv), 0)
    await change(kv, 'a', 7, 'second')
    await change(kv, 'a', 7, 'third')
    assert.equal(await pastCount(kv), 1)
    assert.equal((await read(kv, 'a', 7, 7))?.text, 'first')
    assert.equal((await read(kv, 'a', 7))?.text, 'third')
  })

  test('one state serves every snapshot that was taken while it lasted', async () => {
    const kv = openMemoryKv()
    await change(kv, 'a', 0, 'first')
    await change(kv, 'a', 9, 'second')
    assert.equal(await pastCount(kv), 1)
    for (const snapshot of [3, 5, 9]) {
      assert.equal((await read(kv, 'a', 9, snapshot))?.text, 'first')
    }
  })

  test('what came after a snapshot is not in it', async () => {
    const kv = openMemoryKv()
    await change(kv, 'a', 4, 'new')
    assert.equal(await read(kv, 'a', 4, 4), undefined)
    assert.equal((await read(kv, 'a', 5, 5))?.text, 'new')
  })

  test('what was deleted is still in it, and made again is another', async () => {
    const kv = openMemoryKv()
    await change(kv, 'a', 0, 'first')
    await change(kv, 'a', 4, undefined)
    await change(kv, 'a', 6, 'second')
    assert.equal((await read(kv, 'a', 6, 4))?.text, 'first')
    assert.equal(await read(kv, 'a', 6, 5), undefined)
    assert.equal(await read(kv, 'a', 6, 6), undefined)
    assert.equal((await read(kv, 'a', 6))?.text, 'second')
  })

  test('whether the present state is shown', () => {
    assert.equal(isShown({ since: 3 }, { shareId: 1, lastSnapshot: 3 }), false)
    assert.equal(isShown({ since: 3 }, { shareId: 1, lastSnapshot: 4 }), true)
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
      const gone = [...copies.keys()][random.below(copies.size)]
      if (gone !== undefined) copies.delete(gone)
      // The last that is left; the next one has a number that none had before.
      last = Math.max(0, ...copies.keys())
      await sweep(kv, NAMES, [...copies.keys()])
    }
    for (const each of NAMES) {
      assert.equal((await read(kv, each, last))?.text, present.get(each), `seed ${seed}, present`)
      for (const [snapshot, copy] of copies) {
        const seen = (await read(kv, each, last, snapshot))?.text
        assert.equal(seen, copy.get(each), `seed ${seed}, step ${step}, snapshot ${snapshot}`)
      }
    }
  }
  await sweep(kv, NAMES, [])
  assert.equal(await pastCount(kv), 0)
}

test('random writes, deletions, snapshots and deleted snapshots, against full copies', async () => {
  for (let seed = 1; seed <= 40; seed += 1) await runAgainstCopies(seed)
})
