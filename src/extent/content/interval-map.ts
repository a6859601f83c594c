// A map from offset to piece: the content of a page blob or a file. Sorted by offset, without overlaps; gaps read as
// zeros. A change needs only the intervals that it overlaps and returns which to remove and which to put, so a map can
// be one array or one record per interval.
import { cutPiece } from './slice-list.ts'
import type { Hole, Piece } from './slice.ts'

export type Interval = { readonly offset: number; readonly piece: Piece }
export type IntervalMap = readonly Interval[]

/** [from, to) */
export type ByteRange = { readonly from: number; readonly to: number }

/** A change to the intervals, by offset: first `remove`, then `put`. */
export type IntervalEdit = { readonly remove: readonly number[]; readonly put: readonly Interval[] }

export function intervalEnd(interval: Interval): number {
  return interval.offset + interval.piece.lengthBytes
}

/** The edit that puts `piece` at `offset`, given the intervals that overlap it, in order. */
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

/** The intervals that have a byte in `range`. */
export function overlappingIntervals(map: IntervalMap, range: ByteRange): Interval[] {
  if (range.from >= range.to) return []
  const first = firstIndex(map, (interval) => intervalEnd(interval) > range.from)
  const end = firstIndex(map, (interval) => interval.offset >= range.to)
  return map.slice(first, end)
}

/** The bytes of `range`, in order and without gaps, for `ExtentStore.read`. */
export function readIntervals(map: IntervalMap, range: ByteRange): (Piece | Hole)[] {
  const reading = new RangeReading(range)
  for (const { offset, piece } of overlappingIntervals(map, range)) reading.add(offset, piece)
  return reading.end()
}

/** Collects the bytes of a range from pieces that arrive in order, and fills the gaps. */
export class RangeReading {
  readonly #pieces: (Piece | Hole)[] = []
  readonly #to: number
  #at: number

  constructor({ from, to }: ByteRange) {
    this.#at = from
    this.#to = to
  }

  /** Ignores what is outside of the range. */
  add(offset: number, piece: Piece): void {
    const start = Math.max(this.#at, offset)
    const end = Math.min(this.#to, offset + piece.lengthBytes)
    if (start >= end) return
    this.#fillTo(start)
    this.#pieces.push(cutPiece(piece, start - offset, end - start))
    this.#at = end
  }

  /** All pieces; nothing may be added after it. */
  end(): (Piece | Hole)[] {
    this.#fillTo(this.#to)
    return this.#pieces
  }

  #fillTo(end: number): void {
    if (this.#at < end) this.#pieces.push({ slice: undefined, lengthBytes: end - this.#at })
  }
}

/** Merges adjacent ranges; the input is sorted and has no overlaps. */
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

/** The parts of the overlapping intervals before and after `range`. */
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

/** Binary search: the first interval for which `holds`, which then holds for all later ones. */
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
