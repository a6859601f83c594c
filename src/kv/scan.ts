// Reads a whole range inside one transaction, in bounded scans. For ranges that are short or have a limit of their own,
// such as the blocks and the snapshots of one blob.
import { giveWay } from './step.ts'
import { keyAfter, type Entry, type KeyRange, type ReadTx, type Step } from './kv.ts'

export function* scanAll(tx: ReadTx, range: KeyRange, countAtOnce: number): Step<Entry[]> {
  const entries: Entry[] = []
  let from = range.from
  for (;;) {
    const found = yield* tx.scan({ from, to: range.to, countMax: countAtOnce })
    for (const entry of found) entries.push(entry)
    const last = found.at(-1)
    if (last === undefined || found.length < countAtOnce) return entries
    from = keyAfter(last.key)
    yield* giveWay()
  }
}
