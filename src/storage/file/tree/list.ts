// Lists the entries of a directory in order, a page at a time. A page costs the same however large the directory is. A
// snapshot's list is merged from current entries that have not changed since and past entries preserved for it.
import { decodeKey, lastKeyString } from '../../../kv/key.ts'
import { keyAfter, prefixRange, type Key, type ReadTx, type Step } from '../../../kv/kv.ts'
import { decodeRecord, type StoredRecord } from '../../../kv/record.ts'
import { giveWay } from '../../../kv/step.ts'
import { scanAll } from '../../../kv/scan.ts'
import { openCursor, SKIP_MAX, type Cursor } from '../../shared/cursor.ts'
import { foldName } from './file-name.ts'
import {
  deletePendingRange,
  entryKey,
  entryKeyPrefix,
  pastEntryKey,
  pastEntryKeyPrefix,
} from '../keys.ts'
import { getNode, type FileEntry, type FileNode } from './node.ts'
import { visibleAt, type ShareView } from '../share/snapshot-view.ts'

export type ListEntries = {
  /** Case-insensitive. */
  readonly prefix?: string
  /** Starts after this name (foldName), which need not exist. */
  readonly from?: string
  readonly countMax: number
  /** Includes entries that SMB clients have marked for deletion; REST hides them. */
  readonly withDeletePending?: boolean
}

export type ListedEntry = { readonly entry: FileEntry; readonly node: FileNode }

export type EntryPage = {
  readonly items: readonly ListedEntry[]
  /** The `from` of the next page; undefined at the end. */
  readonly next: string | undefined
}

const PENDING_COUNT = 1_000
/** Entries after which the list gives way to other transactions. */
const GIVE_WAY_COUNT = 64

export function* listEntries(
  tx: ReadTx,
  view: ShareView,
  directoryId: number,
  list: ListEntries,
): Step<EntryPage> {
  const walk = openWalk(tx, view, directoryId, list)
  const hasHidden = view.snapshot === undefined && list.withDeletePending !== true
  const pending = hasHidden ? yield* pendingNodes(tx, view) : NONE
  const items: ListedEntry[] = []
  let last = list.from
  for (let skipped = 0; ;) {
    const found = yield* walk()
    if (found === undefined) return { items, next: undefined }
    const { entry, folded } = found
    const isListed = entry !== undefined && !pending.has(entry.nodeId)
    if (isListed && items.length === list.countMax) return { items, next: last }
    const node = isListed ? yield* getNode(tx, view, entry.nodeId) : undefined
    if (isListed && node !== undefined) items.push({ entry, node })
    else skipped += 1
    if (items.length % GIVE_WAY_COUNT === 0) yield* giveWay()
    last = folded
    if (skipped > SKIP_MAX) return { items, next: last }
  }
}

const NONE: ReadonlySet<number> = new Set()

/** Nodes that SMB clients have marked for deletion. */
function* pendingNodes(tx: ReadTx, { shareId }: ShareView): Step<ReadonlySet<number>> {
  const marked = yield* scanAll(tx, deletePendingRange(shareId), PENDING_COUNT)
  if (marked.length === 0) return NONE
  return new Set(marked.map(({ key }) => Number(decodeKey(key).at(-1))))
}

/** A name, and its entry if the view shows one. */
type Found = { readonly folded: string; readonly entry: FileEntry | undefined }

type Past = { readonly folded: string; readonly snapshot: number; readonly entry: FileEntry }

function openWalk(
  tx: ReadTx,
  view: ShareView,
  directoryId: number,
  list: ListEntries,
): () => Step<Found | undefined> {
  const { snapshot } = view
  const present = openPresent(tx, view, directoryId, list)
  if (snapshot !== undefined) {
    const past = openPast(tx, view, directoryId, list)
    const seek = (folded: string, at: number): void =>
      past.seek(pastEntryKey(view.shareId, directoryId, folded, at))
    return () => nextInSnapshot(present, past, seek, snapshot)
  }
  return () => nextPresent(present)
}

function openPresent(
  tx: ReadTx,
  { shareId }: ShareView,
  directoryId: number,
  { prefix = '', from, countMax }: ListEntries,
): Cursor<Found & { readonly entry: FileEntry }> {
  const nameAt = entryKeyPrefix(shareId, directoryId, '').length - 1
  const pick = (key: Key, value: StoredRecord) => {
    return { folded: lastKeyString(key, nameAt), entry: decodeRecord<FileEntry>(value) }
  }
  const range = prefixRange(entryKeyPrefix(shareId, directoryId, foldName(prefix)))
  const cursor = openCursor(tx, range, pick, countMax + 1)
  if (from !== undefined) cursor.seek(keyAfter(entryKey(shareId, directoryId, from)))
  return cursor
}

function openPast(
  tx: ReadTx,
  { shareId }: ShareView,
  directoryId: number,
  { prefix = '', from }: ListEntries,
): Cursor<Past> {
  const pick = (key: Key, value: StoredRecord): Past => {
    const [folded, snapshot] = decodeKey(key).slice(-2)
    return {
      folded: String(folded),
      snapshot: Number(snapshot),
      entry: decodeRecord<FileEntry>(value),
    }
  }
  const range = prefixRange(pastEntryKeyPrefix(shareId, directoryId, foldName(prefix)))
  const cursor = openCursor(tx, range, pick)
  if (from !== undefined) cursor.seek(pastEntryKey(shareId, directoryId, from, LAST))
  return cursor
}

/** After all past states of a name. */
const LAST = Number.MAX_SAFE_INTEGER

function* nextPresent(present: Cursor<Found>): Step<Found | undefined> {
  const found = yield* present.peek()
  present.advance()
  return found
}

/** The first state preserved under this snapshot or a later one decides; without one, the current state. */
function* nextInSnapshot(
  present: Cursor<Found & { readonly entry: FileEntry }>,
  past: Cursor<Past>,
  seekPast: (folded: string, snapshot: number) => void,
  snapshot: number,
): Step<Found | undefined> {
  const now = yield* present.peek()
  let preserved = yield* past.peek()
  const folded = firstOf(now?.folded, preserved?.folded)
  if (folded === undefined) return undefined
  if (preserved?.folded === folded) {
    seekPast(folded, snapshot)
    preserved = yield* past.peek()
    seekPast(folded, LAST)
  }
  if (now?.folded === folded) present.advance()
  if (preserved?.folded === folded) return { folded, entry: visibleAt(preserved.entry, snapshot) }
  return { folded, entry: now?.folded === folded ? visibleAt(now.entry, snapshot) : undefined }
}

function firstOf(one: string | undefined, other: string | undefined): string | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return one < other ? one : other
}
