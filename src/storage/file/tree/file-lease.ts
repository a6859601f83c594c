// Lease File. The general lease rules apply (storage/shared/lease.ts), but a file's lease is always infinite, so it is
// only available, leased or broken. A lease excludes writers: it can't be acquired while SMB clients have the file open
// to write or delete, and while it is held no such open is allowed.
import type { Step } from '../../../kv/kv.ts'
import { StorageError } from '../../shared/error.ts'
import {
  leaseState,
  runLeaseAction,
  withLease,
  type Lease,
  type LeaseAction,
  type LeaseResult,
} from '../../shared/lease.ts'
import { indexLease } from '../../shared/leased.ts'
import type { Moment } from '../../../node/moment.ts'
import { fileNodeKey } from '../keys.ts'
import {
  locate,
  requireNode,
  saveNode,
  type Existing,
  type FileAddress,
  type FileNode,
} from './node.ts'
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
  const located = requireNode(yield* locate(tx, address), 'file')
  const { share, node } = located
  const isAcquire = action.action === 'acquire'
  yield* checkOpens(tx, share.id, node, isAcquire ? 'Acquire Lease' : 'Lease')
  if (isAcquire && node.copy?.status === 'pending') throw new StorageError('PendingCopyOperation')
  const result = runLeaseAction(node.lease, action, nowMs)
  return { node: saveFileLease(tx, located, result.lease), result }
}

/** Where a leased file was last seen: finding its name by its id takes a walk over its directory. */
export type FileHint = { readonly directoryId: number; readonly name: string }

export function saveFileLease(
  tx: FileTx,
  { view, node, directoryId, name }: Existing,
  lease: Lease | undefined,
): FileNode {
  const hint: FileHint = { directoryId, name }
  indexLease(tx, fileNodeKey(view.shareId, node.nodeId), lease, hint)
  return saveNode(tx, view, node, withLease(node, lease))
}

/** SMB opens to write or delete are refused while the file is leased ("Manage file locks in Azure Files"). */
export function isLeased({ lease }: Pick<FileNode, 'lease'>, nowMs: number): boolean {
  return leaseState(lease, nowMs) === 'leased'
}
