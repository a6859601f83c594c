// Orphans: files that have lost their name while clients still have them open, by the POSIX semantics of deletes and
// renames ([MS-FSCC] 2.4.11, 2.4.43). An orphan is deleted when its last handle is closed, or at the start of the
// server.
import { decodeKey } from '../../../kv/key.ts'
import type { ReadTx, Step, Tx } from '../../../kv/kv.ts'
import { encodeRecord } from '../../../kv/record.ts'
import { scanAll } from '../../../kv/scan.ts'
import type { Moment } from '../../../node/moment.ts'
import { announceChange } from './change-event.ts'
import { removeEntry } from './directory-change.ts'
import { orphanKey, ORPHANS, pendingFileCopyKey } from '../keys.ts'
import { deleteNode, getNode } from './node.ts'
import { opensOf, setDeletePending, type FileTx } from '../open/open.ts'
import { removeName, type NamedNode } from './remove.ts'
import { changeUsage, shareSnapshots, type Share } from '../share/share.ts'

const SCAN_COUNT = 1_000

/** Removes the name; the node stays for the clients that have it open. */
export function* orphanNode(
  tx: FileTx,
  share: Share,
  named: NamedNode,
  moment: Moment,
): Step<void> {
  const { directoryId, entry, node } = named
  if ((node.linkCount ?? 1) > 1) {
    yield* removeName(tx, share, named, moment)
    return
  }
  const view = { shareId: share.id, lastSnapshot: share.lastSnapshot }
  yield* removeEntry(tx, { view, directoryId }, entry, moment)
  announceChange(tx, { view, directoryId, name: entry.name }, node, 'removed')
  const { nodeId } = node
  tx.put(orphanKey(share.id, nodeId), encodeRecord({}))
  setDeletePending(tx, { shareId: share.id, nodeId }, true)
}

export function* isOrphan(tx: ReadTx, shareId: number, nodeId: number): Step<boolean> {
  return (yield* tx.get(orphanKey(shareId, nodeId))) !== undefined
}

/** Called when the last handle was closed. */
export function* removeOrphan(tx: Tx, shareId: number, nodeId: number): Step<void> {
  tx.delete(orphanKey(shareId, nodeId))
  const lastSnapshot = (yield* shareSnapshots(tx, shareId)).at(-1)?.snapshot ?? 0
  const view = { shareId, lastSnapshot }
  const node = yield* getNode(tx, view, nodeId)
  if (node === undefined) return
  yield* changeUsage(tx, { id: shareId, quotaGib: 0 }, -node.lengthBytes)
  tx.delete(pendingFileCopyKey(shareId, nodeId))
  yield* deleteNode(tx, view, node)
}

/** At the start of the server. Orphans with persistent opens stay; their delete-pending mark is volatile, so set it again. */
export function* removeOrphans(tx: FileTx): Step<void> {
  for (const { key } of yield* scanAll(tx, ORPHANS, SCAN_COUNT)) {
    const [shareId = 0, nodeId = 0] = decodeKey(key).slice(1).map(Number)
    const opens = yield* opensOf(tx, shareId, nodeId)
    if (opens.length === 0) yield* removeOrphan(tx, shareId, nodeId)
    else setDeletePending(tx, { shareId, nodeId }, true)
  }
}
