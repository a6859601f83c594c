// Create Share, and changes to a share as a whole: properties, metadata, policies, lease. Only these change its ETag,
// and a lease does not. Unlike a container's lease, a share's lease guards all of them.
import {
  shareUsageBytes,
  getShare,
  requireShare,
  requireShareSnapshot,
  saveShare,
  saveShareSnapshot,
  type Share,
  type ShareAddress,
  type ShareSnapshot,
} from './share.ts'
import type { ReadTx, Step, Tx } from '../../../kv/kv.ts'
import { StorageError } from '../../shared/error.ts'
import {
  checkLeaseForRead,
  checkLeaseForWrite,
  runLeaseAction,
  withLease,
  type Lease,
  type LeaseAction,
  type LeaseResult,
} from '../../shared/lease.ts'
import { indexLease } from '../../shared/leased.ts'
import { NO_METADATA, type Metadata } from '../../shared/metadata.ts'
import { modifiedAt } from '../../shared/modified.ts'
import type { Moment } from '../../../node/moment.ts'
import { shareKey, shareSnapshotKey } from '../keys.ts'
import { fileTimeOf } from '../tree/file-time.ts'
import { ROOT_ID, saveNode } from '../tree/node.ts'
import { storePermission } from '../security/permission.ts'
import { DEFAULT_ROOT_DESCRIPTOR } from '../security/security-descriptor-inherit.ts'
import { encodeSecurityDescriptor } from '../security/security-descriptor.ts'
import { provisionShare, reprovisionShare, type ShareProvision } from './share-provision.ts'

type NewShare = {
  readonly id: number
  readonly metadata: Metadata
  readonly provision: ShareProvision
}

/** Also creates the root directory, which exists as long as the share. */
export function* createShare(
  tx: Tx,
  address: Pick<ShareAddress, 'account' | 'share'>,
  { id, metadata, provision }: NewShare,
  moment: Moment,
): Step<Share> {
  const existing = yield* getShare(tx, address)
  if (existing !== undefined) throw new StorageError('ShareAlreadyExists')
  const share: Share = {
    id,
    ...modifiedAt(undefined, moment),
    metadata,
    policies: [],
    ...provisionShare(provision, moment.nowMs),
    lastSnapshot: 0,
    snapshotCount: 0,
  }
  saveShare(tx, address, share)
  yield* createRoot(tx, share)
  return share
}

const ROOT_DESCRIPTOR = encodeSecurityDescriptor(DEFAULT_ROOT_DESCRIPTOR)
/** x-ms-owner, x-ms-group and x-ms-mode of a new directory ("Create Directory"). */
const ROOT_OF_NFS = { owner: '0', group: '0', mode: '0755' }

function* createRoot(tx: Tx, share: Share): Step<void> {
  const time = fileTimeOf(share.modifiedMs)
  const permissionKey = yield* storePermission(tx, share.id, ROOT_DESCRIPTOR)
  const view = { shareId: share.id, lastSnapshot: share.lastSnapshot }
  saveNode(tx, view, undefined, {
    kind: 'directory',
    nodeId: ROOT_ID,
    parentId: ROOT_ID,
    stamp: share.stamp,
    modifiedMs: share.modifiedMs,
    attributes: 0,
    creationTime: time,
    lastWriteTime: time,
    changeTime: time,
    permissionKey,
    metadata: NO_METADATA,
    lengthBytes: 0,
    ...(share.enabledProtocol === 'NFS' && ROOT_OF_NFS),
  })
}

export type ShareOrSnapshot = Share | ShareSnapshot

/** A lease id is an optional condition of reads. */
export function* readShare(
  tx: ReadTx,
  address: ShareAddress,
  leaseId: string | undefined,
  nowMs: number,
): Step<ShareOrSnapshot> {
  const found = yield* requireShareAt(tx, address)
  checkLeaseForRead(found.lease, leaseId, nowMs, 'share')
  return found
}

export function* requireShareAt(tx: ReadTx, address: ShareAddress): Step<ShareOrSnapshot> {
  const share = yield* requireShare(tx, address)
  if (address.snapshot === undefined) return share
  return yield* requireShareSnapshot(tx, share.id, address.snapshot)
}

export type ShareChange =
  Pick<Share, 'metadata'> | Pick<Share, 'policies'> | { readonly provision: ShareProvision }

/** Set Share Metadata, ACL and Properties: each given part is replaced as a whole. */
export function* changeShare(
  tx: Tx,
  address: ShareAddress,
  { leaseId, change }: { readonly leaseId: string | undefined; readonly change: ShareChange },
  moment: Moment,
): Step<Share> {
  const current = yield* requireShare(tx, address)
  const lease = checkLeaseForWrite(current.lease, leaseId, moment.nowMs, 'share')
  const changed =
    'provision' in change ? reprovisionShare(current, change.provision, moment.nowMs) : change
  const share: Share = {
    ...withLease(current, lease),
    ...changed,
    ...modifiedAt(current, moment),
  }
  saveShare(tx, address, share)
  return share
}

/** Lease Share. The share and each of its snapshots have a lease of their own. The ETag does not change. */
export function* leaseShare(
  tx: Tx,
  address: ShareAddress,
  action: LeaseAction,
  { nowMs }: Moment,
): Step<{ readonly share: ShareOrSnapshot; readonly result: LeaseResult }> {
  const current = yield* requireShareAt(tx, address)
  const result = runLeaseAction(current.lease, action, nowMs)
  saveShareLease(tx, address, current, result.lease)
  return { share: current, result }
}

export function saveShareLease(
  tx: Tx,
  address: Pick<ShareAddress, 'account' | 'share'>,
  current: ShareOrSnapshot,
  lease: Lease | undefined,
): void {
  if ('snapshot' in current) {
    saveShareSnapshot(tx, withLease(current, lease))
    indexLease(tx, shareSnapshotKey(current.id, current.snapshot), lease)
  } else {
    saveShare(tx, address, withLease(current, lease))
    indexLease(tx, shareKey(address.account, address.share), lease)
  }
}

export function* readUsage(
  tx: ReadTx,
  address: ShareAddress,
  leaseId: string | undefined,
  nowMs: number,
): Step<number> {
  const { id } = yield* readShare(tx, address, leaseId, nowMs)
  return yield* shareUsageBytes(tx, id)
}
