// Delete Share and Restore Share. With a retention policy, a deleted share can be restored with its snapshots until the
// retention ends; without one it is swept. Either way its name is free at once, unless --nameReuseSeconds holds it
// (held-name.ts).
import type { Step } from '../../../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../../../kv/record.ts'
import { StorageError } from '../../shared/error.ts'
import { checkLeaseForWrite, leaseStatus } from '../../shared/lease.ts'
import { modifiedAt } from '../../shared/modified.ts'
import type { Moment } from '../../../node/moment.ts'
import { deletedNow } from '../../shared/retention.ts'
import { getServiceProperties } from '../../shared/service/service.ts'
import { deletedShareKey, pastShareKey, shareDueKey, shareKey } from '../keys.ts'
import type { FileTx } from '../open/open.ts'
import { closeOpens } from './share-opens.ts'
import { snapshotUsageBytes } from './share-usage.ts'
import {
  getShare,
  requireShare,
  saveShare,
  shareSnapshots,
  shareUsageBytes,
  type DeletedShare,
  type Share,
  type ShareAddress,
} from './share.ts'

type DeleteShare = {
  readonly leaseId: string | undefined
  /** x-ms-delete-snapshots */
  readonly snapshots: 'include' | 'include-leased' | undefined
}

type DeletedUsage = { readonly usageBytes: number; readonly snapshotUsageBytes: number }

export function* deleteShare(
  tx: FileTx,
  address: Pick<ShareAddress, 'account' | 'share'>,
  request: DeleteShare,
  moment: Moment,
): Step<DeletedUsage> {
  const share = yield* requireShare(tx, address)
  checkLeaseForWrite(share.lease, request.leaseId, moment.nowMs, 'share')
  yield* checkSnapshots(tx, share, request, moment.nowMs)
  const usageBytes = yield* shareUsageBytes(tx, share.id)
  const snapshotBytes = share.snapshotCount === 0 ? 0 : yield* snapshotUsageBytes(tx, share.id)
  yield* closeOpens(tx, share.id)
  yield* retainOrDelete(tx, address, share, moment)
  return { usageBytes, snapshotUsageBytes: snapshotBytes }
}

function* checkSnapshots(
  tx: FileTx,
  { id, snapshotCount }: Share,
  { snapshots }: DeleteShare,
  nowMs: number,
): Step<void> {
  if (snapshotCount === 0 || snapshots === 'include-leased') return
  if (snapshots === undefined) throw new StorageError('ShareHasSnapshots')
  const all = yield* shareSnapshots(tx, id)
  if (all.some(({ lease }) => leaseStatus(lease, nowMs).status === 'locked')) {
    throw new StorageError('DeleteShareWhenSnapshotLeased')
  }
}

function* retainOrDelete(
  tx: FileTx,
  { account, share: name }: Pick<ShareAddress, 'account' | 'share'>,
  share: Share,
  { nowMs }: Moment,
): Step<void> {
  const properties = yield* getServiceProperties(tx, { account, service: 'file' })
  const { enabled, days } = properties.shareDeleteRetentionPolicy
  tx.delete(shareKey(account, name))
  if (!enabled || days === undefined) {
    tx.put(deletedShareKey(share.id), encodeRecord({}))
    return
  }
  const { lease: _lease, ...rest } = share
  const past: DeletedShare = { ...rest, deleted: deletedNow(nowMs, days) }
  // The key includes the id, so that several deleted shares can have the same name.
  tx.put(pastShareKey(account, name, share.id), encodeRecord(past))
  tx.put(shareDueKey(past.deleted.untilMs, share.id), encodeRecord({ account, name }))
}

/** Restore Share, under its own name. `id` is the version that List Shares shows. The share gets a new ETag. */
export function* restoreShare(
  tx: FileTx,
  address: Pick<ShareAddress, 'account' | 'share'>,
  id: number,
  moment: Moment,
): Step<Share> {
  const existing = yield* getShare(tx, address)
  if (existing !== undefined) throw new StorageError('ShareAlreadyExists')
  const key = pastShareKey(address.account, address.share, id)
  const value = yield* tx.get(key)
  if (value === undefined) throw new StorageError('ShareNotFound')
  const { deleted, ...past } = decodeRecord<DeletedShare>(value)
  if (deleted.untilMs <= moment.nowMs) throw new StorageError('ShareNotFound')
  tx.delete(key)
  tx.delete(shareDueKey(deleted.untilMs, id))
  const share = { ...past, ...modifiedAt(past, moment) }
  saveShare(tx, address, share)
  return share
}
