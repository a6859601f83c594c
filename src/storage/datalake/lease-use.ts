// Leases of Append Data and Flush Data: besides naming a lease, they can acquire, renew and release it.
import { StorageError } from '../shared/error.ts'
import { checkLeaseForWrite, runLeaseAction, type Lease } from '../shared/lease.ts'

/** x-ms-lease-action */
export type LeaseUse =
  | { readonly action: 'auto-renew' | 'release'; readonly leaseId: string }
  | {
      readonly action: 'acquire' | 'acquire-release'
      readonly proposedId: string
      readonly durationSeconds: number
    }

export type UsedLease = {
  /** After the write. */
  readonly lease: Lease | undefined
  readonly isRenewed: boolean
}

/** Throws if the lease keeps the write from happening. */
export function useLease(
  lease: Lease | undefined,
  leaseId: string | undefined,
  use: LeaseUse | undefined,
  nowMs: number,
): UsedLease {
  if (use === undefined) {
    return { lease: checkLeaseForWrite(lease, leaseId, nowMs, 'blob'), isRenewed: false }
  }
  if ('proposedId' in use) {
    const { proposedId, durationSeconds } = use
    const acquire = { action: 'acquire', proposedId, newId: proposedId, durationSeconds } as const
    const { lease: acquired } = runLeaseAction(lease, acquire, nowMs)
    return { lease: use.action === 'acquire' ? acquired : undefined, isRenewed: false }
  }
  const held = checkLeaseForWrite(lease, use.leaseId, nowMs, 'blob')
  if (held === undefined) throw new StorageError('LeaseNotPresentWithBlobOperation')
  if (use.action === 'release') return { lease: undefined, isRenewed: false }
  const renewed = runLeaseAction(held, { action: 'renew', id: use.leaseId }, nowMs)
  return { lease: renewed.lease, isRenewed: true }
}
