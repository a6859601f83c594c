// Checks before an operation on a blob, always in this order: conditions, then the lease, then the blob's own
// state.
import {
  checkWriteConditions,
  type Conditions,
  type ReadRule,
  type WriteKind,
} from '../shared/condition.ts'
import { StorageError } from '../shared/error.ts'
import { checkLeaseForWrite, isLeaseRunning, type Lease } from '../shared/lease.ts'
import type { Blob, BlobType } from './record.ts'
import type { RequestEncryption } from './encryption.ts'

export type BlobGuard = {
  readonly conditions: Conditions
  readonly readRule: ReadRule
  readonly leaseId?: string
  readonly encryption?: RequestEncryption
}

/**
 * Checks the conditions, then the lease, then for a copy in progress. Returns the lease after the write. A
 * running lease is checked before `If-None-Match: *`, and its holder may overwrite nevertheless (seen in
 * recorded traffic).
 */
export function checkBlobWrite(
  current: Blob | undefined,
  guard: BlobGuard,
  nowMs: number,
  kind: WriteKind,
  lease: Lease | undefined = current?.lease,
): Lease | undefined {
  const isLeaseFirst =
    kind !== 'update' && guard.conditions.ifNoneMatch === '*' && isLeaseRunning(lease, nowMs)
  if (isLeaseFirst) checkLeaseForWrite(lease, guard.leaseId, nowMs, 'blob')
  const conditions = isLeaseFirst ? withoutIfNoneMatch(guard.conditions) : guard.conditions
  checkWriteConditions(conditions, current, kind)
  const leaseAfter = checkLeaseForWrite(lease, guard.leaseId, nowMs, 'blob')
  if (current !== undefined) checkNoPendingCopy(current)
  return leaseAfter
}

function withoutIfNoneMatch({ ifNoneMatch: _ifNoneMatch, ...others }: Conditions): Conditions {
  return others
}

/** Nothing else may change the destination of a copy in progress. */
export function checkNoPendingCopy({ copy }: Pick<Blob, 'copy'>): void {
  if (copy?.status === 'pending') throw new StorageError('PendingCopyOperation')
}

/** Other operations can't write the destination of incremental copies, and only its snapshots can be read. */
export function checkNotIncremental({ copy }: Blob): void {
  if (copy?.isIncremental !== true) return
  throw new StorageError('OperationNotAllowedOnIncrementalCopyBlob')
}

export function requireType(blob: Blob, type: BlobType): void {
  if (blob.type !== type) throw new StorageError('InvalidBlobType')
}

/** Directories have neither tiers nor snapshots. */
export function checkNotDirectory({ path }: Pick<Blob, 'path'>): void {
  if (path?.isDirectory === true) throw new StorageError('BlobOperationNotSupported')
}

/** Throws if an immutability policy or a legal hold protects the blob. */
export function checkMutable(blob: Blob, nowMs: number): void {
  if (blob.legalHold === true) throw new StorageError('BlobImmutableDueToLegalHold')
  const { immutability } = blob
  if (immutability !== undefined && immutability.untilMs > nowMs) {
    throw new StorageError('BlobImmutableDueToPolicy')
  }
}
