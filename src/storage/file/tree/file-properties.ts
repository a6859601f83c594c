// Changes the properties and metadata of a directory or file, and the length of a file.
import type { Step } from '../../../kv/kv.ts'
import type { ContentHeaders } from '../../shared/content-headers.ts'
import type { Metadata } from '../../shared/metadata.ts'
import type { Moment } from '../../../node/moment.ts'
import { announceChange, NOTIFY } from './change-event.ts'
import { fileTimeOf } from './file-time.ts'
import { clearedMap, saveNode, touched, type Existing, type FileNode } from './node.ts'
import type { FileTx } from '../open/open.ts'
import { changeUsage } from '../share/share.ts'
import { changedProperties, type SmbProperties } from './smb-properties.ts'

export type NodeChange = {
  readonly properties: SmbProperties
  /** Replaces all headers; left out, they don't change. */
  readonly headers?: ContentHeaders
  readonly resize?: Resize
}

export type Resize = {
  readonly lengthBytes: number
  /** The id of the new map, if a snapshot shows the current one. */
  readonly newId: number
}

/** Applies all changes of one request. */
export function* setNodeProperties(
  tx: FileTx,
  existing: Existing,
  { properties, headers, resize }: NodeChange,
  moment: Moment,
): Step<FileNode> {
  const { node, view } = existing
  const changed = {
    ...node,
    ...(headers !== undefined && { headers }),
    ...touched(node, moment),
    ...(yield* changedProperties(tx, existing, node, properties, moment)),
  }
  const sized = resize === undefined ? undefined : yield* resized(tx, existing, resize)
  const after = saveNode(tx, view, node, {
    ...changed,
    ...sized,
    // A new length is a write, so it updates the last write time unless the request sets it.
    ...(sized !== undefined &&
      properties.lastWriteTime === undefined && { lastWriteTime: fileTimeOf(moment.nowMs) }),
  })
  announceChange(tx, existing, node, 'modified', filterOf(node, after))
  return after
}

function* resized(
  tx: FileTx,
  { share, view, node }: Existing,
  { lengthBytes, newId }: Resize,
): Step<Pick<FileNode, 'lengthBytes' | 'map' | 'mapSince'>> {
  yield* changeUsage(tx, share, lengthBytes - node.lengthBytes)
  if (lengthBytes >= node.lengthBytes || node.map === undefined) return { lengthBytes }
  const range = { from: lengthBytes, to: node.lengthBytes }
  return { lengthBytes, ...(yield* clearedMap(tx, view, node, range, newId)) }
}

export function setNodeMetadata(
  tx: FileTx,
  existing: Existing,
  metadata: Metadata,
  moment: Moment,
): FileNode {
  const { node, view } = existing
  const after = saveNode(tx, view, node, { ...node, ...touched(node, moment), metadata })
  // Only REST shows metadata, but SMB clients see the new change time.
  announceChange(tx, existing, node, 'modified', NOTIFY.attributes)
  return after
}

/** The changed properties; ATTRIBUTES if none changed, since the node was still written. */
function filterOf(before: FileNode, after: FileNode): number {
  const filter =
    (before.attributes === after.attributes ? 0 : NOTIFY.attributes) |
    (before.lengthBytes === after.lengthBytes ? 0 : NOTIFY.size) |
    (before.lastWriteTime === after.lastWriteTime ? 0 : NOTIFY.lastWrite) |
    (before.lastAccessTime === after.lastAccessTime ? 0 : NOTIFY.lastAccess) |
    (before.creationTime === after.creationTime ? 0 : NOTIFY.creation) |
    (before.permissionKey === after.permissionKey ? 0 : NOTIFY.security)
  return filter === 0 ? NOTIFY.attributes : filter
}
