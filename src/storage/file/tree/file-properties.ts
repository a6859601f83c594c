// Changes of what is known about a directory or file, and of a file's length.
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
  /** All of them together; left out, they stay. */
  readonly headers?: ContentHeaders
  readonly resize?: Resize
}

export type Resize = {
  readonly lengthBytes: number
  /** For a map of its own, should a snapshot show the present one. */
  readonly newId: number
}

/** All that one request may change at once. */
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
    // A new length is a write, whatever the time was to be kept at.
    ...(sized !== undefined &&
      properties.lastWriteTime === undefined && { lastWriteTime: fileTimeOf(moment.nowMs) }),
  })
  announceChange(tx, existing, node, 'modified', filterOf(node, after))
  return after
}

export function* resizeFile(
  tx: FileTx,
  existing: Existing,
  resize: Resize,
  moment: Moment,
): Step<FileNode> {
  return yield* setNodeProperties(tx, existing, { properties: {}, resize }, moment)
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
  // Metadata is seen by REST alone, but the change time is not.
  announceChange(tx, existing, node, 'modified', NOTIFY.attributes)
  return after
}

/** What has changed; if nothing has, it was at least written. */
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
