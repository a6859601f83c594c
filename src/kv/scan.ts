// Reads a whole range inside one transaction, in bounded scans. For ranges that are short or have a limit of their own,
// such as the blocks and the snapshots of one blob.
import { giveWay } from './step.ts'
import { keyAfter, type Entry, type KeyRange, type ReadTx, type Step } from './kv.ts'

/** Entries that one round trip fetches at most. */
const AHEAD_MAX = 10_000

/** `expectedCount`: how many entries there probably are. */
export function* scanAll(
  tx: ReadTx,
  range: KeyRange,
  countAtOnce: number,
  expectedCount = countAtOnce,
): Step<Entry[]> {
  const entries: Entry[] = []
  let from = range.from
  for (;;) {
    const ahead = Math.min(Math.max(expectedCount + 1 - entries.length, countAtOnce), AHEAD_MAX)
    const found = yield* tx.scan({ from, to: range.to, countMax: countAtOnce, ahead })
    for (const entry of found) entries.push(entry)
    const last = found.at(-1)
    if (last === undefined || found.length < countAtOnce) return entries
    from = keyAfter(last.key)
    yield* giveWay()
  }
}
