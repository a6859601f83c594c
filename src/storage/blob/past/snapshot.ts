// Snapshot Blob: the state of a blob under an id of its own. It copies the map of the bytes, not the bytes.
// A blob counts its live snapshots, since it can't be deleted without them. Where there is no blob (with
// versioning on, Undelete Blob brings back snapshots alone), a record of its own counts for the next one.
import type { Step, Tx } from '../../../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../../../kv/record.ts'
import { checkWriteConditions } from '../../shared/condition.ts'
import { checkLeaseForRead } from '../../shared/lease.ts'
import type { Metadata } from '../../shared/metadata.ts'
import type { Moment } from '../../../node/moment.ts'
import { findBlob, laterMs, requireBlob, type BlobAddress, type Target } from '../blob.ts'
import type { Blob } from '../record.ts'
import { checkNoPendingCopy, conditionState, type BlobGuard } from '../guard.ts'
import { checkEncryption } from '../encryption.ts'
import { orphanSnapshotsKey } from '../keys.ts'
import { copyPast, copyToVersion, nextPastStamp, placeOf, type BlobPlace } from './past.ts'
import { getProtection } from '../protection.ts'
import { checkOnline } from '../tier.ts'

/** Snapshot Blob. With new metadata the snapshot has an ETag of its own, else it has the blob's. */
export function* snapshotBlob(
  tx: Tx,
  address: BlobAddress,
  guard: BlobGuard,
  {
    metadata,
    newIds,
  }: { readonly metadata: Metadata | undefined; readonly newIds: readonly [number, number] },
  moment: Moment,
): Step<{ readonly snapshot: number; readonly blob: Blob; readonly version: number | undefined }> {
  const target = requireBlob(yield* findBlob(tx, address, moment.nowMs))
  const { blob, bytes } = target.stored
  checkWriteConditions(guard.conditions, conditionState(blob), 'update')
  checkLeaseForRead(blob.lease, guard.leaseId, moment.nowMs, 'blob')
  checkNoPendingCopy(blob)
  checkOnline(blob, moment.nowMs)
  // A blob with a scope needs the scope named too (test_cpk_n.py of Azure's SDK for Python).
  checkEncryption(blob.encryption, guard.encryption ?? {}, 'write', target.container)
  const place = placeOf(address, target)
  const snapshot = yield* nextPastStamp(tx, place, blob, moment)
  const modifiedMs = laterMs(blob, moment)
  const own = metadata === undefined ? {} : { metadata, stamp: snapshot, modifiedMs }
  const past = { ...blob, ...own }
  yield* copyPast(tx, place, snapshot, { blob: past, bytes }, { kind: 'snapshot' }, newIds[0])
  const { isVersioningEnabled } = yield* getProtection(tx, address.account)
  let version: number | undefined
  if (isVersioningEnabled) {
    yield* copyToVersion(tx, place, target.stored, newIds[1])
    version = yield* nextPastStamp(tx, place, blob, moment)
  }
  const base = withSnapshots(blob, (blob.snapshotCount ?? 0) + 1)
  tx.put(target.key, encodeRecord(version === undefined ? base : { ...base, version }, bytes))
  return { snapshot, blob: past, version }
}

/** Live snapshots came or went; the ETag of the blob, if there is one, stays. */
export function* countSnapshots(
  tx: Tx,
  place: BlobPlace,
  { key, stored }: Target,
  by: number,
): Step<void> {
  if (stored !== undefined) {
    const count = Math.max(0, (stored.blob.snapshotCount ?? 0) + by)
    tx.put(key, encodeRecord(withSnapshots(stored.blob, count), stored.bytes))
    return
  }
  const orphans = orphanSnapshotsKey(place.containerId, place.blob)
  const value = yield* tx.get(orphans)
  const before = value === undefined ? 0 : decodeRecord<OrphanSnapshots>(value).snapshotCount
  if (before + by <= 0) tx.delete(orphans)
  else tx.put(orphans, encodeRecord({ snapshotCount: before + by } satisfies OrphanSnapshots))
}

type OrphanSnapshots = { readonly snapshotCount: number }

/** The snapshots that wait for a blob are those of the one that comes now. */
export function* takeOrphanSnapshots(tx: Tx, place: BlobPlace): Step<number | undefined> {
  const key = orphanSnapshotsKey(place.containerId, place.blob)
  const value = yield* tx.get(key)
  if (value === undefined) return undefined
  tx.delete(key)
  return decodeRecord<OrphanSnapshots>(value).snapshotCount
}

export function withSnapshots(blob: Blob, snapshotCount: number): Blob {
  const { snapshotCount: _count, ...rest } = blob
  return snapshotCount === 0 ? rest : { ...rest, snapshotCount }
}
