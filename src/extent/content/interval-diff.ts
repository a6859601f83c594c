// The differences between two interval maps: Get Page Ranges with prevsnapshot. Bytes are unchanged if they come from
// the same place of the same slice; writing equal bytes again counts as a change, as in Azure. Compaction moves a slice
// for all its owners alike, so it never looks like a change.
import { intervalEnd, mergeRanges, type ByteRange, type Interval } from './interval-map.ts'
import type { IntervalMap } from './interval-map.ts'
import { isSameSlice } from './slice-list.ts'

export type IntervalDiff = {
  readonly changed: readonly ByteRange[]
  readonly cleared: readonly ByteRange[]
}

export function diffIntervals(before: IntervalMap, after: IntervalMap): IntervalDiff {
  const changed: ByteRange[] = []
  const cleared: ByteRange[] = []
  let old = 0
  let now = 0
  let at = 0
  while (old < before.length || now < after.length) {
    const a = before[old]
    const b = after[now]
    const to = Math.min(boundary(a, at), boundary(b, at))
    const wasWritten = a !== undefined && a.offset <= at
    const isWritten = b !== undefined && b.offset <= at
    if (isWritten && !(wasWritten && isSameBytes(a, b))) changed.push({ from: at, to })
    if (wasWritten && !isWritten) cleared.push({ from: at, to })
    at = to
    if (a !== undefined && intervalEnd(a) <= at) old += 1
    if (b !== undefined && intervalEnd(b) <= at) now += 1
  }
  return { changed: mergeRanges(changed), cleared: mergeRanges(cleared) }
}

/** The next start or end of `interval` after `at`. */
function boundary(interval: Interval | undefined, at: number): number {
  if (interval === undefined) return Infinity
  return interval.offset > at ? interval.offset : intervalEnd(interval)
}

function isSameBytes(a: Interval, b: Interval): boolean {
  const isAligned = a.piece.from - a.offset === b.piece.from - b.offset
  return isAligned && isSameSlice(a.piece.slice, b.piece.slice)
}
