// How in-process engines decide whether a transaction was overtaken: they repeat its reads and compare versions.
import { compareKeys } from '../key.ts'
import {
  ABSENT,
  type Found,
  type ReadSet,
  type SeenKey,
  type Verdict,
  type Wanted,
} from './engine.ts'

export function checkReads(reads: ReadSet | undefined, read: (wanted: Wanted) => Found): Verdict {
  if (reads === undefined) return 'committed'
  const current = read({
    keys: reads.keys.map(({ key }) => ({ key })),
    ranges: reads.ranges.map(({ range }) => range),
  })
  return isSame(reads, current) ? 'committed' : { current }
}

function isSame(reads: ReadSet, current: Found): boolean {
  return (
    reads.keys.every(({ version }, at) => version === versionOf(current.keys[at])) &&
    reads.ranges.every(({ seen }, at) => isSameRange(seen, current.ranges[at] ?? []))
  )
}

export function versionOf(found: Found['keys'][number]): number {
  return typeof found === 'object' ? found.version : ABSENT
}

function isSameRange(seen: readonly SeenKey[], current: readonly SeenKey[]): boolean {
  return (
    seen.length === current.length &&
    seen.every((entry, at) => {
      const now = current[at]
      return now?.version === entry.version && compareKeys(now.key, entry.key) === 0
    })
  )
}
