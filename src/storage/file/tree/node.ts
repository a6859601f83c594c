// Directories, files and links are nodes, each with an id that survives renames. Entries are their names in a
// directory. Past states of both are preserved for the share's snapshots (snapshot-view.ts).
import type { ByteRange } from '../../../extent/content/interval-map.ts'
import type { Key, KeyRange, ReadTx, Step, Tx } from '../../../kv/kv.ts'
import { decodeRecord } from '../../../kv/record.ts'
import { scanAll } from '../../../kv/scan.ts'
import type { ContentHeaders } from '../../shared/content-headers.ts'
import type { CopyState } from '../../shared/copy/copy-state.ts'
import { StorageError } from '../../shared/error.ts'
import type { Lease } from '../../shared/lease.ts'
import { clearLongMap, copyMap } from '../../../extent/content/map-copy.ts'
import { dropMap } from '../../../extent/content/map.ts'
import type { Metadata } from '../../shared/metadata.ts'
import { nextStamp, type Moment } from '../../../node/moment.ts'
import { foldName } from './file-name.ts'
import { fileTimeOf, type FileTime } from './file-time.ts'
import {
  entriesRange,
  entryKey,
  fileNodeKey,
  pastEntryKey,
  pastNodeKey,
  pastNodesRange,
} from '../keys.ts'
import { requireView, type Share, type ShareAddress } from '../share/share.ts'
import {
  deleteVersioned,
  readVersioned,
  saveVersioned,
  type VersionedRecord,
  type VersionedKeys,
  type ShareView,
} from '../share/snapshot-view.ts'

export type NodeKind = 'directory' | 'file' | 'symlink'

/** The share's root is a directory that nobody creates or deletes. */
export const ROOT_ID = 0

export type FileNode = VersionedRecord & {
  readonly kind: NodeKind
  /** x-ms-file-id */
  readonly nodeId: number
  /** x-ms-file-parent-id; for a file with several names, the directory of the first. */
  readonly parentId: number
  /** The name of a directory, to find its path from the bottom up (directory-path.ts). */
  readonly directoryName?: string
  readonly stamp: number
  readonly modifiedMs: number
  /** FILE_ATTRIBUTE_* ([MS-FSCC] 2.6), except DIRECTORY and NORMAL, which follow from the rest. */
  readonly attributes: number
  readonly creationTime: FileTime
  readonly lastWriteTime: FileTime
  readonly changeTime: FileTime
  /** Set only by SMB clients; otherwise it is the time of the last write. */
  readonly lastAccessTime?: FileTime
  readonly permissionKey: string
  readonly metadata: Metadata
  readonly lengthBytes: number
  /** The map of the file's bytes (extent/content/map.ts); without one, all bytes are zero. */
  readonly map?: number
  /** The share's last snapshot when the map was created. A later snapshot may show the map, so a write copies it. */
  readonly mapSince?: number
  /** The stamp of the last write that replaced the whole file: List Ranges can't compare with earlier states. */
  readonly origin?: number
  /** Visible only to REST. */
  readonly headers?: ContentHeaders
  readonly lease?: Lease
  readonly copy?: CopyState
  /** x-ms-owner, x-ms-group, x-ms-mode: shares with NFS only. */
  readonly owner?: string
  readonly group?: string
  readonly mode?: string
  /** The number of names, if a file has more than one. */
  readonly linkCount?: number
  readonly linkText?: string
}

export type FileEntry = VersionedRecord & {
  readonly nodeId: number
  readonly kind: NodeKind
  /** In its original case; lookups are case-insensitive. */
  readonly name: string
}

export type FileAddress = ShareAddress & {
  /** The names below the root (parseFilePath); empty for the root itself. */
  readonly path: readonly string[]
}

/** The result of resolving a path: a name in a directory, with its entry and node if they exist. */
export type Located = {
  readonly share: Share
  readonly view: ShareView
  readonly directoryId: number
  readonly name: string
  readonly entry?: FileEntry
  readonly node?: FileNode
}

export type Existing = Located & { readonly node: FileNode }

// Classes, because every request creates some of these: closures would be allocated each time.

class NodeKeys implements VersionedKeys {
  readonly key: Key
  readonly #shareId: number
  readonly #nodeId: number

  constructor({ shareId }: ShareView, nodeId: number) {
    this.key = fileNodeKey(shareId, nodeId)
    this.#shareId = shareId
    this.#nodeId = nodeId
  }

  pastKey(snapshot: number): Key {
    return pastNodeKey(this.#shareId, this.#nodeId, snapshot)
  }

  pastFrom(snapshot: number): KeyRange {
    return { from: this.pastKey(snapshot), to: pastNodesRange(this.#shareId, this.#nodeId).to }
  }
}

class EntryKeys implements VersionedKeys {
  readonly key: Key
  readonly #shareId: number
  readonly #directoryId: number
  readonly #folded: string

  constructor({ shareId }: ShareView, directoryId: number, folded: string) {
    this.key = entryKey(shareId, directoryId, folded)
    this.#shareId = shareId
    this.#directoryId = directoryId
    this.#folded = folded
  }

  pastKey(snapshot: number): Key {
    return pastEntryKey(this.#shareId, this.#directoryId, this.#folded, snapshot)
  }

  pastFrom(snapshot: number): KeyRange {
    return { from: this.pastKey(snapshot), to: this.pastKey(Number.MAX_SAFE_INTEGER) }
  }
}

export function getNode(tx: ReadTx, view: ShareView, nodeId: number): Step<FileNode | undefined> {
  return readVersioned<FileNode>(tx, new NodeKeys(view, nodeId), view)
}

export function getDirectoryEntry(
  tx: ReadTx,
  view: ShareView,
  directoryId: number,
  name: string,
): Step<FileEntry | undefined> {
  const keys = new EntryKeys(view, directoryId, foldName(name))
  return readVersioned<FileEntry>(tx, keys, view)
}

/** All directories of the path must exist, otherwise 404 ParentNotFound. */
export function* locate(tx: ReadTx, address: FileAddress): Step<Located> {
  const { share, view } = yield* requireView(tx, address)
  return yield* locateIn(tx, share, view, address.path)
}

export function* locateIn(
  tx: ReadTx,
  share: Share,
  view: ShareView,
  path: readonly string[],
): Step<Located> {
  const located = yield* findIn(tx, share, view, path)
  if (located === undefined) throw new StorageError('ParentNotFound')
  return located
}

/** Undefined if a directory of the path does not exist. */
export function* findIn(
  tx: ReadTx,
  share: Share,
  view: ShareView,
  path: readonly string[],
): Step<Located | undefined> {
  const name = path.at(-1)
  if (name === undefined) {
    const root = yield* getNode(tx, view, ROOT_ID)
    return { share, view, directoryId: ROOT_ID, name: '', ...(root && { node: root }) }
  }
  let directoryId = ROOT_ID
  for (let depth = 0; depth < path.length - 1; depth += 1) {
    const entry = yield* getDirectoryEntry(tx, view, directoryId, path[depth] ?? '')
    if (entry?.kind !== 'directory') return undefined
    directoryId = entry.nodeId
  }
  const entry = yield* getDirectoryEntry(tx, view, directoryId, name)
  if (entry === undefined) return { share, view, directoryId, name }
  const node = yield* getNode(tx, view, entry.nodeId)
  if (node === undefined) return { share, view, directoryId, name, entry }
  return { share, view, directoryId, name, entry, node }
}

/** The node must exist and be of this kind. */
export function requireNode(located: Located, kind?: NodeKind): Existing {
  if (!isExisting(located)) throw new StorageError('ResourceNotFound')
  if (kind !== undefined && located.node.kind !== kind) {
    throw new StorageError('ResourceTypeMismatch')
  }
  return located
}

function isExisting(located: Located): located is Existing {
  return located.node !== undefined
}

/** A changed or a new node. */
type UnsavedNode = Omit<FileNode, 'since'> & Partial<VersionedRecord>

function isSince(node: UnsavedNode, since: number): node is FileNode {
  return node.since === since
}

/** Replaces `before` with `after`, preserving `before` if a snapshot shows it. */
export function saveNode(
  tx: Tx,
  view: ShareView,
  before: FileNode | undefined,
  after: UnsavedNode,
): FileNode {
  const since = view.lastSnapshot
  // Avoids a copy: this is on the path of every write, and copying all fields takes as long as finding the file.
  const node = isSince(after, since) ? after : { ...after, since }
  saveVersioned<FileNode>(tx, new NodeKeys(view, after.nodeId), view, before, node)
  return node
}

export function saveEntry(
  tx: Tx,
  view: ShareView,
  directoryId: number,
  before: FileEntry | undefined,
  after: Omit<FileEntry, 'since'>,
): void {
  const keys = new EntryKeys(view, directoryId, foldName(after.name))
  saveVersioned<FileEntry>(tx, keys, view, before, { ...after, since: view.lastSnapshot })
}

export function deleteEntry(tx: Tx, view: ShareView, directoryId: number, entry: FileEntry): void {
  deleteVersioned<FileEntry>(
    tx,
    new EntryKeys(view, directoryId, foldName(entry.name)),
    view,
    entry,
  )
}

/** The fields that every change of a node updates: ETag, Last-Modified and change time. */
export function touched(
  { stamp, modifiedMs }: Pick<FileNode, 'stamp' | 'modifiedMs'>,
  moment: Moment,
): Pick<FileNode, 'stamp' | 'modifiedMs' | 'changeTime'> {
  return {
    stamp: nextStamp(stamp, moment),
    modifiedMs: Math.max(modifiedMs, moment.nowMs),
    changeTime: fileTimeOf(moment.nowMs),
  }
}

/** The map to write to: the file's current one, or a copy if a snapshot shows that. */
export function* writableMap(
  tx: Tx,
  { lastSnapshot }: ShareView,
  { map, mapSince = 0, stamp }: Pick<FileNode, 'map' | 'mapSince' | 'stamp'>,
  newId: number,
): Step<{ readonly map: number; readonly mapSince: number }> {
  if (map !== undefined && mapSince >= lastSnapshot) return { map, mapSince }
  // Also where there is nothing to copy: an earlier attempt may have left the copy of a map that is gone since.
  yield* copyMap(tx, { of: map ?? NO_MAP, to: newId, stamp })
  return { map: newId, mapSince: lastSnapshot }
}

/** No map has this id: its copy is empty. */
const NO_MAP = 0

/** The same, with a range set to zeros. */
export function* clearedMap(
  tx: Tx,
  view: ShareView,
  node: Pick<FileNode, 'map' | 'mapSince' | 'stamp'>,
  range: ByteRange,
  newId: number,
): Step<{ readonly map: number; readonly mapSince: number }> {
  const { map, mapSince = 0, stamp } = node
  if (map === undefined) return yield* writableMap(tx, view, node, newId)
  const copy = { of: map, to: newId, stamp, without: range }
  if (mapSince >= view.lastSnapshot) return { map: yield* clearLongMap(tx, copy), mapSince }
  yield* copyMap(tx, copy)
  return { map: newId, mapSince: view.lastSnapshot }
}

/** The node no longer uses this map; it is dropped unless a snapshot still shows it. */
export function* dropBytes(
  tx: Tx,
  { shareId }: ShareView,
  { nodeId, map }: Pick<FileNode, 'nodeId' | 'map'>,
): Step<void> {
  if (map === undefined) return
  const past = yield* scanAll(tx, pastNodesRange(shareId, nodeId), PAST_COUNT)
  if (past.some(({ value }) => decodeRecord<FileNode>(value).map === map)) return
  dropMap(tx, map)
}

/** Past states per scan; a node has at most one for each snapshot. */
const PAST_COUNT = 256

/** Called when the last name of a node was removed. */
export function* deleteNode(tx: Tx, view: ShareView, node: FileNode): Step<void> {
  deleteVersioned<FileNode>(tx, new NodeKeys(view, node.nodeId), view, node)
  yield* dropBytes(tx, view, node)
}

export function* isEmptyDirectory(tx: ReadTx, shareId: number, nodeId: number): Step<boolean> {
  const some = yield* tx.scan({ ...entriesRange(shareId, nodeId), countMax: 1 })
  return some.length === 0
}
