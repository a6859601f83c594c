// Pages of a page blob that were written and then cleared. They are neither in the blob's map nor in that of an
// older snapshot, yet a diff against the snapshot reports them (Get Page Ranges with prevsnapshot). So the
// record lists them, with the write that cleared them.
import type { ByteRange } from '../../../extent/content/interval-map.ts'

/** `stamp` is that of the write that cleared it. */
export type ClearedRange = ByteRange & { readonly stamp: number }

/** Beyond this, neighbours are joined. Pages between them are reported as cleared only if they are zeros now. */
const CLEARED_COUNT_MAX = 64

type Clearable = { readonly stamp: number; readonly cleared?: readonly ClearedRange[] }

/** `blob` is the record after the write that cleared `range`; `gone` is what was in the range before. */
export function withCleared<T extends Clearable>(
  blob: T,
  gone: readonly ByteRange[],
  range: ByteRange,
): T {
  if (gone.length === 0) return blob
  const { cleared = [], stamp } = blob
  const older = cleared.flatMap((each) => outside(each, range))
  const newer = gone.map(({ from, to }) => ({
    from: Math.max(from, range.from),
    to: Math.min(to, range.to),
    stamp,
  }))
  const ranges = [...older, ...newer].sort((a, b) => a.from - b.from)
  return { ...blob, cleared: atMost(CLEARED_COUNT_MAX, ranges) }
}

function outside({ from, to, stamp }: ClearedRange, range: ByteRange): ClearedRange[] {
  const parts = [
    { from, to: Math.min(to, range.from), stamp },
    { from: Math.max(from, range.to), to, stamp },
  ]
  return parts.filter((part) => part.from < part.to)
}

/** Joins neighbours that one write cleared and, beyond `countMax`, the closest ones. */
function atMost(countMax: number, sorted: readonly ClearedRange[]): readonly ClearedRange[] {
  let ranges = joined(sorted, (last, next) => last.to === next.from && last.stamp === next.stamp)
  for (let gapBytes = 512; ranges.length > countMax; gapBytes *= 2) {
    ranges = joined(ranges, (last, next) => next.from - last.to <= gapBytes)
  }
  return ranges
}

function joined(
  sorted: readonly ClearedRange[],
  isOne: (last: ClearedRange, next: ClearedRange) => boolean,
): ClearedRange[] {
  const ranges: ClearedRange[] = []
  for (const next of sorted) {
    const last = ranges.at(-1)
    if (last === undefined || !isOne(last, next)) ranges.push(next)
    else {
      const stamp = Math.max(last.stamp, next.stamp)
      ranges[ranges.length - 1] = { from: last.from, to: next.to, stamp }
    }
  }
  return ranges
}
