// Renames change the node, its entry and the times of its directories, however large the subtree is: children refer to
// their directory by id.
import type { ReadTx, Step } from '../../../kv/kv.ts'
import { decodeRecord } from '../../../kv/record.ts'
import { scanAll } from '../../../kv/scan.ts'
import type { ContentHeaders } from '../../shared/content-headers.ts'
import { StorageError } from '../../shared/error.ts'
import type { Metadata } from '../../shared/metadata.ts'
import type { Moment } from '../../../node/moment.ts'
import { announceRename } from './change-event.ts'
import { addEntry, removeEntry } from './directory-change.ts'
import { opensRange } from '../keys.ts'
import {
  getNode,
  ROOT_ID,
  saveNode,
  touched,
  type Existing,
  type FileNode,
  type Located,
} from './node.ts'
import { opensOf, putOpen, type FileOpen, type FileTx } from '../open/open.ts'
import { movePersistentOpen } from '../open/persistent-open.ts'
import { removeNode } from './remove.ts'
import { changedProperties, type SmbProperties } from './smb-properties.ts'
import type { ShareView } from '../share/snapshot-view.ts'

/** Changes that a rename may make besides the name. */
export type RenameChange = {
  readonly properties?: SmbProperties
  readonly metadata?: Metadata
  readonly headers?: ContentHeaders
}

/** Replaces the target; the caller has checked that this is allowed. The node keeps its id, lease and bytes. */
export function* renameNode(
  tx: FileTx,
  source: Existing,
  target: Located,
  change: RenameChange,
  moment: Moment,
): Step<FileNode> {
  const { node, entry, view } = source
  if (entry === undefined || target.name === '') throw new StorageError('InvalidInput')
  yield* checkNotBelow(tx, view, node, target.directoryId)
  const isItself = target.node?.nodeId === node.nodeId
  if (target.node !== undefined && !isItself) {
    yield* removeNode(tx, { ...target, node: target.node }, moment)
  }
  yield* removeEntry(tx, source, entry, moment)
  const { nodeId, kind } = node
  yield* addEntry(tx, target, { nodeId, kind, name: target.name }, moment)
  const { properties = {}, metadata, headers } = change
  const after = saveNode(tx, view, node, {
    ...node,
    // A file with several names belongs to the directory of its first name.
    ...(node.parentId === source.directoryId && { parentId: target.directoryId }),
    ...(kind === 'directory' && { directoryName: target.name }),
    ...touched(node, moment),
    ...(yield* changedProperties(tx, target, node, properties, moment)),
    ...(metadata !== undefined && { metadata }),
    ...(headers !== undefined && { headers }),
  })
  announceRename(tx, source, target, node)
  return after
}

/** A directory can't be moved into itself. */
function* checkNotBelow(
  tx: ReadTx,
  view: ShareView,
  { kind, nodeId }: FileNode,
  directoryId: number,
): Step<void> {
  if (kind !== 'directory') return
  if (yield* isSameOrBelow(tx, view, directoryId, nodeId)) throw new StorageError('InvalidInput')
}

/** Whether the node is the directory or below it. */
export function* isSameOrBelow(
  tx: ReadTx,
  view: ShareView,
  nodeId: number,
  directoryId: number,
): Step<boolean> {
  let at = nodeId
  while (at !== directoryId) {
    if (at === ROOT_ID) return false
    const node = yield* getNode(tx, view, at)
    if (node === undefined) return false
    at = node.parentId
  }
  return true
}

/** A directory can't be renamed while clients have something open below it. */
export function* checkNoOpensBelow(
  tx: ReadTx,
  view: ShareView,
  directory: Pick<FileNode, 'nodeId'>,
): Step<void> {
  const nodeIds = yield* openNodesBelow(tx, view, directory)
  if (nodeIds.length > 0) throw new StorageError('SharingViolation')
}

/** Scans all opens of the share, which are few. Opens of snapshots don't count. */
export function* openNodesBelow(
  tx: ReadTx,
  view: ShareView,
  directory: Pick<FileNode, 'nodeId'>,
): Step<readonly number[]> {
  const opens = (yield* scanAll(tx, opensRange(view.shareId), OPENS_COUNT))
    .map(({ value }) => decodeRecord<FileOpen>(value))
    .filter(({ snapshot }) => snapshot === undefined)
  const nodes = new Set(opens.map(({ nodeId }) => nodeId))
  nodes.delete(directory.nodeId)
  const below: number[] = []
  for (const nodeId of nodes) {
    if (yield* isSameOrBelow(tx, view, nodeId, directory.nodeId)) below.push(nodeId)
  }
  return below
}

const OPENS_COUNT = 1_000

/** Updates the path of all opens of a renamed node; it is listed, and used to find the node when they are closed. */
export function* moveOpens(
  tx: FileTx,
  { view, directoryId }: Pick<Located, 'view' | 'directoryId'>,
  { nodeId }: Pick<FileNode, 'nodeId'>,
  path: readonly string[],
): Step<void> {
  for (const open of yield* opensOf(tx, view.shareId, nodeId)) {
    if (open.snapshot !== undefined) continue
    const moved: FileOpen = { ...open, parentId: directoryId, path: path.join('/') }
    putOpen(tx, moved)
    yield* movePersistentOpen(tx, moved)
  }
}
