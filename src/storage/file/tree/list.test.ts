// Lists of a directory: order, pages, snapshots, and the cost of a page.
import { countingReads, TxCounts } from '../../../kv/counting.ts'
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openMemoryKv } from '../../../kv/memory-kv.ts'
import { exampleNode } from '../example.ts'
import { foldName } from './file-name.ts'
import { listEntries, type ListEntries } from './list.ts'
import { deleteEntry, getDirectoryEntry, ROOT_ID, saveEntry, saveNode } from './node.ts'
import { setDeletePending, type FileEvent, type FileKv } from '../open/open.ts'
import type { ShareView } from '../share/snapshot-view.ts'

const openKv = (): FileKv => openMemoryKv<FileEvent>()
const PRESENT: ShareView = { shareId: 1, lastSnapshot: 0 }

let lastId = 0

async function add(kv: FileKv, view: ShareView, ...names: readonly string[]): Promise<void> {
  await kv.write(function* (tx) {
    for (const name of names) {
      const nodeId = (lastId += 1)
      const before = yield* getDirectoryEntry(tx, view, ROOT_ID, name)
      saveEntry(tx, view, ROOT_ID, before, { nodeId, kind: 'file', name })
      saveNode(tx, view, undefined, exampleNode('file', nodeId, ROOT_ID))
    }
  })
}

async function remove(kv: FileKv, view: ShareView, name: string): Promise<void> {
  await kv.write(function* (tx) {
    const entry = yield* getDirectoryEntry(tx, view, ROOT_ID, name)
    assert(entry !== undefined)
    deleteEntry(tx, view, ROOT_ID, entry)
  })
}

async function list(kv: FileKv, view: ShareView, options: Partial<ListEntries> = {}) {
  const page = await kv.read((tx) =>
    listEntries(tx, view, ROOT_ID, { countMax: 5_000, ...options }),
  )
  return { names: page.items.map(({ entry }) => entry.name), next: page.next }
}

async function pages(kv: FileKv, view: ShareView, countMax: number): Promise<string[][]> {
  const all: string[][] = []
  let from: string | undefined
  do {
    const page = await list(kv, view, { countMax, ...(from !== undefined && { from }) })
    all.push(page.names)
    from = page.next
  } while (from !== undefined)
  return all
}

test('names are sorted by their folded form', async () => {
  const kv = openKv()
  await add(kv, PRESENT, 'b', 'A', 'c', 'Ab', 'aC', 'ä', 'Z')
  assert.deepEqual((await list(kv, PRESENT)).names, ['A', 'Ab', 'aC', 'b', 'c', 'Z', 'ä'])
  assert.deepEqual((await list(kv, PRESENT, { prefix: 'a' })).names, ['A', 'Ab', 'aC'])
  assert.deepEqual((await list(kv, PRESENT, { prefix: 'Ä' })).names, ['ä'])
})

test('pages continue without a gap, and the last one has no continuation', async () => {
  const kv = openKv()
  await add(kv, PRESENT, 'a', 'b', 'c', 'd', 'e')
  assert.deepEqual(await pages(kv, PRESENT, 2), [['a', 'b'], ['c', 'd'], ['e']])
  assert.deepEqual(await pages(kv, PRESENT, 5), [['a', 'b', 'c', 'd', 'e']])
  await remove(kv, PRESENT, 'c')
  assert.deepEqual((await list(kv, PRESENT, { from: foldName('c') })).names, ['d', 'e'])
})

test('entries that clients have marked for deletion are hidden', async () => {
  const kv = openKv()
  await add(kv, PRESENT, 'a', 'b', 'c')
  await kv.write(function* (tx) {
    setDeletePending(tx, { shareId: 1, nodeId: lastId - 1 }, true)
  })
  assert.deepEqual(await pages(kv, PRESENT, 1), [['a'], ['c']])
})

test('lists of snapshots match a model of full copies', async () => {
  const kv = openKv()
  const model = new Set<string>()
  const copies = new Map<number, readonly string[]>()
  let seed = 7
  const random = (below: number): number => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % below
  }
  let lastSnapshot = 0
  for (let step = 0; step < 600; step += 1) {
    const name = `n${random(40)}`
    const view = { shareId: 1, lastSnapshot }
    if (random(20) === 0) {
      lastSnapshot += 10
      copies.set(lastSnapshot, [...model].toSorted())
    } else if (model.delete(name)) await remove(kv, view, name)
    else {
      model.add(name)
      await add(kv, view, name)
    }
  }
  assert(copies.size > 10)
  for (const [snapshot, names] of copies) {
    const found = (await pages(kv, { shareId: 1, lastSnapshot, snapshot }, 7)).flat()
    assert.deepEqual(found.toSorted(), names, `snapshot ${snapshot}`)
    assert.deepEqual(
      found,
      found.toSorted((a, b) => (foldName(a) < foldName(b) ? -1 : 1)),
    )
  }
})

describe('the cost of a page', () => {
  /** The number of records that a list reads. */
  async function cost(kv: FileKv, view: ShareView, options: ListEntries): Promise<number> {
    const counts = new TxCounts()
    await kv.read(function* (tx) {
      // The body may run again.
      counts.reset()
      return yield* listEntries(countingReads(tx, counts), view, ROOT_ID, options)
    })
    return counts.records
  }

  test('is the same in a large directory, wherever the page starts, also in a snapshot', async () => {
    const kv = openKv()
    const name = (at: number): string => `F${String(at).padStart(6, '0')}`
    const COUNT = 20_000
    for (let at = 0; at < COUNT; at += 1_000) {
      await add(kv, PRESENT, ...Array.from({ length: 1_000 }, (_, i) => name(at + i)))
    }
    const then = { shareId: 1, lastSnapshot: 10, snapshot: 10 }
    for (const view of [PRESENT, then]) {
      for (const from of [name(0), name(COUNT / 2), name(COUNT - 200)]) {
        const reads = await cost(kv, view, { countMax: 100, from })
        assert(reads <= 500, `${reads} records for 100 names after ${from}`)
      }
    }
  })
})
