// Delete Blob and Undelete Blob, with what the account's properties keep: versions, and for some days the
// blob itself and its snapshots.
import type { Step, Tx } from '../../kv/kv.ts'
import { encodeRecord } from '../../kv/record.ts'
import { StorageError } from '../error.ts'
import type { Moment } from '../moment.ts'
import {
  checkMutable,
  checkWrite,
  decodeStored,
  findBlob,
  findBlobAt,
  findForUpdate,
  requireBlob,
  type Blob,
  type BlobAddress,
  type BlobGuard,
  type ExistingTarget,
  type PastBlob,
  type StoredBlob,
} from './blob.ts'
import { requireContainer } from './container.ts'
import { dropContent, moveContent } from './content.ts'
import { DELETED_ROOT, dueKey, pastBlobKey } from './keys.ts'
import { movePast, pastOf, placeOf, removePast, type BlobPlace } from './past.ts'
import { deletedNow, getProtection, type Protection } from './protection.ts'
import { changeTagIndex } from './tag-index.ts'
import { NO_TAGS } from './tags.ts'

export type DeleteBlob = {
  readonly guard: BlobGuard
  readonly snapshots?: 'include' | 'only'
  /** Of what is soft-deleted already: without waiting for its time to be over. */
  readonly isPermanent?: boolean
}

/** Answers whether what was deleted is gone for good. */
export function* deleteBlob(
  tx: Tx,
  address: BlobAddress,
  { guard, snapshots, isPermanent = false }: DeleteBlob,
  moment: Moment,
): Step<{ readonly isPermanent: boolean }> {
  const protection = yield* getProtection(tx, address.account)
  if (isPermanent) return yield* deletePermanently(tx, address, protection, moment)
  if (address.at !== undefined) return yield* deletePast(tx, address, guard, protection, moment)
  const target = yield* findForUpdate(tx, address, guard, moment.nowMs)
  const { blob } = target.stored
  const count = blob.snapshotCount ?? 0
  if (count > 0 && snapshots === undefined) throw new StorageError('SnapshotsPresent')
  const place = placeOf(address, target)
  if (snapshots === 'only') {
    yield* deleteSnapshots(tx, place, protection, moment)
    const { snapshotCount: _none, ...base } = blob
    tx.put(target.key, encodeRecord(base, target.stored.bytes))
    return { isPermanent: protection.blobRetentionDays === undefined }
  }
  const isVersioned = protection.isVersioningEnabled || blob.version !== undefined
  if (!isVersioned) checkMutable(blob, moment.nowMs)
  if (count > 0) yield* deleteSnapshots(tx, place, protection, moment)
  yield* removeCurrent(tx, place, target, protection, moment)
  return { isPermanent: protection.blobRetentionDays === undefined }
}

/** The current blob goes: to its versions, to what can be undeleted, or for good. */
function* removeCurrent(
  tx: Tx,
  place: BlobPlace,
  { key, stored }: ExistingTarget,
  protection: Protection,
  moment: Moment,
): Step<void> {
  const days = protection.blobRetentionDays
  const { blob } = stored
  changeTagIndex(tx, place, blob.tags ?? NO_TAGS, NO_TAGS)
  tx.delete(key)
  if (protection.isVersioningEnabled || blob.version !== undefined) {
    yield* movePast(tx, place, blob.version ?? blob.stamp, stored, { kind: 'version' })
  } else if (days !== undefined) {
    const deleted = deletedNow(moment.nowMs, days)
    yield* movePast(tx, place, DELETED_ROOT, stored, { kind: 'root', deleted })
  } else {
    yield* dropContent(tx, blob)
  }
}

function* deleteSnapshots(
  tx: Tx,
  place: BlobPlace,
  protection: Protection,
  moment: Moment,
): Step<void> {
  for (const { key, stamp, stored } of yield* pastOf(tx, place)) {
    if (stored.blob.kind !== 'snapshot' || stored.blob.deleted !== undefined) continue
    checkMutable(stored.blob, moment.nowMs)
    yield* removePast(tx, place, { key, stamp, stored }, protection, moment)
  }
}

/** One snapshot or version. */
function* deletePast(
  tx: Tx,
  address: BlobAddress,
  guard: BlobGuard,
  protection: Protection,
  moment: Moment,
): Step<{ readonly isPermanent: boolean }> {
  const target = requireBlob(yield* findBlobAt(tx, address, moment.nowMs))
  const { blob } = target.stored
  if (!isPast(blob)) throw new StorageError('OperationNotAllowedOnRootBlob')
  checkWrite(blob, guard, moment.nowMs, 'update')
  checkMutable(blob, moment.nowMs)
  const place = placeOf(address, target)
  const stored = { blob, bytes: target.stored.bytes }
  const past = { key: target.key, stamp: stampOf(address), stored }
  yield* removePast(tx, place, past, protection, moment)
  if (blob.kind === 'snapshot') yield* countSnapshots(tx, address, -1, moment)
  return { isPermanent: protection.blobRetentionDays === undefined }
}

function* deletePermanently(
  tx: Tx,
  address: BlobAddress,
  protection: Protection,
  moment: Moment,
): Step<{ readonly isPermanent: boolean }> {
  const { id } = yield* requireContainer(tx, address)
  const key = pastBlobKey(id, address.blob, stampOf(address))
  const value = yield* tx.get(key)
  if (value === undefined) throw new StorageError('BlobNotFound')
  const { blob } = decodeStored<PastBlob>(value)
  if (!protection.allowPermanentDelete || blob.deleted === undefined) {
    throw new StorageError('ResourceTypeMismatch')
  }
  checkMutable(blob, moment.nowMs)
  yield* dropContent(tx, blob)
  tx.delete(key)
  return { isPermanent: true }
}

/** Undelete Blob: everything of this name that is soft-deleted comes back. */
export function* undeleteBlob(tx: Tx, address: BlobAddress, moment: Moment): Step<void> {
  const target = yield* findBlob(tx, address, moment.nowMs)
  const place = placeOf(address, target)
  let restored = 0
  let snapshots = 0
  let root: StoredBlob | undefined
  for (const { key, stamp, stored } of yield* pastOf(tx, place)) {
    const { deleted, ...blob } = stored.blob
    if (deleted === undefined || deleted.untilMs <= moment.nowMs) continue
    tx.delete(dueKey(deleted.untilMs, 'past', place.containerId, place.blob, stamp))
    restored += 1
    if (blob.kind === 'root') {
      const { kind: _kind, ...current } = blob
      root = { blob: current, bytes: stored.bytes }
      tx.delete(key)
    } else {
      if (blob.kind === 'snapshot') snapshots += 1
      tx.put(key, encodeRecord(blob, stored.bytes))
    }
  }
  const base = root ?? target.stored
  if (base === undefined && restored === 0) throw new StorageError('BlobNotFound')
  if (base === undefined || (root === undefined && snapshots === 0)) return
  const snapshotCount = (base.blob.snapshotCount ?? 0) + snapshots
  const blob: Blob = snapshotCount === 0 ? base.blob : { ...base.blob, snapshotCount }
  if (root !== undefined) {
    yield* moveContent(tx, blob, target.key)
    changeTagIndex(tx, place, NO_TAGS, blob.tags ?? NO_TAGS)
  }
  tx.put(target.key, encodeRecord(blob, base.bytes))
}

/** The base, if it is there, says how many snapshots it has; its ETag stays. */
function* countSnapshots(tx: Tx, address: BlobAddress, by: number, moment: Moment): Step<void> {
  const { key, stored } = yield* findBlob(tx, address, moment.nowMs)
  if (stored === undefined) return
  const { snapshotCount = 0, ...rest } = stored.blob
  const count = Math.max(0, snapshotCount + by)
  tx.put(key, encodeRecord(count === 0 ? rest : { ...rest, snapshotCount: count }, stored.bytes))
}

function stampOf({ at }: BlobAddress): number {
  if (at === undefined) return DELETED_ROOT
  return 'version' in at ? at.version : at.snapshot
}

function isPast(blob: Blob): blob is PastBlob {
  return 'kind' in blob
}
