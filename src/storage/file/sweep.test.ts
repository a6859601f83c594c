// The sweep leaves nothing of deleted shares and snapshots, and everything that others still show.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { prefixRange, type Kv, type Step } from '../../kv/kv.ts'
import { encodeKey } from '../../kv/key.ts'
import { openMemoryKv } from '../../kv/memory-kv.ts'
import { encodeRecord } from '../../kv/record.ts'
import { mapKey } from '../../extent/content/map.ts'
import { createMoments } from '../../node/moment.ts'
import { changeServiceProperties } from '../shared/service/service.ts'
import { sweepBlobs } from '../blob/sweep.ts'
import {
  deleteEntry,
  deleteNode,
  getNode,
  locate,
  requireNode,
  ROOT_ID,
  saveEntry,
  saveNode,
  touched,
  writableMap,
} from './tree/node.ts'
import type { FileEvent, FileTx } from './open/open.ts'
import { storePermission } from './security/permission.ts'
import { createShare } from './share/share-change.ts'
import { deleteShare, restoreShare } from './share/share-delete.ts'
import { deleteShareSnapshot, snapshotShare } from './share/share-snapshot.ts'
import { changeUsage, requireView, shareUsageBytes } from './share/share.ts'
import { sweepFiles } from './sweep.ts'

const SHARE = { account: 'a', share: 'box' }
const PATH = { ...SHARE, path: ['f'] }
const SHARE_ID = 1
const DAY_MS = 24 * 60 * 60 * 1_000

async function openShare() {
  const kv = openMemoryKv<FileEvent>()
  let nowMs = Date.parse('2026-01-01')
  const moment = createMoments(() => nowMs, 0)
  let id = 100
  const write = <T>(body: (tx: FileTx) => Step<T>) => kv.write(body)
  await write((tx) =>
    createShare(tx, SHARE, { id: SHARE_ID, metadata: [], provision: {} }, moment()),
  )
  /** Writes an empty map, which is enough to see whether it is swept. */
  const writeFile = () => {
    const [now, newMap, newNode] = [moment(), id++, id++]
    return write(function* (tx) {
      const { view, node, entry, share } = yield* locate(tx, PATH)
      const map = yield* writableMap(tx, view, node ?? { stamp: 0 }, newMap)
      const { node: root } = requireNode(yield* locate(tx, { ...SHARE, path: [] }))
      const before = node ?? { ...root, kind: 'file' as const, nodeId: newNode, lengthBytes: 1 }
      if (node === undefined) yield* changeUsage(tx, share, 1)
      saveNode(tx, view, node, { ...before, ...map, ...touched(before, now) })
      if (entry === undefined) {
        saveEntry(tx, view, ROOT_ID, undefined, { nodeId: newNode, kind: 'file', name: 'f' })
      }
      tx.put(mapKey(map.map, 0), encodeRecord({ content: { id: map.map, at: 0, pieces: [] } }))
      return map.map
    })
  }
  const deleteFile = () =>
    write(function* (tx) {
      const { view, node, entry } = requireNode(yield* locate(tx, PATH))
      if (entry !== undefined) deleteEntry(tx, view, ROOT_ID, entry)
      yield* deleteNode(tx, view, node)
    })
  const snapshot = async () => {
    const now = moment()
    return (await write((tx) => snapshotShare(tx, SHARE, undefined, now))).snapshot
  }
  const deleteSnapshot = (number: number) => {
    const now = moment()
    return write((tx) => deleteShareSnapshot(tx, { ...SHARE, snapshot: number }, undefined, now))
  }
  const remove = () => {
    const now = moment()
    return write((tx) => deleteShare(tx, SHARE, { leaseId: undefined, snapshots: 'include' }, now))
  }
  const mapAt = (number?: number) =>
    kv.read(function* (tx) {
      const at = number === undefined ? {} : { snapshot: number }
      return (yield* locate(tx, { ...PATH, ...at })).node?.map
    })
  const sweep = async () => {
    await sweepFiles(kv, nowMs)
    await sweepBlobs(kv, nowMs)
  }
  const advance = (byMs: number) => {
    nowMs += byMs
  }
  return { kv, write, moment, writeFile, deleteFile, snapshot, deleteSnapshot, remove, mapAt, sweep, advance } // prettier-ignore
}

/** The number of records of each of these kinds. */
async function countOf(kv: Kv, ...kinds: readonly string[]): Promise<readonly number[]> {
  const counts: number[] = []
  for (const kind of kinds) {
    const range = prefixRange(encodeKey(kind))
    const found = await kv.read((tx) => tx.scan({ ...range, countMax: 100 }))
    counts.push(found.length)
  }
  return counts
}

const NO_RETENTION = { shareDeleteRetentionPolicy: { enabled: false } }

test('a deleted share leaves nothing', async () => {
  const { kv, write, writeFile, snapshot, remove, sweep } = await openShare()
  await write((tx) => changeServiceProperties(tx, { account: 'a', service: 'file' }, NO_RETENTION))
  await writeFile()
  await snapshot()
  await writeFile()
  const usage = await remove()
  assert.deepEqual(usage, { usageBytes: 1, snapshotUsageBytes: 1 })
  await sweep()
  const kinds = ['share', 'share-snapshot', 'share-past', 'share-due', 'share-usage', 'deleted-share', 'map', 'deleted-map',
    'file-node', 'file-node-past', 'file-entry', 'file-entry-past', 'file-permission'] // prettier-ignore
  assert.deepEqual(
    await countOf(kv, ...kinds),
    kinds.map(() => 0),
  )
})

test('a retained share is swept when its retention ends, unless it is restored', async () => {
  for (const isRestored of [false, true]) {
    const { kv, write, moment, writeFile, remove, sweep, advance } = await openShare()
    await writeFile()
    await remove()
    advance(7 * DAY_MS - 1)
    await sweep()
    assert.deepEqual(await countOf(kv, 'map', 'share-due'), [1, 1])
    if (isRestored) {
      const now = moment()
      await write((tx) => restoreShare(tx, SHARE, SHARE_ID, now))
      assert.equal(await kv.read((tx) => shareUsageBytes(tx, SHARE_ID)), 1)
      assert.deepEqual(await countOf(kv, 'share-due', 'share-past'), [0, 0])
    }
    advance(1)
    await sweep()
    const left = isRestored ? [1, 2, 0] : [0, 0, 0]
    assert.deepEqual(await countOf(kv, 'map', 'file-node', 'share-due'), left)
  }
})

test('deleting a snapshot removes the states that only it showed', async () => {
  const { kv, writeFile, snapshot, deleteSnapshot, mapAt, sweep } = await openShare()
  const one = await writeFile()
  const first = await snapshot()
  const two = await writeFile()
  const second = await snapshot()
  const three = await writeFile()
  assert.deepEqual([await mapAt(first), await mapAt(second), await mapAt()], [one, two, three])
  await deleteSnapshot(first)
  await sweep()
  assert.deepEqual([await mapAt(second), await mapAt()], [two, three])
  assert.deepEqual(await countOf(kv, 'map', 'file-node-past', 'deleted-share-snapshot'), [2, 1, 0])
  await deleteSnapshot(second)
  await sweep()
  assert.equal(await mapAt(), three)
  assert.deepEqual(await countOf(kv, 'map', 'file-node-past'), [1, 0])
})

test('a state newer than the remaining snapshot is removed', async () => {
  const { kv, writeFile, snapshot, deleteSnapshot, mapAt, sweep } = await openShare()
  const first = await snapshot()
  await writeFile()
  const second = await snapshot()
  const two = await writeFile()
  await deleteSnapshot(second)
  await sweep()
  assert.deepEqual([await mapAt(first), await mapAt()], [undefined, two])
  assert.deepEqual(await countOf(kv, 'map', 'file-node-past'), [1, 0])
})

test('a state that an earlier snapshot shows stays when the later one is deleted', async () => {
  const { kv, writeFile, deleteFile, snapshot, deleteSnapshot, mapAt, sweep } = await openShare()
  const one = await writeFile()
  const first = await snapshot()
  const second = await snapshot()
  await deleteFile()
  await deleteSnapshot(second)
  await sweep()
  assert.deepEqual([await mapAt(first), await mapAt()], [one, undefined])
  assert.deepEqual(await countOf(kv, 'map', 'file-entry-past'), [1, 1])
  await deleteSnapshot(first)
  await sweep()
  assert.deepEqual(await countOf(kv, 'map', 'file-entry-past', 'file-node-past'), [0, 0, 0])
})

test('removing a past state keeps the bytes that the file still has', async () => {
  const { kv, write, moment, writeFile, snapshot, deleteSnapshot, mapAt, sweep } = await openShare()
  const one = await writeFile()
  const first = await snapshot()
  const now = moment()
  await write(function* (tx) {
    const { view, node } = requireNode(yield* locate(tx, PATH))
    saveNode(tx, view, node, { ...node, ...touched(node, now), attributes: 1 })
  })
  await deleteSnapshot(first)
  await sweep()
  assert.equal(await mapAt(), one)
  assert.deepEqual(await countOf(kv, 'map', 'file-node-past'), [1, 0])
})

test('without snapshots, a change preserves nothing, and the next snapshot has a higher number', async () => {
  const { kv, writeFile, snapshot, deleteSnapshot, mapAt } = await openShare()
  const one = await writeFile()
  const first = await snapshot()
  await deleteSnapshot(first)
  assert.equal(await writeFile(), one)
  assert.deepEqual(await countOf(kv, 'file-node-past'), [0])
  const second = await snapshot()
  assert.ok(second > first)
  assert.equal(await mapAt(second), one)
  const { view } = await kv.read((tx) => requireView(tx, SHARE))
  assert.equal((await kv.read((tx) => getNode(tx, view, ROOT_ID)))?.kind, 'directory')
})

test('a permission is stored once', async () => {
  const { kv, write } = await openShare()
  const bytes = Buffer.from('AQAEgAAAAAAAAAAAAAAAABQAAAACAAgAAAAAAA==', 'base64')
  const keys = [0, 1].map(() => write((tx) => storePermission(tx, SHARE_ID, bytes)))
  assert.equal(new Set(await Promise.all(keys)).size, 1)
  assert.deepEqual(await countOf(kv, 'file-permission'), [2])
})
