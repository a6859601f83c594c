// How in-process engines decide whether a transaction was overtaken: they repeat its reads and compare versions.
import { compareKeys } from '../key.ts'
import {
  ABSENT,
  isOvertaken,
  type Engine,
  type Found,
  type ReadSet,
  type Retry,
  type SeenKey,
  type Transaction,
  type Verdict,
  type Wanted,
  type Write,
} from './engine.ts'

/** Applies those whose reads are unchanged, in order. What the others have read is read again in the end. */
export function commitInOrder(
  transactions: readonly Transaction[],
  read: (wanted: Wanted) => Found,
  apply: (writes: readonly Write[]) => void,
): readonly Verdict[] {
  const areUnchanged = transactions.map(({ reads, writes }) => {
    const isUnchanged = reads === undefined || isSame(reads, read(wantedOf(reads)))
    if (isUnchanged) apply(writes)
    return isUnchanged
  })
  return transactions.map(({ reads }, at) =>
    areUnchanged[at] === true || reads === undefined
      ? 'committed'
      : { current: read(wantedOf(reads)) },
  )
}

/** While nobody else can commit. */
export async function commitThenRetry(
  transactions: readonly Transaction[],
  commit: Engine['commit'],
  retry: Retry | undefined,
): Promise<readonly Verdict[]> {
  const verdicts = await commit(transactions)
  if (verdicts.some(isOvertaken)) await retry?.(verdicts, commit)
  return verdicts
}

function wantedOf({ keys, ranges }: ReadSet): Wanted {
  return { keys: keys.map(({ key }) => ({ key })), ranges: ranges.map(({ range }) => range) }
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
