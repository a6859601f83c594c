// How a share's snapshots cost nothing: a snapshot is a number. Every record of a share says since which
// snapshot it is as it is; whoever changes it first after a later one keeps the old state under that
// snapshot's number. A snapshot sees of each record the first state that was kept under its number or a
// later one, or else the current one, if that is older than the snapshot.
import { getFields } from '../../../kv/fields.ts'
import type { Key, ReadTx, ScanRange, Step, Tx } from '../../../kv/kv.ts'
import {
  decodeRecord,
  encodeRecord,
  encodeSharedRecord,
  type StoredRecord,
} from '../../../kv/record.ts'

/** What every record of a share has. */
export type Kept = {
  /** The share's last snapshot when this state began; 0 if there was none. */
  readonly since: number
}

/** The share as it is, or as it was. */
export type ShareView = {
  readonly shareId: number
  /** The last snapshot that was taken; 0 if there is none. */
  readonly lastSnapshot: number
  /** The snapshot to look at; left out, the present. */
  readonly snapshot?: number
}

/** Where a record is now, and where its former states are. */
export type KeptPlace = {
  readonly key: Key
  pastKey(snapshot: number): Key
  /** The states kept under this snapshot or a later one, in order. */
  pastFrom(snapshot: number): Pick<ScanRange, 'from' | 'to'>
}

export function readKept<T extends Kept>(
  tx: ReadTx,
  place: KeptPlace,
  { snapshot }: ShareView,
): Step<T | undefined> {
  if (snapshot === undefined) return getFields<T>(tx, place.key)
  return readPast<T>(tx, place, snapshot)
}

function* readPast<T extends Kept>(
  tx: ReadTx,
  place: KeptPlace,
  snapshot: number,
): Step<T | undefined> {
  const [past] = yield* tx.scan({ ...place.pastFrom(snapshot), countMax: 1 })
  if (past !== undefined) return seenAt(decodeKept<T>(past.value), snapshot)
  const record = yield* getFields<T>(tx, place.key)
  return record === undefined ? undefined : seenAt(record, snapshot)
}

/** A state that began at this snapshot or later is not what it saw. */
export function seenAt<T extends Kept>(record: T, snapshot: number): T | undefined {
  return record.since < snapshot ? record : undefined
}

/** Whether the present state has to be kept for a snapshot before it changes. */
export function isShown({ since }: Kept, { lastSnapshot }: ShareView): boolean {
  return since < lastSnapshot
}

/** Changes a record, keeping its state if a snapshot shows it. */
export function saveKept<T extends Kept>(
  tx: Tx,
  place: KeptPlace,
  view: ShareView,
  before: T | undefined,
  after: T,
): void {
  keep(tx, place, view, before)
  tx.put(place.key, encodeSharedRecord(after))
}

export function deleteKept<T extends Kept>(
  tx: Tx,
  place: KeptPlace,
  view: ShareView,
  before: T,
): void {
  keep(tx, place, view, before)
  tx.delete(place.key)
}

function keep<T extends Kept>(
  tx: Tx,
  place: KeptPlace,
  view: ShareView,
  before: T | undefined,
): void {
  if (before === undefined || !isShown(before, view)) return
  tx.put(place.pastKey(view.lastSnapshot), encodeRecord(before))
}

export function decodeKept<T extends Kept>(value: StoredRecord): T {
  return decodeRecord<T>(value)
}
