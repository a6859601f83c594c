// What guards a blob: conditions, then the lease, then the blob's own state. Every operation asks in this order.
import {
  checkWriteConditions,
  type Conditions,
  type ReadRule,
  type Validators,
  type WriteKind,
} from '../shared/condition.ts'
import { StorageError } from '../shared/error.ts'
import { etagOf } from '../shared/etag.ts'
import { checkLeaseForWrite, isLeaseRunning, type Lease } from '../shared/lease.ts'
import type { Blob, BlobType } from './record.ts'
import type { RequestEncryption } from './encryption.ts'
import { NO_TAGS, type Tags } from '../shared/tags.ts'

export type BlobGuard = {
  readonly conditions: Conditions
  readonly readRule: ReadRule
  readonly leaseId?: string
  readonly encryption?: RequestEncryption
}

/**
 * Conditions, then the lease, then a copy under way. Answers with what stays of the lease. A running lease
 * comes before `If-None-Match: *`, and its holder may overwrite all the same (seen in recorded traffic).
 */
export function checkWrite(
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
  checkWriteConditions(conditions, current && conditionState(current), kind)
  const kept = checkLeaseForWrite(lease, guard.leaseId, nowMs, 'blob')
  if (current !== undefined) checkNoPendingCopy(current)
  return kept
}

function withoutIfNoneMatch({ ifNoneMatch: _ifNoneMatch, ...others }: Conditions): Conditions {
  return others
}

/** Until a copy has ended, nothing but ending it changes its destination. */
export function checkNoPendingCopy({ copy }: Pick<Blob, 'copy'>): void {
  if (copy?.status === 'pending') throw new StorageError('PendingCopyOperation')
}

/** What incremental copies make is written by them alone, and read as its snapshots. */
export function checkNotIncremental({ copy }: Blob): void {
  if (copy?.isIncremental !== true) return
  throw new StorageError('OperationNotAllowedOnIncrementalCopyBlob')
}

export function requireType(blob: Blob, type: BlobType): void {
  if (blob.type !== type) throw new StorageError('InvalidBlobType')
}

/** Neither a policy nor a hold keeps this state from being replaced or deleted. */
export function checkMutable(blob: Blob, nowMs: number): void {
  if (blob.legalHold === true) throw new StorageError('BlobImmutableDueToLegalHold')
  const { immutability } = blob
  if (immutability !== undefined && immutability.untilMs > nowMs) {
    throw new StorageError('BlobImmutableDueToPolicy')
  }
}

export function conditionState(blob: Blob): Validators {
  return new BlobValidators(blob)
}

/** Most requests have no conditions, so all of it is made when somebody looks at it. */
class BlobValidators implements Validators {
  readonly #blob: Blob

  constructor(blob: Blob) {
    this.#blob = blob
  }

  get etag(): string {
    return etagOf(this.#blob.stamp)
  }

  get lastModifiedMs(): number {
    return this.#blob.modifiedMs
  }

  get tags(): Tags {
    return this.#blob.tags ?? NO_TAGS
  }
}
