// The written ranges of a map, or its differences from another map: Get Page Ranges and List Ranges. Written ranges are
// the differences from an empty map. Maps are read in steps, so a page of the answer costs what it returns.
import { diffIntervals } from './interval-diff.ts'
import { intervalEnd, type ByteRange, type Interval } from './interval-map.ts'
import { cutPiece } from './slice-list.ts'
import type { ReadTx, Step } from '../../kv/kv.ts'
import { giveWay } from '../../kv/step.ts'
import { decodeRecord, type StoredRecord } from '../../kv/record.ts'
import { mapKey, type MapRecord } from './map.ts'

/** A written range, or one that was written before and is zeros now (`isCleared`). */
export type MapRange = ByteRange & { readonly isCleared: boolean }

export type MapRanges = {
  readonly ranges: readonly MapRange[]
  /** Where the next page of the answer begins. */
  readonly next: number | undefined
}

/** Records of a map per scan, about as many as are read and compared in a millisecond. */
const SCAN_COUNT = 256
/** Records after which a page of the answer ends, however few ranges it has. */
const RECORD_COUNT_MAX = 50_000

type Maps = {
  readonly now: number | undefined
  readonly before: number | undefined
  /** Ranges that count as written before, though `before` does not have them; in order. */
  readonly cleared?: readonly ByteRange[]
}

/** The ranges in the window where `now` differs from `before`; without `countMax`, all of them at once. */
export function* changedRanges(
  tx: ReadTx,
  maps: Maps,
  window: ByteRange,
  countMax: number | undefined,
): Step<MapRanges> {
  const ranges: MapRange[] = []
  let recordCount = 0
  let at = window.from
  while (at < window.to) {
    const rest = { from: at, to: window.to }
    const now = yield* mapSegment(tx, maps.now, rest)
    const before = yield* mapSegment(tx, maps.before, rest)
    const part = { from: at, to: Math.min(now.to, before.to) }
    const known = withCleared(before.intervals, maps.cleared ?? [])
    for (const range of changesIn(known, now.intervals, part)) addRange(ranges, range)
    at = part.to
    yield* giveWay()
    if (countMax === undefined) continue
    const further = ranges[countMax]
    if (further !== undefined) return { ranges: ranges.slice(0, countMax), next: further.from }
    recordCount += now.intervals.length + before.intervals.length
    if (recordCount >= RECORD_COUNT_MAX && at < window.to) return { ranges, next: at }
  }
  return { ranges, next: undefined }
}

/** A placeholder for removed bytes: it differs from every slice. */
const GONE = { extent: -1, offset: -1, lengthBytes: 0, crc32: 0 }

/** `intervals`, with the cleared ranges in their gaps. */
function withCleared(
  intervals: readonly Interval[],
  cleared: readonly ByteRange[],
): readonly Interval[] {
  const gone = cleared.flatMap((range) =>
    gapsOf(intervals, range).map(({ from, to }) => ({
      offset: from,
      piece: { slice: GONE, from: 0, lengthBytes: to - from },
    })),
  )
  return gone.length === 0 ? intervals : [...intervals, ...gone].sort((a, b) => a.offset - b.offset)
}

function gapsOf(intervals: readonly Interval[], { from, to }: ByteRange): ByteRange[] {
  const gaps: ByteRange[] = []
  let at = from
  for (const interval of intervals) {
    if (interval.offset >= to) break
    if (interval.offset > at) gaps.push({ from: at, to: interval.offset })
    at = Math.max(at, intervalEnd(interval))
  }
  if (at < to) gaps.push({ from: at, to })
  return gaps
}

type Segment = {
  readonly intervals: readonly Interval[]
  /** The intervals are complete up to here. */
  readonly to: number
}

function* mapSegment(tx: ReadTx, mapId: number | undefined, window: ByteRange): Step<Segment> {
  if (mapId === undefined) return { intervals: [], to: window.to }
  const start = mapKey(mapId, window.from)
  const begun = { from: mapKey(mapId, 0), to: start, countMax: 1, reverse: true }
  const intervals: Interval[] = []
  for (const { value } of yield* tx.scan(begun)) addIntervals(intervals, value)
  const within = { from: start, to: mapKey(mapId, window.to), countMax: SCAN_COUNT }
  const found = yield* tx.scan(within)
  for (const { value } of found) addIntervals(intervals, value)
  const last = intervals.at(-1)
  if (last === undefined || found.length < SCAN_COUNT) return { intervals, to: window.to }
  return { intervals, to: Math.min(intervalEnd(last), window.to) }
}

function addIntervals(intervals: Interval[], value: StoredRecord): void {
  const { content } = decodeRecord<MapRecord>(value)
  let offset = content.at ?? 0
  for (const piece of content.pieces) {
    intervals.push({ offset, piece })
    offset += piece.lengthBytes
  }
}

/** Sorted by offset, as the service does, not by kind. */
function changesIn(
  before: readonly Interval[],
  now: readonly Interval[],
  part: ByteRange,
): MapRange[] {
  const { changed, cleared } = diffIntervals(clip(before, part), clip(now, part))
  const ranges: MapRange[] = changed.map(({ from, to }) => ({ from, to, isCleared: false }))
  if (cleared.length === 0) return ranges
  for (const { from, to } of cleared) ranges.push({ from, to, isCleared: true })
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

/** Merges the range with the last one if they touch. */
function addRange(ranges: MapRange[], range: MapRange): void {
  const last = ranges.at(-1)
  if (last?.to === range.from && last.isCleared === range.isCleared) {
    ranges[ranges.length - 1] = { ...last, to: range.to }
  } else {
    ranges.push(range)
  }
}
