// A map from offset to piece: what a page blob or a file is. Sorted by offset, without overlaps; where
// there is no interval there are zeros. A change needs only the intervals that it overlaps and says
// which to remove and which to put, so that a map can be one array or a record for each interval.
import { continues, cutPiece } from './slice-list.ts'
import type { Hole, Piece } from './slice.ts'

export type Interval = { readonly offset: number; readonly piece: Piece }
export type IntervalMap = readonly Interval[]

/** [from, to) */
export type ByteRange = { readonly from: number; readonly to: number }

/** What a change does to the intervals, by offset: first `remove`, then `put`. */
export type IntervalEdit = { readonly remove: readonly number[]; readonly put: readonly Interval[] }

export function intervalEnd(interval: Interval): number {
  return interval.offset + interval.piece.lengthBytes
}

/** The edit that shows `piece` at `offset`, given the intervals that overlap it, in order. */
export function overwriteOverlapping(
  overlapping: readonly Interval[],
  offset: number,
  piece: Piece,
): IntervalEdit {
  const range = { from: offset, to: offset + piece.lengthBytes }
  const [before, after] = remainders(overlapping, range)
  const written = piece.lengthBytes > 0 ? [{ offset, piece }] : []
  return edit(overlapping, [...before, ...written, ...after])
}

/** The edit that leaves zeros in `range`, given the intervals that overlap it, in order. */
export function clearOverlapping(overlapping: readonly Interval[], range: ByteRange): IntervalEdit {
  return edit(overlapping, remainders(overlapping, range).flat())
}

export function overwrite(map: IntervalMap, offset: number, piece: Piece): Interval[] {
  const [first, end] = overlappingIndexes(map, { from: offset, to: offset + piece.lengthBytes })
  return map.toSpliced(
    first,
    end - first,
    ...overwriteOverlapping(map.slice(first, end), offset, piece).put,
  )
}

export function clear(map: IntervalMap, range: ByteRange): Interval[] {
  const [first, end] = overlappingIndexes(map, range)
  return map.toSpliced(first, end - first, ...clearOverlapping(map.slice(first, end), range).put)
}

/** Drops what lies behind the new length; growing adds zeros, which take no interval. */
export function resize(map: IntervalMap, lengthBytes: number): Interval[] {
  return clear(map, { from: lengthBytes, to: Infinity })
}

/** The intervals that have a byte in `range`. */
export function overlappingIntervals(map: IntervalMap, range: ByteRange): Interval[] {
  return map.slice(...overlappingIndexes(map, range))
}

/** The bytes of `range`, in order and without gaps, for `ExtentStore.read`. */
export function readIntervals(map: IntervalMap, range: ByteRange): (Piece | Hole)[] {
  const pieces: (Piece | Hole)[] = []
  let at = range.from
  for (const interval of overlappingIntervals(map, range)) {
    const start = Math.max(at, interval.offset)
    const end = Math.min(range.to, intervalEnd(interval))
    if (start > at) pieces.push({ slice: undefined, lengthBytes: start - at })
    pieces.push(cutPiece(interval.piece, start - interval.offset, end - start))
    at = end
  }
  if (at < range.to) pieces.push({ slice: undefined, lengthBytes: range.to - at })
  return pieces
}

/** Where bytes were written, neighbours merged: Get Page Ranges, List Ranges. */
export function writtenRanges(map: IntervalMap): ByteRange[] {
  return mergeRanges(map.map((each) => ({ from: each.offset, to: intervalEnd(each) })))
}

/** Joins ranges that touch; they come in order and without overlaps. */
export function mergeRanges(ranges: readonly ByteRange[]): ByteRange[] {
  const merged: ByteRange[] = []
  for (const range of ranges) {
    const last = merged.at(-1)
    if (last !== undefined && last.to === range.from) {
      merged[merged.length - 1] = { from: last.from, to: range.to }
    } else {
      merged.push(range)
    }
  }
  return merged
}

/** Joins intervals that show one run of a slice, so that a map edited often stays short. */
export function mergeIntervals(map: IntervalMap): Interval[] {
  const merged: Interval[] = []
  for (const interval of map) {
    const last = merged.at(-1)
    const joins = last !== undefined && intervalEnd(last) === interval.offset
    if (joins && continues(last.piece, interval.piece)) {
      const lengthBytes = last.piece.lengthBytes + interval.piece.lengthBytes
      merged[merged.length - 1] = { offset: last.offset, piece: { ...last.piece, lengthBytes } }
    } else {
      merged.push(interval)
    }
  }
  return merged
}

/** What is left of the overlapping intervals to the left and to the right of `range`. */
function remainders(
  overlapping: readonly Interval[],
  range: ByteRange,
): readonly [before: Interval[], after: Interval[]] {
  const before: Interval[] = []
  const after: Interval[] = []
  for (const { offset, piece } of overlapping) {
    const end = offset + piece.lengthBytes
    if (offset < range.from) {
      const lengthBytes = Math.min(range.from, end) - offset
      before.push({ offset, piece: cutPiece(piece, 0, lengthBytes) })
    }
    if (end > range.to) {
      const start = Math.max(range.to, offset)
      after.push({ offset: start, piece: cutPiece(piece, start - offset, end - start) })
    }
  }
  return [before, after]
}

function edit(overlapping: readonly Interval[], put: readonly Interval[]): IntervalEdit {
  const kept = new Set(put.map((interval) => interval.offset))
  const remove = overlapping.map((each) => each.offset).filter((offset) => !kept.has(offset))
  return { remove, put }
}

function overlappingIndexes(map: IntervalMap, range: ByteRange): [first: number, end: number] {
  if (range.from >= range.to) {
    const at = firstIndex(map, (interval) => interval.offset >= range.from)
    return [at, at]
  }
  const first = firstIndex(map, (interval) => intervalEnd(interval) > range.from)
  return [
    first,
    Math.max(
      first,
      firstIndex(map, (interval) => interval.offset >= range.to),
    ),
  ]
}

/** The first interval for which `holds`, which holds for every one after it too. */
function firstIndex(map: IntervalMap, holds: (interval: Interval) => boolean): number {
  let low = 0
  let high = map.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const interval = map[middle]
    if (interval !== undefined && holds(interval)) high = middle
    else low = middle + 1
  }
  return low
}
