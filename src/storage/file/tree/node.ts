// Directories, files and links: nodes, each with an id that it keeps when it is renamed, and entries, which are
// their names in a directory. All of it is kept for the share's snapshots (snapshot-view.ts).
import type { ByteRange } from '../../../extent/content/interval-map.ts'
import type { Key, KeyRange, ReadTx, Step, Tx } from '../../../kv/kv.ts'
import { decodeRecord } from '../../../kv/record.ts'
import { scanAll } from '../../../kv/scan.ts'
import type { ContentHeaders } from '../../shared/content-headers.ts'
import type { CopyState } from '../../shared/copy-state.ts'
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
  nodeKey,
  pastEntryKey,
  pastNodeKey,
  pastNodesRange,
} from '../keys.ts'
import { requireView, type Share, type ShareAddress } from '../share/share.ts'
import {
  deleteKept,
  readKept,
  saveKept,
  type Kept,
  type KeptPlace,
  type ShareView,
} from '../share/snapshot-view.ts'

export type NodeKind = 'directory' | 'file' | 'symlink'

/** The share's root is a directory that nobody creates or deletes. */
export const ROOT_ID = 0

export type FileNode = Kept & {
  readonly kind: NodeKind
  /** x-ms-file-id */
  readonly nodeId: number
  /** x-ms-file-parent-id; of a file with several names, the directory of its first. */
  readonly parentId: number
  /** Of a directory its name, so that a path can be told from below (directory-path.ts). */
  readonly directoryName?: string
  readonly stamp: number
  readonly modifiedMs: number
  /** FILE_ATTRIBUTE_* ([MS-FSCC] 2.6), but for DIRECTORY and NORMAL, which follow from the rest. */
  readonly attributes: number
  readonly creationTime: FileTime
  readonly lastWriteTime: FileTime
  readonly changeTime: FileTime
  /** Set by SMB clients only; else the time of the last write. */
  readonly lastAccessTime?: FileTime
  readonly permissionKey: string
  readonly metadata: Metadata
  readonly lengthBytes: number
  /** Where the bytes are (extent/content/map.ts); a file without has zeros. */
  readonly map?: number
  /** The share's last snapshot when the map began: a later one may show it, so it is copied before a write. */
  readonly mapSince?: number
  /** The write that last replaced all of it: List Ranges compares back to it and no further. */
  readonly origin?: number
  /** What only REST shows of it. */
  readonly headers?: ContentHeaders
  readonly lease?: Lease
  readonly copy?: CopyState
  /** x-ms-owner, x-ms-group, x-ms-mode: shares with NFS only. */
  readonly owner?: string
  readonly group?: string
  readonly mode?: string
  /** Names of a file, where it has more than one. */
  readonly linkCount?: number
  readonly linkText?: string
}

export type FileEntry = Kept & {
  readonly nodeId: number
  readonly kind: NodeKind
  /** As it was given; it is found in any case. */
  readonly name: string
}

export type FileAddress = ShareAddress & {
  /** The names from the root on (parseFilePath); none is the root itself. */
  readonly path: readonly string[]
}

/** What a path leads to: a place in a directory, and what is there. */
export type Located = {
  readonly share: Share
  readonly view: ShareView
  readonly directoryId: number
  readonly name: string
  readonly entry?: FileEntry
  readonly node?: FileNode
}

export type Existing = Located & { readonly node: FileNode }

// Classes, because every request makes some: their functions are made once.

class NodePlace implements KeptPlace {
  readonly key: Key
  readonly #shareId: number
  readonly #nodeId: number

  constructor({ shareId }: ShareView, nodeId: number) {
    this.key = nodeKey(shareId, nodeId)
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

class EntryPlace implements KeptPlace {
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
  return readKept<FileNode>(tx, new NodePlace(view, nodeId), view)
}

export function getEntry(
  tx: ReadTx,
  view: ShareView,
  directoryId: number,
  name: string,
): Step<FileEntry | undefined> {
  const place = new EntryPlace(view, directoryId, foldName(name))
  return readKept<FileEntry>(tx, place, view)
}

/** Every directory on the way must be there: 404 ParentNotFound. */
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
  const name = path.at(-1)
  if (name === undefined) {
    const root = yield* getNode(tx, view, ROOT_ID)
    return { share, view, directoryId: ROOT_ID, name: '', ...(root && { node: root }) }
  }
  let directoryId = ROOT_ID
  for (let depth = 0; depth < path.length - 1; depth += 1) {
    const entry = yield* getEntry(tx, view, directoryId, path[depth] ?? '')
    if (entry?.kind !== 'directory') throw new StorageError('ParentNotFound')
    directoryId = entry.nodeId
  }
  const entry = yield* getEntry(tx, view, directoryId, name)
  if (entry === undefined) return { share, view, directoryId, name }
  const node = yield* getNode(tx, view, entry.nodeId)
  if (node === undefined) return { share, view, directoryId, name, entry }
  return { share, view, directoryId, name, entry, node }
}

/** It must be there and be of this kind. */
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

/** Made of what it was before, or new. */
type UnsavedNode = Omit<FileNode, 'since'> & Partial<Kept>

function isSince(node: UnsavedNode, since: number): node is FileNode {
  return node.since === since
}

/** Puts `after` in the place of `before`, keeping that where a snapshot shows it. */
export function saveNode(
  tx: Tx,
  view: ShareView,
  before: FileNode | undefined,
  after: UnsavedNode,
): FileNode {
  const since = view.lastSnapshot
  // Every write of every client passes here, and to copy all fields takes as long as to find the file.
  const node = isSince(after, since) ? after : { ...after, since }
  saveKept<FileNode>(tx, new NodePlace(view, after.nodeId), view, before, node)
  return node
}

export function saveEntry(
  tx: Tx,
  view: ShareView,
  directoryId: number,
  before: FileEntry | undefined,
  after: Omit<FileEntry, 'since'>,
): void {
  const place = new EntryPlace(view, directoryId, foldName(after.name))
  saveKept<FileEntry>(tx, place, view, before, { ...after, since: view.lastSnapshot })
}

export function deleteEntry(tx: Tx, view: ShareView, directoryId: number, entry: FileEntry): void {
  deleteKept<FileEntry>(tx, new EntryPlace(view, directoryId, foldName(entry.name)), view, entry)
}

/** What every change leaves on a node: a new ETag, Last-Modified and change time. */
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

/** The map to write the file's bytes to: its own, or a copy of one that a snapshot shows. */
export function* writableMap(
  tx: Tx,
  { lastSnapshot }: ShareView,
  { map, mapSince = 0, stamp }: Pick<FileNode, 'map' | 'mapSince' | 'stamp'>,
  newId: number,
): Step<{ readonly map: number; readonly mapSince: number }> {
  if (map !== undefined && mapSince >= lastSnapshot) return { map, mapSince }
  if (map !== undefined) yield* copyMap(tx, { of: map, to: newId, stamp })
  return { map: newId, mapSince: lastSnapshot }
}

/** The same, with zeros in a range of it. */
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

/** The node no longer has these bytes; they go unless a snapshot still shows them. */
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

/** States of one node that one scan takes: there are at most as many as snapshots. */
const PAST_COUNT = 256

/** The node is gone from the present: its last name went. */
export function* deleteNode(tx: Tx, view: ShareView, node: FileNode): Step<void> {
  deleteKept<FileNode>(tx, new NodePlace(view, node.nodeId), view, node)
  yield* dropBytes(tx, view, node)
}

export function* isEmptyDirectory(tx: ReadTx, shareId: number, nodeId: number): Step<boolean> {
  const some = yield* tx.scan({ ...entriesRange(shareId, nodeId), countMax: 1 })
  return some.length === 0
}
