// Delete Blob. Depending on the account's properties, the blob becomes a version, is soft-deleted together with
// its snapshots, or is dropped.
import type { Step, Tx } from '../../../kv/kv.ts'
import { encodeRecord } from '../../../kv/record.ts'
import { giveWay } from '../../../kv/step.ts'
import { StorageError } from '../../shared/error.ts'
import type { Moment } from '../../../node/moment.ts'
import { deletedNow } from '../../shared/retention.ts'
import {
  decodeStored,
  findBlob,
  findBlobAt,
  isPast,
  kindOf,
  requireBlob,
  stampOf,
  type BlobAddress,
  type BlobAt,
  type ExistingTarget,
} from '../blob.ts'
import type { Blob, PastBlob } from '../record.ts'
import { dropContent } from '../content/content.ts'
import { checkMutable, checkBlobWrite, type BlobGuard } from '../guard.ts'
import { DELETED_ROOT } from '../keys.ts'
import {
  forgetExpiry,
  movePast,
  moveToVersion,
  pastOf,
  blobPlaceOf,
  removePast,
  type BlobPlace,
  type Past,
} from './past.ts'
import { getProtection, isKeptAsVersion, withoutVersions, type Protection } from '../protection.ts'
import { countSnapshots, withSnapshots } from './snapshot.ts'
import { discardStaging, getStaging } from '../content/staging.ts'
import { checkRemovable, unlinkPath } from '../path/unlink.ts'
import { changeTagIndex } from '../list/tag-index.ts'
import { NO_TAGS } from '../../shared/tags.ts'
import { tierOf } from '../tier.ts'

export type DeleteBlob = {
  readonly guard: BlobGuard
  readonly snapshots?: 'include' | 'only'
  /** x-ms-access-tier-if-modified-since and -if-unmodified-since */
  readonly tier?: TierConditions
  /** Deletes something that is already soft-deleted, before its retention ends. */
  readonly isPermanent?: boolean
}

export type TierConditions = {
  readonly ifModifiedSinceMs?: number
  readonly ifUnmodifiedSinceMs?: number
}

/** Permanent: nothing can be restored. A path of a hierarchical container is restored by its deletion id. */
export type Deletion = { readonly isPermanent: boolean; readonly deletionId?: number }

export function* deleteBlob(
  tx: Tx,
  address: BlobAddress,
  request: DeleteBlob,
  moment: Moment,
): Step<Deletion> {
  const protection = yield* getProtection(tx, address.account)
  if (request.isPermanent === true) {
    return yield* deletePermanently(tx, address, request.guard, protection, moment)
  }
  if (address.at !== undefined) {
    return yield* deletePast(tx, address, address.at, request, protection, moment)
  }
  return yield* deleteCurrent(tx, address, request, protection, moment)
}

/**
 * Deletes the uncommitted blocks along with the blob, even if there is no committed blob
 * (azure-storage-node#350, azure-sdk-for-net#22856).
 */
function* deleteCurrent(
  tx: Tx,
  address: BlobAddress,
  request: DeleteBlob,
  ofAccount: Protection,
  moment: Moment,
): Step<Deletion> {
  const found = yield* findBlob(tx, address, moment.nowMs)
  const { located, containerId, name } = found
  const protection = located === undefined ? ofAccount : withoutVersions(ofAccount)
  const staging = yield* getStaging(tx, containerId, name, moment.nowMs)
  if (found.stored === undefined && staging !== undefined && request.snapshots !== 'only') {
    checkBlobWrite(undefined, request.guard, moment.nowMs, 'update', staging.lease)
    yield* discardStaging(tx, containerId, name)
    return { isPermanent: true }
  }
  const target = requireBlob(found)
  const { blob, bytes } = target.stored
  checkBlobWrite(blob, request.guard, moment.nowMs, 'update')
  checkTierConditions(request.tier, blob, moment.nowMs)
  const place = blobPlaceOf(address, target)
  const snapshots = yield* snapshotsInTheWay(tx, place, blob, protection, moment)
  if (snapshots.length > 0 && request.snapshots === undefined) {
    throw new StorageError('SnapshotsPresent')
  }
  const isOnly = request.snapshots === 'only'
  const isVersion = !isOnly && isKeptAsVersion(blob, protection)
  // A hold or a policy protects even a blob that would become a version (seen in recorded traffic).
  if (!isOnly) checkMutable(blob, moment.nowMs)
  if (located !== undefined && !isOnly) {
    const removed = { ...target, located }
    yield* checkRemovable(tx, removed, moment.nowMs)
    const retentionDays = protection.blobRetentionDays
    const removal = { account: address.account, retentionDays }
    const deletionId = yield* unlinkPath(tx, removed, removal, moment)
    return deletionId === undefined ? { isPermanent: true } : { isPermanent: false, deletionId }
  }
  for (const past of snapshots) {
    checkMutable(past.stored.blob, moment.nowMs)
    yield* removePast(tx, place, past, protection, moment)
    yield* giveWay()
  }
  if (isOnly) tx.put(target.key, encodeRecord(withSnapshots(blob, 0), bytes))
  else yield* removeCurrent(tx, place, target, protection, moment)
  if (!isOnly && staging !== undefined) yield* discardStaging(tx, containerId, name)
  return { isPermanent: !isVersion && protection.blobRetentionDays === undefined }
}

/** A tier that was never set explicitly counts as never modified. */
function checkTierConditions(tier: TierConditions = {}, blob: Blob, nowMs: number): void {
  const { ifModifiedSinceMs = -Infinity, ifUnmodifiedSinceMs = Infinity } = tier
  const setMs = tierOf(blob, nowMs).setMs ?? -Infinity
  const isMet =
    (ifModifiedSinceMs === -Infinity || setMs > ifModifiedSinceMs) && setMs <= ifUnmodifiedSinceMs
  if (!isMet) throw new StorageError('AccessTierChangeTimeConditionNotMet')
}

/**
 * The live snapshots. If soft delete was turned off meanwhile, also those that it still keeps, since they would
 * outlive their blob (AzureStorageExplorer#486).
 */
function* snapshotsInTheWay(
  tx: Tx,
  place: BlobPlace,
  blob: Blob,
  protection: Protection,
  { nowMs }: Moment,
): Step<Past[]> {
  const isHeldToo = protection.blobRetentionDays === undefined && !isKeptAsVersion(blob, protection)
  if (blob.snapshotCount === undefined && !isHeldToo) return []
  return (yield* pastOf(tx, place)).filter(({ stored: { blob: past } }) => {
    if (past.kind !== 'snapshot') return false
    return past.deleted === undefined || (isHeldToo && past.deleted.untilMs > nowMs)
  })
}

/** Removes the current blob. It becomes a version, is soft-deleted, or is dropped. */
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
  forgetExpiry(tx, place, blob)
  tx.delete(key)
  if (isKeptAsVersion(blob, protection)) {
    yield* moveToVersion(tx, place, stored)
  } else if (days !== undefined) {
    const deleted = deletedNow(moment.nowMs, days)
    yield* movePast(tx, place, DELETED_ROOT, stored, { kind: 'root', deleted })
  } else {
    yield* dropContent(tx, blob)
  }
}

/** Deletes one snapshot or version. */
function* deletePast(
  tx: Tx,
  address: BlobAddress,
  at: BlobAt,
  { guard, tier }: DeleteBlob,
  protection: Protection,
  moment: Moment,
): Step<Deletion> {
  const target = requireBlob(yield* findBlobAt(tx, address, moment.nowMs))
  const { blob, bytes } = target.stored
  if (!isPast(blob)) throw new StorageError('OperationNotAllowedOnRootBlob')
  checkBlobWrite(blob, guard, moment.nowMs, 'update')
  checkTierConditions(tier, blob, moment.nowMs)
  checkMutable(blob, moment.nowMs)
  const place = blobPlaceOf(address, target)
  const past = { key: target.key, stamp: stampOf(at), stored: { blob, bytes } }
  yield* removePast(tx, place, past, protection, moment)
  if (blob.kind === 'snapshot') {
    const current = yield* findBlob(tx, address, moment.nowMs)
    yield* countSnapshots(tx, place, current, -1)
  }
  return { isPermanent: protection.blobRetentionDays === undefined }
}

/** Works only for soft-deleted snapshots and versions, and only if the account allows it. */
function* deletePermanently(
  tx: Tx,
  address: BlobAddress,
  guard: BlobGuard,
  protection: Protection,
  { nowMs }: Moment,
): Step<Deletion> {
  const { at } = address
  const { key, stored } = yield* findBlobAt(tx, address, nowMs)
  if (at === undefined || (stored !== undefined && !isPast(stored.blob))) {
    throw new StorageError('OperationNotAllowedOnRootBlob')
  }
  if (stored !== undefined) throw new StorageError('BlobSnapshotNotSoftDeleted')
  const value = yield* tx.get(key)
  const blob = value === undefined ? undefined : decodeStored<PastBlob>(value).blob
  if (blob?.deleted === undefined || blob.kind !== kindOf(at) || blob.deleted.untilMs <= nowMs) {
    throw new StorageError('BlobNotFound')
  }
  if (!protection.allowPermanentDelete) {
    const message = 'Permanent delete is not enabled for this storage account.'
    throw new StorageError('ResourceTypeMismatch', {}, message)
  }
  checkBlobWrite(blob, guard, nowMs, 'update')
  checkMutable(blob, nowMs)
  yield* dropContent(tx, blob)
  tx.delete(key)
  return { isPermanent: true }
}

/**
 * Drops an expired blob and its snapshots permanently: soft delete doesn't apply to them. The caller deletes or
 * overwrites the record.
 */
export function* dropExpired(tx: Tx, place: BlobPlace, blob: Blob): Step<void> {
  changeTagIndex(tx, place, blob.tags ?? NO_TAGS, NO_TAGS)
  yield* dropContent(tx, blob)
  if (blob.snapshotCount === undefined) return
  for (const { key, stored } of yield* pastOf(tx, place)) {
    if (stored.blob.kind !== 'snapshot' || stored.blob.deleted !== undefined) continue
    yield* dropContent(tx, stored.blob)
    tx.delete(key)
  }
}
