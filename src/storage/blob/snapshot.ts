// Snapshot Blob: the state of a blob under an id of its own. It copies the map of the bytes, not the bytes.
import type { Step, Tx } from '../../kv/kv.ts'
import { encodeRecord } from '../../kv/record.ts'
import { checkWriteConditions } from '../condition.ts'
import { StorageError } from '../error.ts'
import { checkLeaseForRead } from '../lease.ts'
import type { Metadata } from '../metadata.ts'
import { nextStamp, type Moment } from '../moment.ts'
import {
  conditionState,
  findBlob,
  requireBlob,
  type Blob,
  type BlobAddress,
  type BlobGuard,
} from './blob.ts'
import { checkEncryption } from './encryption.ts'
import { copyPast, freeStamp, newVersion, placeOf } from './past.ts'
import { checkOnline } from './tier.ts'

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
  if (blob.copy?.status === 'pending') throw new StorageError('PendingCopyOperation')
  checkOnline(blob, moment.nowMs)
  checkEncryption(blob.encryption, guard.encryption ?? {}, 'read')
  const place = placeOf(address, target)
  const snapshot = yield* freeStamp(tx, place, nextStamp(blob.stamp, moment))
  const own = metadata === undefined ? {} : { metadata, stamp: snapshot, modifiedMs: moment.nowMs }
  const past = { ...blob, ...own }
  yield* copyPast(tx, place, snapshot, { blob: past, bytes }, { kind: 'snapshot' }, newIds[0])
  const version = yield* newVersion(tx, address, target, newIds[1], moment)
  const base: Blob = {
    ...blob,
    snapshotCount: (blob.snapshotCount ?? 0) + 1,
    ...(version !== undefined && { version }),
  }
  tx.put(target.key, encodeRecord(base, bytes))
  return { snapshot, blob: past, version }
}
