// Lease File: the rules are those of every lease (storage/shared/lease.ts), but a file's lease has no end, so it is
// only available, leased or broken. Who takes one shares the file with readers only: SMB clients that write or
// may delete are in the way, and while it is held no such client comes in.
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

/** Without a break period: a broken lease is over at once. */
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

/** SMB opens that write or delete are refused meanwhile ("Manage file locks in Azure Files"). */
export function isLeased({ lease }: Pick<FileNode, 'lease'>, nowMs: number): boolean {
  return leaseState(lease, nowMs) === 'leased'
}
