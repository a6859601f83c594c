// Get Page Ranges: where a page blob was written, and what differs between it and a snapshot of it. Both are
// one question, since a blob differs from an empty one where it was written. The maps are read in steps,
// so that a page of the answer costs what it returns.
import { diffIntervals } from '../../extent/interval-diff.ts'
import { intervalEnd, type ByteRange, type Interval } from '../../extent/interval-map.ts'
import { cutPiece } from '../../extent/slice-list.ts'
import type { ReadTx, Step, Value } from '../../kv/kv.ts'
import { decodeRecord } from '../../kv/record.ts'
import { StorageError } from '../error.ts'
import { findBlobAt, isPast, readBlob, type Blob, type BlobAddress } from './blob.ts'
import { checkNotIncremental, requireType, type BlobGuard } from './guard.ts'
import type { MapRecord } from './content.ts'
import { mapKey } from './keys.ts'

export const PAGE_BYTES = 512

/** Pages that show bytes; `isCleared`: pages that showed bytes before and are zeros now. */
export type PageRange = ByteRange & { readonly isCleared: boolean }

export type PageRangeQuery = {
  /** What the client asks about; `to` may be Infinity. */
  readonly range: ByteRange
  /** The snapshot to compare with; 'none of ours' is well-formed and names nothing. */
  readonly previous?: { readonly snapshot: number } | 'none of ours'
  /** Left out, all is answered at once. */
  readonly page?: { readonly from: number; readonly countMax: number }
}

export type PageRanges = {
  readonly blob: Blob
  readonly ranges: readonly PageRange[]
  /** Where the next page of the answer begins. */
  readonly next: number | undefined
}

/** Records of a map that one scan takes. */
const SCAN_COUNT = 1_000
/** Records after which a page of the answer ends, however few ranges they are. */
const RECORD_COUNT_MAX = 50_000

export function* getPageRanges(
  tx: ReadTx,
  address: BlobAddress,
  guard: BlobGuard,
  query: PageRangeQuery,
  nowMs: number,
): Step<PageRanges> {
  const { stored } = yield* readBlob(tx, address, guard, nowMs)
  const { blob } = stored
  requireType(blob, 'PageBlob')
  if (!isPast(blob)) checkNotIncremental(blob)
  const previous =
    query.previous === undefined
      ? undefined
      : yield* findPrevious(tx, address, blob, query.previous, nowMs)
  const asked = pagesOf(query.range, blob.lengthBytes)
  const window = { from: Math.max(asked.from, query.page?.from ?? 0), to: asked.to }
  const maps = { now: blob.map, before: previous?.map }
  return { blob, ...(yield* changedRanges(tx, maps, window, query.page?.countMax)) }
}

/** The pages that the range touches. A range behind the end is an error, the whole of an empty blob is not. */
function pagesOf({ from, to }: ByteRange, lengthBytes: number): ByteRange {
  if (from > 0 && from >= lengthBytes) throw new StorageError('InvalidPageRange')
  const end = Math.min(to, lengthBytes)
  return {
    from: Math.floor(from / PAGE_BYTES) * PAGE_BYTES,
    to: Math.ceil(end / PAGE_BYTES) * PAGE_BYTES,
  }
}

/** The snapshot to compare with: an older one of the same blob, which was not made anew since. */
function* findPrevious(
  tx: ReadTx,
  address: BlobAddress,
  blob: Blob,
  asked: NonNullable<PageRangeQuery['previous']>,
  nowMs: number,
): Step<Blob> {
  if (asked === 'none of ours') throw new StorageError('PreviousSnapshotNotFound')
  const { at, ...current } = address
  if (at !== undefined && 'snapshot' in at && asked.snapshot > at.snapshot) {
    throw new StorageError('PreviousSnapshotCannotBeNewer')
  }
  const { stored } = yield* findBlobAt(tx, { ...current, at: asked }, nowMs)
  if (stored === undefined) throw new StorageError('PreviousSnapshotNotFound')
  if (stored.blob.type !== 'PageBlob') {
    throw new StorageError('PreviousSnapshotOperationNotSupported')
  }
  if (stored.blob.origin !== blob.origin) throw new StorageError('BlobOverwritten')
  return stored.blob
}

type Maps = { readonly now: number | undefined; readonly before: number | undefined }

function* changedRanges(
  tx: ReadTx,
  maps: Maps,
  window: ByteRange,
  countMax: number | undefined,
): Step<Omit<PageRanges, 'blob'>> {
  const ranges: PageRange[] = []
  let recordCount = 0
  let at = window.from
  while (at < window.to) {
    const rest = { from: at, to: window.to }
    const now = yield* mapSegment(tx, maps.now, rest)
    const before = yield* mapSegment(tx, maps.before, rest)
    const part = { from: at, to: Math.min(now.to, before.to) }
    for (const range of changesIn(before.intervals, now.intervals, part)) addRange(ranges, range)
    at = part.to
    if (countMax === undefined) continue
    const further = ranges[countMax]
    if (further !== undefined) return { ranges: ranges.slice(0, countMax), next: further.from }
    recordCount += now.intervals.length + before.intervals.length
    if (recordCount >= RECORD_COUNT_MAX && at < window.to) return { ranges, next: at }
  }
  return { ranges, next: undefined }
}

type Segment = {
  readonly intervals: readonly Interval[]
  /** As far as the intervals are all that there are. */
  readonly to: number
}

function* mapSegment(tx: ReadTx, mapId: number | undefined, window: ByteRange): Step<Segment> {
  if (mapId === undefined) return { intervals: [], to: window.to }
  const start = mapKey(mapId, window.from)
  const begun = { from: mapKey(mapId, 0), to: start, countMax: 1, reverse: true }
  const entries = [...(yield* tx.scan(begun))]
  const within = { from: start, to: mapKey(mapId, window.to), countMax: SCAN_COUNT }
  const found = yield* tx.scan(within)
  entries.push(...found)
  const intervals = entries.flatMap(({ value }) => intervalsOf(value))
  const last = intervals.at(-1)
  if (last === undefined || found.length < SCAN_COUNT) return { intervals, to: window.to }
  return { intervals, to: Math.min(intervalEnd(last), window.to) }
}

function intervalsOf(value: Value): Interval[] {
  const { content } = decodeRecord<MapRecord>(value)
  let offset = content.at ?? 0
  return content.pieces.map((piece) => {
    const interval = { offset, piece }
    offset += piece.lengthBytes
    return interval
  })
}

/** In the order of their offsets, as the service has them, not by kind. */
function changesIn(
  before: readonly Interval[],
  now: readonly Interval[],
  part: ByteRange,
): PageRange[] {
  const { changed, cleared } = diffIntervals(clip(before, part), clip(now, part))
  const ranges = [
    ...changed.map((range) => ({ ...range, isCleared: false })),
    ...cleared.map((range) => ({ ...range, isCleared: true })),
  ]
  return ranges.sort((a, b) => a.from - b.from)
}

function clip(intervals: readonly Interval[], { from, to }: ByteRange): Interval[] {
  const clipped: Interval[] = []
  for (const interval of intervals) {
    const start = Math.max(interval.offset, from)
    const end = Math.min(intervalEnd(interval), to)
    if (start >= end) continue
    const piece = cutPiece(interval.piece, start - interval.offset, end - start)
    clipped.push({ offset: start, piece })
  }
  return clipped
}

/** Joins it to the last one where they touch. */
function addRange(ranges: PageRange[], range: PageRange): void {
  const last = ranges.at(-1)
  if (last?.to === range.from && last.isCleared === range.isCleared) {
    ranges[ranges.length - 1] = { ...last, to: range.to }
  } else {
    ranges.push(range)
  }
}
