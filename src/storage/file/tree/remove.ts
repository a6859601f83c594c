// The end of a name, and of what it named when it was the last one. Whether clients have it open, whether a
// directory is empty, and all else that may be in the way was asked before.
import type { Step } from '../../../kv/kv.ts'
import { StorageError } from '../../shared/error.ts'
import type { Moment } from '../../../node/moment.ts'
import { announceChange } from './change-event.ts'
import { removeEntry } from './directory-change.ts'
import {
  deleteNode,
  isEmptyDirectory,
  saveNode,
  touched,
  type Existing,
  type FileEntry,
  type FileNode,
} from './node.ts'
import type { FileTx } from '../open/open.ts'
import { dropPendingCopy } from '../copy/pending-copy.ts'
import { changeUsage, type Share } from '../share/share.ts'

export type NamedNode = {
  readonly directoryId: number
  readonly entry: FileEntry
  readonly node: FileNode
}

/** Answers how many names are left. */
export function* removeName(
  tx: FileTx,
  share: Share,
  { directoryId, entry, node }: NamedNode,
  moment: Moment,
): Step<number> {
  const view = { shareId: share.id, lastSnapshot: share.lastSnapshot }
  yield* removeEntry(tx, { view, directoryId }, entry, moment)
  announceChange(tx, { view, directoryId, name: entry.name }, node, 'removed')
  const { linkCount = 1 } = node
  if (linkCount > 1) {
    saveNode(tx, view, node, { ...node, ...touched(node, moment), linkCount: linkCount - 1 })
    return linkCount - 1
  }
  yield* changeUsage(tx, share, -node.lengthBytes)
  yield* dropPendingCopy(tx, { shareId: share.id, nodeId: node.nodeId })
  yield* deleteNode(tx, view, node)
  return 0
}

/** The same for what a path led to; the root has no name to lose. */
export function* removeNode(tx: FileTx, existing: Existing, moment: Moment): Step<number> {
  const { share, directoryId, entry, node } = existing
  if (entry === undefined) throw new StorageError('CannotDeleteFileOrDirectory')
  return yield* removeName(tx, share, { directoryId, entry, node }, moment)
}

export function* deleteDirectory(tx: FileTx, existing: Existing, moment: Moment): Step<void> {
  const { share, node } = existing
  if (!(yield* isEmptyDirectory(tx, share.id, node.nodeId))) {
    throw new StorageError('DirectoryNotEmpty')
  }
  yield* removeNode(tx, existing, moment)
}
