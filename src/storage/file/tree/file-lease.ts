// Lease File. The general lease rules apply (storage/shared/lease.ts), but a file's lease is always infinite, so it is
// only available, leased or broken. A lease excludes writers: it can't be acquired while SMB clients have the file open
// to write or delete, and while it is held no such open is allowed.
import type { Step } from '../../../kv/kv.ts'
import { StorageError } from '../../shared/error.ts'
import {
  leaseState,
  runLeaseAction,
  withLease,
  type LeaseAction,
  type LeaseResult,
} from '../../shared/lease.ts'
import type { Moment } from '../../../node/moment.ts'
import { locate, requireNode, saveNode, type FileAddress, type FileNode } from './node.ts'
import type { FileTx } from '../open/open.ts'
import { checkOpens } from '../open/rest-access.ts'

/** There is no break period: a lease ends as soon as it is broken. */
export type FileLeaseAction =
  Exclude<LeaseAction, { readonly action: 'renew' | 'break' }> | { readonly action: 'break' }

type LeasedFile = { readonly node: FileNode; readonly result: LeaseResult }

/** Neither the ETag nor Last-Modified changes. */
export function* leaseFile(
  tx: FileTx,
  address: FileAddress,
  action: FileLeaseAction,
  { nowMs }: Moment,
): Step<LeasedFile> {
  const { share, view, node } = requireNode(yield* locate(tx, address), 'file')
  const isAcquire = action.action === 'acquire'
  yield* checkOpens(tx, share.id, node, isAcquire ? 'Acquire Lease' : 'Lease')
  if (isAcquire && node.copy?.status === 'pending') throw new StorageError('PendingCopyOperation')
  const result = runLeaseAction(node.lease, action, nowMs)
  return { node: saveNode(tx, view, node, withLease(node, result.lease)), result }
}

/** SMB opens to write or delete are refused while the file is leased ("Manage file locks in Azure Files"). */
export function isLeased({ lease }: Pick<FileNode, 'lease'>, nowMs: number): boolean {
  return leaseState(lease, nowMs) === 'leased'
}
