// Version-level immutability: a policy, which has an end, and a legal hold, which has none. Each is stored in
// the record of the blob, snapshot or version that it protects; operations that replace or delete call
// checkMutable. Neither changes the ETag.
import type { Step, Tx } from '../../kv/kv.ts'
import { encodeRecord } from '../../kv/record.ts'
import { checkWriteConditions, NO_CONDITIONS, type Conditions } from '../shared/condition.ts'
import { invalidHeader, StorageError } from '../shared/error.ts'
import {
  findBlobAt,
  isPast,
  requireBlob,
  type BlobAddress,
  type ExistingTarget,
  type Target,
} from './blob.ts'
import type { Blob, ImmutabilityPolicy } from './record.ts'
import { checkNoPendingCopy } from './guard.ts'
import { scheduleExpiry } from './expiry.ts'
import { blobPlaceOf } from './past/past.ts'

/** A policy has to end in the future. */
export function checkPolicyTime({ untilMs }: ImmutabilityPolicy, nowMs: number): void {
  if (untilMs > nowMs) return
  throw invalidHeader('x-ms-immutability-policy-until-date', new Date(untilMs).toUTCString())
}

/**
 * As in Azure, blobs of a hierarchical namespace have no policies of their own. A directory that is deleted or renamed would
 * have to look for them in everything below it.
 */
export function checkMayBeImmutable({ located }: Pick<Target, 'located'>): void {
  if (located !== undefined) throw new StorageError('BlobOperationNotSupported')
}

/** Set Blob Immutability Policy. A locked policy can only be extended. */
export function* setImmutabilityPolicy(
  tx: Tx,
  address: BlobAddress,
  conditions: Conditions,
  policy: ImmutabilityPolicy,
  nowMs: number,
): Step<void> {
  const target = yield* findForRetention(tx, address, conditions, nowMs)
  const { blob } = target.stored
  checkPolicyTime(policy, nowMs)
  const { immutability: before } = blob
  if (before !== undefined && isLocked(blob, nowMs)) {
    const isLonger = policy.mode === 'Locked' && policy.untilMs >= before.untilMs
    if (!isLonger) throw new StorageError('BlobImmutableDueToPolicy')
  }
  saveRetention(tx, address, target, { ...blob, immutability: policy })
}

/** Delete Blob Immutability Policy. A blob without a policy is no error. */
export function* deleteImmutabilityPolicy(tx: Tx, address: BlobAddress, nowMs: number): Step<void> {
  const target = yield* findForRetention(tx, address, NO_CONDITIONS, nowMs)
  const { immutability: _policy, ...blob } = target.stored.blob
  // The service does this, according to kopia's tests (azure_immu_test.go).
  if (isLocked(target.stored.blob, nowMs)) {
    throw new StorageError('ImmutabilityPolicyDeleteOnLockedPolicy')
  }
  saveRetention(tx, address, target, blob)
}

export function* setLegalHold(
  tx: Tx,
  address: BlobAddress,
  isHeld: boolean,
  nowMs: number,
): Step<void> {
  const target = yield* findForRetention(tx, address, NO_CONDITIONS, nowMs)
  const { legalHold: _before, ...blob } = target.stored.blob
  saveRetention(tx, address, target, isHeld ? { ...blob, legalHold: true } : blob)
}

/** The current blob, a snapshot or a version. A lease doesn't matter. */
function* findForRetention(
  tx: Tx,
  address: BlobAddress,
  conditions: Conditions,
  nowMs: number,
): Step<ExistingTarget> {
  const target = requireBlob(yield* findBlobAt(tx, address, nowMs))
  checkMayBeImmutable(target)
  const { blob } = target.stored
  checkWriteConditions(conditions, blob, 'update')
  checkNoPendingCopy(blob)
  return target
}

/** A locked policy binds until it ends. */
function isLocked({ immutability }: Blob, nowMs: number): boolean {
  return immutability?.mode === 'Locked' && immutability.untilMs > nowMs
}

function saveRetention(tx: Tx, address: BlobAddress, target: ExistingTarget, blob: Blob): void {
  tx.put(target.key, encodeRecord(blob, target.stored.bytes))
  // The time at which the blob expires may have changed.
  if (!isPast(blob)) scheduleExpiry(tx, blobPlaceOf(address, target), blob)
}
