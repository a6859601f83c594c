// Creates directories, files and symbolic links. REST and SMB make their own checks first.
import type { Piece } from '../../../extent/content/slice.ts'
import type { Step } from '../../../kv/kv.ts'
import type { ContentHeaders } from '../../shared/content-headers.ts'
import { StorageError } from '../../shared/error.ts'
import { overwriteMap } from '../../../extent/content/map.ts'
import { NO_METADATA, type Metadata } from '../../shared/metadata.ts'
import { nextStamp, type Moment } from '../../../node/moment.ts'
import { announceChange, NOTIFY } from './change-event.ts'
import { addEntry } from './directory-change.ts'
import {
  dropBytes,
  saveNode,
  type Existing,
  type FileNode,
  type Located,
  type NodeKind,
} from './node.ts'
import type { FileTx } from '../open/open.ts'
import { changeUsage } from '../share/share.ts'
import { newProperties, type SmbProperties } from './smb-properties.ts'

export type NewNode = {
  /** A new id; not used if a file is replaced. */
  readonly nodeId: number
  readonly properties: SmbProperties
  readonly metadata?: Metadata
  /** Last-Modified, if it is not the time of the request. */
  readonly modifiedMs?: number
}

export type NewFile = NewNode & {
  readonly lengthBytes: number
  readonly headers?: ContentHeaders
  /** The initial bytes, already durable, and the id of the map for them. */
  readonly content?: { readonly mapId: number; readonly pieces: readonly Piece[] }
}

/** The name must be free. */
export function* createDirectory(
  tx: FileTx,
  at: Located,
  directory: NewNode,
  moment: Moment,
): Step<FileNode> {
  return yield* addNode(tx, at, 'directory', directory, moment)
}

export function* createSymbolicLink(
  tx: FileTx,
  at: Located,
  link: NewNode & { readonly linkText: string },
  moment: Moment,
): Step<FileNode> {
  return yield* addNode(tx, at, 'symlink', link, moment)
}

/** Replaces an existing file, which keeps only its id, its names and its lease. */
export function* createFile(
  tx: FileTx,
  at: Located,
  file: NewFile,
  moment: Moment,
): Step<FileNode> {
  const { node: before } = at
  if (before !== undefined && before.kind !== 'file') throw new StorageError('ResourceTypeMismatch')
  yield* changeUsage(tx, at.share, file.lengthBytes - (before?.lengthBytes ?? 0))
  const bytes = yield* putFirstBytes(tx, at, file)
  if (before === undefined) return yield* addNode(tx, at, 'file', { ...file, ...bytes }, moment)
  return yield* replaceFile(tx, { ...at, node: before }, { ...file, ...bytes }, moment)
}

type Bytes = Pick<FileNode, 'map' | 'mapSince'>

function* putFirstBytes(tx: FileTx, { view }: Located, { content }: NewFile): Step<Bytes> {
  if (content === undefined || content.pieces.length === 0) return {}
  let offset = 0
  for (const piece of content.pieces) {
    yield* overwriteMap(tx, content.mapId, offset, piece)
    offset += piece.lengthBytes
  }
  return { map: content.mapId, mapSince: view.lastSnapshot }
}

type Parts = NewNode &
  Bytes & {
    readonly lengthBytes?: number
    readonly headers?: ContentHeaders
    readonly linkText?: string
  }

function* addNode(
  tx: FileTx,
  at: Located,
  kind: NodeKind,
  parts: Parts,
  moment: Moment,
): Step<FileNode> {
  if (at.name === '' || at.entry !== undefined) throw new StorageError('ResourceAlreadyExists')
  const { nodeId } = parts
  const properties = yield* newProperties(tx, at, kind, parts.properties, moment)
  const node = saveNode(tx, at.view, undefined, {
    kind,
    nodeId,
    parentId: at.directoryId,
    ...(kind === 'directory' && { directoryName: at.name }),
    stamp: moment.stamp,
    modifiedMs: parts.modifiedMs ?? moment.nowMs,
    ...properties,
    ...contentOf(parts),
  })
  yield* addEntry(tx, at, { nodeId, kind, name: at.name }, moment)
  announceChange(tx, at, node, 'added')
  return node
}

function contentOf(parts: Parts) {
  const { metadata = NO_METADATA, lengthBytes = 0, headers, linkText, map, mapSince } = parts
  return {
    metadata,
    lengthBytes,
    ...(headers !== undefined && { headers }),
    ...(linkText !== undefined && { linkText }),
    ...(map !== undefined && { map }),
    ...(mapSince !== undefined && { mapSince }),
  }
}

function* replaceFile(tx: FileTx, at: Existing, parts: Parts, moment: Moment): Step<FileNode> {
  const { node: before, view } = at
  const { nodeId, parentId, lease, linkCount } = before
  const properties = yield* newProperties(tx, at, 'file', parts.properties, moment)
  const stamp = nextStamp(before.stamp, moment)
  const node = saveNode(tx, view, before, {
    kind: 'file',
    nodeId,
    parentId,
    stamp,
    origin: stamp,
    modifiedMs: parts.modifiedMs ?? Math.max(before.modifiedMs, moment.nowMs),
    ...properties,
    ...contentOf(parts),
    ...(lease !== undefined && { lease }),
    ...(linkCount !== undefined && { linkCount }),
  })
  yield* dropBytes(tx, view, before)
  const filter = NOTIFY.attributes | NOTIFY.size | NOTIFY.lastWrite
  announceChange(tx, at, node, 'modified', filter)
  return node
}
