// Copy-on-write snapshots of a share: taking one costs nothing, since a snapshot is just a number. Every record of a
// share stores the last snapshot before its current state. The first change after a newer snapshot preserves the old
// state under that snapshot's number. For each record, a snapshot shows the first state preserved under its own or a
// later number, otherwise the current state if that is older than the snapshot.
import type { Key, ReadTx, ScanRange, Step, Tx } from '../../../kv/kv.ts'
import { decodeRecord, encodeRecord, encodeSharedRecord } from '../../../kv/record.ts'

/** Common to all records of a share that snapshots show. */
export type VersionedRecord = {
  /** The share's last snapshot when this state was written; 0 if there was none. */
  readonly since: number
}

/** The current share, or one of its snapshots. */
export type ShareView = {
  readonly shareId: number
  /** The newest snapshot; 0 if there is none. */
  readonly lastSnapshot: number
  /** The snapshot to read; left out, the current share. */
  readonly snapshot?: number
}

/** The keys of a record: of its current state, and of its past states. */
export type VersionedKeys = {
  readonly key: Key
  pastKey(snapshot: number): Key
  /** The states preserved under this snapshot or a later one, in order. */
  pastFrom(snapshot: number): Pick<ScanRange, 'from' | 'to'>
}

export function readVersioned<T extends VersionedRecord>(
  tx: ReadTx,
  keys: VersionedKeys,
  { snapshot }: ShareView,
): Step<T | undefined> {
  if (snapshot === undefined) return tx.getFields<T>(keys.key)
  return readPast<T>(tx, keys, snapshot)
}

function* readPast<T extends VersionedRecord>(
  tx: ReadTx,
  keys: VersionedKeys,
  snapshot: number,
): Step<T | undefined> {
  const [past] = yield* tx.scan({ ...keys.pastFrom(snapshot), countMax: 1 })
  if (past !== undefined) return visibleAt(decodeRecord<T>(past.value), snapshot)
  const record = yield* tx.getFields<T>(keys.key)
  return record === undefined ? undefined : visibleAt(record, snapshot)
}

/** A snapshot does not show states written after it. */
export function visibleAt<T extends VersionedRecord>(record: T, snapshot: number): T | undefined {
  return record.since < snapshot ? record : undefined
}

/** Whether a snapshot shows the current state, which then must be preserved before it changes. */
export function isInSnapshot({ since }: VersionedRecord, { lastSnapshot }: ShareView): boolean {
  return since < lastSnapshot
}

/** Changes a record, preserving its old state if a snapshot shows it. */
export function saveVersioned<T extends VersionedRecord>(
  tx: Tx,
  keys: VersionedKeys,
  view: ShareView,
  before: T | undefined,
  after: T,
): void {
  preserve(tx, keys, view, before)
  tx.put(keys.key, encodeSharedRecord(after))
}

export function deleteVersioned<T extends VersionedRecord>(
  tx: Tx,
  keys: VersionedKeys,
  view: ShareView,
  before: T,
): void {
  preserve(tx, keys, view, before)
  tx.delete(keys.key)
}

function preserve<T extends VersionedRecord>(
  tx: Tx,
  keys: VersionedKeys,
  view: ShareView,
  before: T | undefined,
): void {
  if (before === undefined || !isInSnapshot(before, view)) return
  tx.put(keys.pastKey(view.lastSnapshot), encodeRecord(before))
}
