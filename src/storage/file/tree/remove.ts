// Removes a name, and the node if that was its last name. The caller has checked that nothing forbids it, such as opens
// or the entries of a directory.
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
import { FILE_COPIES } from '../copy/pending-copy.ts'
import { changeUsage, type Share } from '../share/share.ts'

export type NamedNode = {
  readonly directoryId: number
  readonly entry: FileEntry
  readonly node: FileNode
}

/** Returns how many names are left. */
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
  yield* FILE_COPIES.drop(tx, { shareId: share.id, nodeId: node.nodeId })
  yield* deleteNode(tx, view, node)
  return 0
}

/** The same for a located node; the root has no name and can't be removed. */
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
