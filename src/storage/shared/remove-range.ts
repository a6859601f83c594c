// Removes the records of a range in bounded transactions, each record together with what belongs to it.
import {
  keyAfter,
  type Entry,
  type Key,
  type KeyRange,
  type Kv,
  type Step,
  type Tx,
} from '../../kv/kv.ts'

/** What a record leaves behind or takes along. The record itself is deleted already. */
export type AndThen<T extends Tx> = (tx: T, entry: Entry) => Step<void>

/** Small enough that concurrent writes wait only a few milliseconds. */
const RECORDS_PER_STEP = 200

/** Returns how many. Records that are added meanwhile may stay. */
export async function removeRange<Event>(
  kv: Pick<Kv<Event>, 'write'>,
  range: KeyRange,
  andThen?: AndThen<Tx<Event>>,
  countMax: number = RECORDS_PER_STEP,
): Promise<number> {
  let count = 0
  let from: Key | undefined = range.from
  while (from !== undefined) {
    const rest: KeyRange = { from, to: range.to }
    const removed: Removed = await kv.write((tx) => removeSome(tx, rest, countMax, andThen))
    count += removed.count
    from = removed.next
  }
  return count
}

type Removed = { readonly count: number; readonly next: Key | undefined }

function* removeSome<Event>(
  tx: Tx<Event>,
  range: KeyRange,
  countMax: number,
  andThen: AndThen<Tx<Event>> | undefined,
): Step<Removed> {
  const entries = yield* tx.scan({ ...range, countMax })
  for (const entry of entries) {
    tx.delete(entry.key)
    if (andThen !== undefined) yield* andThen(tx, entry)
  }
  const last = entries.at(-1)
  const next = last === undefined || entries.length < countMax ? undefined : keyAfter(last.key)
  return { count: entries.length, next }
}
