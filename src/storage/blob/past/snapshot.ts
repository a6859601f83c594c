// Snapshot Blob: a copy of the record, which shares the bytes. A blob counts its live snapshots, since it can't
// be deleted without them. If there is no blob (with versioning on, Undelete Blob restores only the snapshots),
// a separate record holds the count for the next blob.
import type { Step, Tx } from '../../../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../../../kv/record.ts'
import { checkWriteConditions } from '../../shared/condition.ts'
import { checkLeaseForRead } from '../../shared/lease.ts'
import type { Metadata } from '../../shared/metadata.ts'
import { laterMs } from '../../shared/modified.ts'
import type { Moment } from '../../../node/moment.ts'
import { findBlob, requireBlob, type BlobAddress, type Target } from '../blob.ts'
import type { Blob } from '../record.ts'
import { checkNoPendingCopy, checkNotDirectory, type BlobGuard } from '../guard.ts'
import { checkEncryption } from '../encryption.ts'
import { orphanSnapshotsKey } from '../keys.ts'
import { copyPast, copyToVersion, nextPastStamp, blobPlaceOf, type BlobPlace } from './past.ts'
import { getProtection } from '../protection.ts'
import { checkOnline } from '../tier.ts'

/** A snapshot with new metadata has an ETag of its own, others have that of the blob. */
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
  checkNotDirectory(blob)
  checkWriteConditions(guard.conditions, blob, 'update')
  checkLeaseForRead(blob.lease, guard.leaseId, moment.nowMs, 'blob')
  checkNoPendingCopy(blob)
  checkOnline(blob, moment.nowMs)
  // For a blob with a scope, the request must name the scope (test_cpk_n.py of Azure's SDK for Python).
  checkEncryption(blob.encryption, guard.encryption ?? {}, 'write', target.container)
  const place = blobPlaceOf(address, target)
  const snapshot = yield* nextPastStamp(tx, place, blob, moment)
  const modifiedMs = laterMs(blob, moment)
  const own = metadata === undefined ? {} : { metadata, stamp: snapshot, modifiedMs }
  const past = { ...blob, ...own }
  yield* copyPast(tx, place, snapshot, { blob: past, bytes }, { kind: 'snapshot' }, newIds[0])
  const { isVersioningEnabled } = yield* getProtection(tx, address.account, target.container)
  let version: number | undefined
  if (isVersioningEnabled) {
    yield* copyToVersion(tx, place, target.stored, newIds[1])
    version = yield* nextPastStamp(tx, place, blob, moment)
  }
  const base = withSnapshots(blob, (blob.snapshotCount ?? 0) + 1)
  tx.put(target.key, encodeRecord(version === undefined ? base : { ...base, version }, bytes))
  return { snapshot, blob: past, version }
}

/** Updates the number of live snapshots. The ETag of the blob, if there is one, stays. */
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

/** The next blob with this name adopts its orphaned snapshots. */
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
