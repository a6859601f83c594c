// Removes garbage of the File service in bounded transactions, while others write: deleted shares whose retention has
// ended, the content of deleted shares, and past states of files and names that no snapshot shows any more. None of it
// is visible to clients.
import { decodeKey } from '../../kv/key.ts'
import { keyAfter, type Key, type KeyRange, type Kv, type Step, type Tx } from '../../kv/kv.ts'
import { type StoredRecord, decodeRecord, encodeRecord } from '../../kv/record.ts'
import { dropMap } from '../../extent/content/map.ts'
import {
  DELETED_SHARE_SNAPSHOTS,
  DELETED_SHARES,
  deletedShareKey,
  deletedShareSnapshotKey,
  entriesRange,
  nodesRange,
  pastEntriesRange,
  pastNodesRange,
  pastShareKey,
  permissionsRange,
  shareDueRange,
  shareSnapshotRange,
  shareUsageKey,
} from './keys.ts'
import { sweepFileLeases } from './held/lease.ts'
import { dropBytes, getNode, type FileNode } from './tree/node.ts'
import { shareSnapshots, type DeletedShare } from './share/share.ts'
import type { VersionedRecord } from './share/snapshot-view.ts'

/** Small enough that a concurrent write waits only a few milliseconds. */
const RECORDS_PER_STEP = 200

type SweptFiles = { readonly recordCount: number }

/** One pass, at the time of the store's clock. The maps it drops are swept together with those of blobs. */
export async function sweepFiles(kv: Kv, nowMs: number): Promise<SweptFiles> {
  let recordCount = await sweepDue(kv, nowMs)
  for (const shareId of await marked(kv, DELETED_SHARES)) {
    recordCount += await sweepShare(kv, shareId)
  }
  for (const shareId of await marked(kv, DELETED_SHARE_SNAPSHOTS)) {
    recordCount += await sweepStates(kv, shareId)
  }
  recordCount += await sweepFileLeases(kv, nowMs)
  return { recordCount }
}

const MARK_COUNT = 10_000

/** If there are more, the next pass handles them. */
async function marked(kv: Kv, marks: KeyRange): Promise<readonly number[]> {
  const keys = await kv.read((tx) => tx.scanKeys({ ...marks, countMax: MARK_COUNT }))
  return keys.map((key) => Number(decodeKey(key)[1]))
}

async function sweepDue(kv: Kv, nowMs: number): Promise<number> {
  let count = 0
  for (;;) {
    const dueCount = await kv.write(function* (tx) {
      const due = yield* tx.scan({ ...shareDueRange(nowMs), countMax: RECORDS_PER_STEP })
      for (const { key, value } of due) {
        tx.delete(key)
        yield* dropOverdue(tx, Number(decodeKey(key)[2]), decodeRecord<ShareName>(value), nowMs)
      }
      return due.length
    })
    count += dueCount
    if (dueCount < RECORDS_PER_STEP) return count
  }
}

type ShareName = { readonly account: string; readonly name: string }

/** The share may have been restored, and deleted again, in the meantime. */
function* dropOverdue(tx: Tx, id: number, share: ShareName, nowMs: number): Step<void> {
  const key = pastShareKey(share.account, share.name, id)
  const value = yield* tx.get(key)
  if (value === undefined) return
  if (decodeRecord<DeletedShare>(value).deleted.untilMs > nowMs) return
  tx.delete(key)
  tx.put(deletedShareKey(id), encodeRecord({}))
}

/** Repeats until a step finds nothing and removes the mark. */
async function sweepShare(kv: Kv, shareId: number): Promise<number> {
  let count = 0
  for (;;) {
    const removed = await kv.write((tx) => removeSomeOfShare(tx, shareId))
    if (removed === 0) return count
    count += removed
  }
}

function* removeSomeOfShare(tx: Tx, shareId: number): Step<number> {
  const removed =
    (yield* removeSome(tx, nodesRange(shareId), dropMapOf)) ||
    (yield* removeSome(tx, pastNodesRange(shareId), dropMapOf)) ||
    (yield* removeSome(tx, entriesRange(shareId))) ||
    (yield* removeSome(tx, pastEntriesRange(shareId))) ||
    (yield* removeSome(tx, permissionsRange(shareId))) ||
    (yield* removeSome(tx, shareSnapshotRange(shareId)))
  if (removed > 0) return removed
  tx.delete(shareUsageKey(shareId))
  tx.delete(deletedShareSnapshotKey(shareId))
  tx.delete(deletedShareKey(shareId))
  return 0
}

/** A map that several states share is dropped more than once, which is harmless. */
function dropMapOf(tx: Tx, value: StoredRecord): void {
  const { map } = decodeRecord<FileNode>(value)
  if (map !== undefined) dropMap(tx, map)
}

function* removeSome(
  tx: Tx,
  range: KeyRange,
  before: (tx: Tx, value: StoredRecord) => void = () => {},
): Step<number> {
  const entries = yield* tx.scan({ ...range, countMax: RECORDS_PER_STEP })
  for (const { key, value } of entries) {
    before(tx, value)
    tx.delete(key)
  }
  return entries.length
}

/** One walk over a share's past states. The mark stays if another snapshot was deleted in the meantime. */
async function sweepStates(kv: Kv, shareId: number): Promise<number> {
  const mark = await kv.read((tx) => tx.get(deletedShareSnapshotKey(shareId)))
  if (mark === undefined) return 0
  const { stamp } = decodeRecord<Mark>(mark)
  let count = 0
  for (const range of [pastNodesRange(shareId), pastEntriesRange(shareId)]) {
    count += await walkStates(kv, shareId, range)
  }
  await kv.write(function* (tx) {
    const now = yield* tx.get(deletedShareSnapshotKey(shareId))
    if (now !== undefined && decodeRecord<Mark>(now).stamp === stamp) {
      tx.delete(deletedShareSnapshotKey(shareId))
    }
  })
  return count
}

type Mark = { readonly stamp: number }

async function walkStates(kv: Kv, shareId: number, range: KeyRange): Promise<number> {
  let count = 0
  let { from }: { from: Key | undefined } = range
  while (from !== undefined) {
    const start: Key = from
    const step = await kv.write((tx) => dropSomeStates(tx, shareId, { from: start, to: range.to }))
    count += step.count
    from = step.next
  }
  return count
}

type WalkStep = { readonly count: number; readonly next: Key | undefined }

/** A state under snapshot P with `since` s is shown by the snapshots X with s < X ≤ P (snapshot-view.ts). */
function* dropSomeStates(tx: Tx, shareId: number, range: KeyRange): Step<WalkStep> {
  const snapshots = (yield* shareSnapshots(tx, shareId)).map(({ snapshot }) => snapshot)
  const states = yield* tx.scan({ ...range, countMax: RECORDS_PER_STEP })
  let count = 0
  for (const { key, value } of states) {
    const under = Number(decodeKey(key).at(-1))
    const state = decodeRecord<VersionedRecord | FileNode>(value)
    if (snapshots.some((each) => state.since < each && each <= under)) continue
    tx.delete(key)
    count += 1
    if ('map' in state) yield* dropUnshared(tx, shareId, state)
  }
  const last = states.at(-1)
  const isEnd = last === undefined || states.length < RECORDS_PER_STEP
  return { count, next: isEnd ? undefined : keyAfter(last.key) }
}

/** Drops the bytes of a removed state, unless the file or a remaining past state still has them. */
function* dropUnshared(tx: Tx, shareId: number, state: FileNode): Step<void> {
  const view = { shareId, lastSnapshot: 0 }
  const present = yield* getNode(tx, view, state.nodeId)
  if (present?.map !== state.map) yield* dropBytes(tx, view, state)
}
