// The walk behind lists of containers and of shares: those of an account, ordered by name, and on request the
// deleted ones that can be restored. A deleted one comes before the current one of the same name.
import { decodeKey, laterKey } from '../../kv/key.ts'
import {
  keyAfter,
  keyAfterPrefix,
  type Key,
  type KeyRange,
  type ReadTx,
  type Step,
} from '../../kv/kv.ts'
import type { StoredRecord } from '../../kv/record.ts'
import { openCursor, type Cursor } from './cursor.ts'

/** The keys of containers or shares, and how to decode their records. */
export type NameSource<T> = {
  prefix(account: string, start: string): Key
  key(account: string, name: string): Key
  pastPrefix(account: string, start: string): Key
  pastKey(account: string, name: string, id: number): Key
  pick(key: Key, value: StoredRecord): T
  pickDeleted(key: Key, value: StoredRecord): T
}

/** The page starts after this one, after this deleted one, or after a snapshot of either. */
export type NamePosition = {
  readonly name: string
  readonly deletedId?: number
  readonly snapshot?: number
}

type NameList = {
  readonly prefix: string
  readonly after: NamePosition | undefined
  readonly isDeletedIncluded: boolean
}

/** Returns a function that gives the next one, and undefined at the end. */
export function openNames<T extends { readonly name: string }>(
  tx: ReadTx,
  account: string,
  list: NameList,
  names: NameSource<T>,
): () => Step<T | undefined> {
  const live = openCursor(tx, liveRange(account, list, names), names.pick)
  const deleted = openCursor(tx, deletedRange(account, list, names), names.pickDeleted)
  return () => nextName(live, deleted)
}

function* nextName<T extends { readonly name: string }>(
  live: Cursor<T>,
  deleted: Cursor<T>,
): Step<T | undefined> {
  const [past, present] = [yield* deleted.peek(), yield* live.peek()]
  const isPastFirst = past !== undefined && (present === undefined || past.name <= present.name)
  const cursor = isPastFirst ? deleted : live
  cursor.advance()
  return isPastFirst ? past : present
}

/** The share itself comes after its snapshots. */
function liveRange<T>(
  account: string,
  { prefix, after }: NameList,
  names: NameSource<T>,
): KeyRange {
  const start = names.prefix(account, prefix)
  const to = keyAfterPrefix(start)
  if (after === undefined) return { from: start, to }
  const key = names.key(account, after.name)
  const isPassed = after.deletedId === undefined && after.snapshot === undefined
  return { from: laterKey(start, isPassed ? keyAfter(key) : key), to }
}

function deletedRange<T>(account: string, list: NameList, names: NameSource<T>): KeyRange {
  const { prefix, after, isDeletedIncluded } = list
  const start = names.pastPrefix(account, prefix)
  const to = keyAfterPrefix(start)
  if (!isDeletedIncluded) return { from: to, to }
  if (after === undefined) return { from: start, to }
  const { name, deletedId, snapshot } = after
  const key = names.pastKey(account, name, deletedId ?? Number.MAX_SAFE_INTEGER)
  const isPassed = deletedId === undefined || snapshot === undefined
  return { from: laterKey(start, isPassed ? keyAfter(key) : key), to }
}

/** Both kinds of keys have the name after the account. */
export function nameOf(key: Key): string {
  return String(decodeKey(key)[2])
}
