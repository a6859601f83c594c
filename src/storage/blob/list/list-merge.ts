// List Blobs with snapshots, versions, soft-deleted or uncommitted blobs: three ranges of keys, merged by name.
// The past states of a name come first, oldest first, then the blob itself. If only the name matters, the walk
// skips its past states.
import { decodeKey } from '../../../kv/key.ts'
import type { Key, KeyRange, ReadTx, Step } from '../../../kv/kv.ts'
import type { StoredRecord } from '../../../kv/record.ts'
import { BATCH_MIN, nextBatch, openCursor, SKIP_MAX, type Cursor } from '../../shared/cursor.ts'
import { decodeBlob, decodePast, isBlobExpired } from '../blob.ts'
import type { Blob, PastBlob } from '../record.ts'
import { DELETED_ROOT, pastBlobKey } from '../keys.ts'
import {
  BLOBS,
  foldedPrefix,
  listRange,
  PASTS,
  STAGINGS,
  startKey,
  type BlobItem,
  type BlobPage,
  type ListBlobs,
  type ListIncludes,
  type ListPosition,
} from './list-page.ts'
import { decodeStaging, isStagingExpired, type Staging } from '../content/staging.ts'

type MergedList = ListBlobs & { readonly include: ListIncludes }

type PastEntry = { readonly name: string; readonly stamp: number; readonly past: PastBlob }
type BlobEntry = { readonly name: string; readonly blob: Blob }
type StagingEntry = { readonly name: string; readonly staging: Staging }

type Walk = {
  readonly tx: ReadTx
  readonly containerId: number
  readonly list: MergedList
  readonly nowMs: number
  readonly pasts: Cursor<PastEntry>
  readonly blobs: Cursor<BlobEntry>
  readonly stagings: Cursor<StagingEntry>
  /** The name whose past states have been visited, and whose blob, if any, comes next. */
  open: string | undefined
}

/** One step of the walk: the item, if this record is listed, and the position after it. */
type Stepped = { readonly item: BlobItem | undefined; readonly after: ListPosition }

export function* listMerged(
  tx: ReadTx,
  containerId: number,
  list: MergedList,
  nowMs: number,
): Step<BlobPage> {
  const walk = startWalk(tx, containerId, list, nowMs)
  const items: BlobItem[] = []
  let next: ListPosition | undefined
  let skipped = 0
  for (;;) {
    const stepped = yield* step(walk)
    if (stepped === undefined) return { items, next: undefined }
    const { item, after } = folded(walk, stepped)
    if (item === undefined) skipped += 1
    else if (items.length === list.countMax) return { items, next }
    else items.push(item)
    next = after
    if (skipped > SKIP_MAX) return { items, next }
  }
}

function startWalk(tx: ReadTx, containerId: number, list: MergedList, nowMs: number): Walk {
  const { include, start } = list
  const hasPast = isPastListed(include) || include.deleted || include.deletedWithVersions
  const range = (names: typeof BLOBS, isUsed: boolean): KeyRange => {
    const { from, to } = listRange(names, containerId, list)
    return isUsed ? { from, to } : { from: to, to }
  }
  // With a delimiter, most records are skipped.
  const expectedCount = list.delimiter === undefined ? list.countMax + 1 : 0
  return {
    tx,
    containerId,
    list,
    nowMs,
    pasts: openCursor(tx, range(PASTS, hasPast), pickPast, expectedCount),
    blobs: openCursor(tx, range(BLOBS, true), pickBlob, expectedCount),
    stagings: openCursor(tx, range(STAGINGS, include.uncommitted), pickStaging, expectedCount),
    open: start !== undefined && 'afterPast' in start ? start.afterPast : undefined,
  }
}

function isPastListed(include: ListIncludes): boolean {
  return include.snapshots || include.versions
}

function* step(walk: Walk): Step<Stepped | undefined> {
  const past = yield* walk.pasts.peek()
  const blob = yield* walk.blobs.peek()
  const staging = yield* walk.stagings.peek()
  const name = firstOf(walk.open, past?.name, blob?.name, staging?.name)
  if (name === undefined) return undefined
  if (past?.name === name) return stepPast(walk, past)
  const hadPast = walk.open === name
  walk.open = undefined
  if (blob?.name === name) walk.blobs.advance()
  if (staging?.name === name) walk.stagings.advance()
  const after = { afterName: name }
  if (blob?.name === name && !isBlobExpired(blob.blob, walk.nowMs)) return { item: blob, after }
  if (staging?.name === name && !isStagingExpired(staging.staging, walk.nowMs)) {
    return { item: staging, after }
  }
  return { item: hadPast ? yield* versionsOnly(walk, name) : undefined, after }
}

function firstOf(...names: readonly (string | undefined)[]): string | undefined {
  let first: string | undefined
  for (const name of names) {
    if (name !== undefined && (first === undefined || name < first)) first = name
  }
  return first
}

function stepPast(walk: Walk, entry: PastEntry): Stepped {
  const { containerId, list, pasts } = walk
  const { name, stamp, past } = entry
  pasts.advance()
  walk.open = name
  if (!isPastListed(list.include)) {
    // Of the past states only the soft-deleted blob is listed, which is the last one.
    const isRootListed = list.include.deleted && past.kind !== 'root'
    pasts.seek(
      isRootListed ? pastBlobKey(containerId, name, DELETED_ROOT) : PASTS.after(containerId, name),
    )
  }
  const item = isListed(past, list.include, walk.nowMs) ? entry : undefined
  return { item, after: { afterPast: name, stamp } }
}

function isListed(past: PastBlob, include: ListIncludes, nowMs: number): boolean {
  if (past.deleted !== undefined && (!include.deleted || isRetentionOver(past, nowMs))) return false
  if (past.kind === 'snapshot') return include.snapshots
  return past.kind === 'root' || include.versions
}

/** Can't be restored any more, but the sweep has not removed it yet. */
function isRetentionOver({ deleted }: PastBlob, nowMs: number): boolean {
  return deleted !== undefined && deleted.untilMs <= nowMs
}

/** A name that has nothing but versions is listed as its newest version. */
function* versionsOnly(walk: Walk, name: string): Step<BlobItem | undefined> {
  const { tx, containerId, nowMs } = walk
  const { include } = walk.list
  if (!include.deletedWithVersions) return undefined
  const from = PASTS.from(containerId, name)
  let to = PASTS.after(containerId, name)
  for (let countMax = BATCH_MIN; ; countMax = nextBatch(countMax)) {
    const entries = yield* tx.scanFields({ from, to, countMax, reverse: true })
    const found = entries.map(({ key, value }) => pickPast(key, value))
    for (const { past } of found) {
      if (past.kind === 'root' && isListed(past, include, nowMs)) return undefined
      if (past.kind !== 'version' || isRetentionOver(past, nowMs)) continue
      return { name, blob: past, hasVersionsOnly: true }
    }
    const last = found.at(-1)
    if (last === undefined || found.length < countMax) return undefined
    to = pastBlobKey(containerId, name, last.stamp)
  }
}

/** A name that contains the delimiter is listed as its prefix; the walk then skips all names with that prefix. */
function folded(walk: Walk, stepped: Stepped): Stepped {
  const { item } = stepped
  if (item === undefined || 'prefix' in item) return stepped
  const prefix = foldedPrefix(item.name, walk.list)
  if (prefix === undefined) return stepped
  const after = { afterPrefix: prefix }
  walk.open = undefined
  walk.pasts.seek(startKey(PASTS, walk.containerId, after))
  walk.blobs.seek(startKey(BLOBS, walk.containerId, after))
  walk.stagings.seek(startKey(STAGINGS, walk.containerId, after))
  return { item: { prefix }, after }
}

function pickPast(key: Key, value: StoredRecord): PastEntry {
  const [, , name, stamp] = decodeKey(key)
  return { name: String(name), stamp: Number(stamp), past: decodePast(value) }
}

function pickBlob(key: Key, value: StoredRecord): BlobEntry {
  return { name: nameOf(key), blob: decodeBlob(value) }
}

function pickStaging(key: Key, value: StoredRecord): StagingEntry {
  return { name: nameOf(key), staging: decodeStaging(value) }
}

function nameOf(key: Key): string {
  return String(decodeKey(key)[2])
}
