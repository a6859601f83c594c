// Closes an open: by the client's CLOSE, with its connection, or by force. Removes its locks, its oplock or lease if no
// other open shares it, and the file itself if it was marked for deletion and this was its last handle
// ([MS-FSA] 2.1.5.5).
import {
  getOpen,
  deleteOpen,
  isDeletePending,
  opensOf,
  setDeletePending,
  type FileOpen,
  type FileTx,
} from './open.ts'
import { getShare, type ShareAddress, type Share } from '../share/share.ts'
import type { ReadTx, Step } from '../../../kv/kv.ts'
import { decodeRecord } from '../../../kv/record.ts'
import { scanAll } from '../../../kv/scan.ts'
import type { Moment } from '../../../node/moment.ts'
import { removeHolder } from '../cache/cache-grant.ts'
import { entriesRange, locksRange } from '../keys.ts'
import {
  getDirectoryEntry,
  getNode,
  isEmptyDirectory,
  type FileEntry,
  type FileNode,
} from '../tree/node.ts'
import { deletePersistentOpen } from './persistent-open.ts'
import { isOrphan, orphanNode, removeOrphan } from '../tree/orphan.ts'
import { removeName } from '../tree/remove.ts'
import type { ShareView } from '../share/snapshot-view.ts'

const SCAN_COUNT = 1_000

/** `share` as this transaction reads it; undefined if it was deleted, with all its files. */
export function* closeOpen(
  tx: FileTx,
  share: Share | undefined,
  open: FileOpen,
  moment: Moment,
): Step<void> {
  const { shareId, nodeId, openId, holder } = open
  deleteOpen(tx, open)
  for (const { key } of yield* scanAll(tx, locksRange(shareId, nodeId, openId), SCAN_COUNT)) {
    tx.delete(key)
  }
  const isMarked =
    open.snapshot === undefined &&
    (open.deleteOnClose === true || (yield* isDeletePending(tx, shareId, nodeId)))
  // A file may have thousands of opens, which all end with their session.
  const others = isMarked || holder !== undefined ? yield* opensOf(tx, shareId, nodeId) : []
  if (holder !== undefined && !others.some((other) => other.holder === holder)) {
    removeHolder(tx, open, holder)
  }
  if (open.persistent !== undefined) deletePersistentOpen(tx, open)
  tx.announce({ kind: 'released', shareId, nodeId })
  if (!isMarked) return
  const isLast = others.every((other) => other.snapshot !== undefined)
  setDeletePending(tx, open, !isLast)
  if (share?.id !== shareId) return
  if (isLast || open.isPosixDelete === true) yield* removeOpened(tx, share, open, moment, isLast)
}

/** A directory that is no longer empty stays. */
function* removeOpened(
  tx: FileTx,
  share: Share,
  open: FileOpen,
  moment: Moment,
  isLast: boolean,
): Step<void> {
  const view: ShareView = { shareId: share.id, lastSnapshot: share.lastSnapshot }
  const node = yield* getNode(tx, view, open.nodeId)
  if (node === undefined) return
  if (yield* isOrphan(tx, share.id, node.nodeId)) {
    if (isLast) yield* removeOrphan(tx, share.id, node.nodeId)
    return
  }
  if (node.kind === 'directory' && !(yield* isEmptyDirectory(tx, share.id, node.nodeId))) return
  const named = yield* findName(tx, view, open, node)
  if (named === undefined) return
  const remove = isLast ? removeName : orphanNode
  yield* remove(tx, share, { ...named, node }, moment)
}

type Named = { readonly directoryId: number; readonly entry: FileEntry }

/** The name that the node was opened by; if that is no longer its name, its current one. */
function* findName(
  tx: ReadTx,
  view: ShareView,
  open: FileOpen,
  node: FileNode,
): Step<Named | undefined> {
  const name = open.path.slice(open.path.lastIndexOf('/') + 1)
  const opened = yield* getDirectoryEntry(tx, view, open.parentId, name)
  if (opened?.nodeId === node.nodeId) return { directoryId: open.parentId, entry: opened }
  const range = entriesRange(view.shareId, node.parentId)
  for (const { value } of yield* scanAll(tx, range, SCAN_COUNT)) {
    const entry = decodeRecord<FileEntry>(value)
    if (entry.nodeId === node.nodeId) return { directoryId: node.parentId, entry }
  }
  return undefined
}

export function* closeRecord(
  tx: FileTx,
  address: Pick<ShareAddress, 'account' | 'share'> | undefined,
  handleOpen: FileOpen,
  moment: Moment,
): Step<void> {
  // The current record: the file may have been renamed, or unmarked for deletion. Without one it is already closed.
  const open = yield* getOpen(tx, handleOpen)
  if (open === undefined) return
  const share = address && (yield* getShare(tx, address))
  yield* closeOpen(tx, share, open, moment)
}
