// Snapshot Share: stores a number and a copy of the share's record; the content is copy-on-write (snapshot-view.ts).
// Deleting a snapshot leaves a mark, and the sweep removes the states that only it showed.
import type { Step } from '../../../kv/kv.ts'
import { encodeRecord } from '../../../kv/record.ts'
import { StorageError } from '../../shared/error.ts'
import { checkLeaseForWrite } from '../../shared/lease.ts'
import type { Metadata } from '../../shared/metadata.ts'
import { modifiedAt } from '../../shared/modified.ts'
import { nextStamp, type Moment } from '../../../node/moment.ts'
import { deletedShareSnapshotKey, shareSnapshotKey } from '../keys.ts'
import type { FileTx } from '../open/open.ts'
import { closeOpens } from './share-opens.ts'
import {
  requireShare,
  requireShareSnapshot,
  saveShare,
  saveShareSnapshot,
  shareSnapshots,
  SNAPSHOT_COUNT_MAX,
  type ShareAddress,
  type ShareSnapshot,
} from './share.ts'

/** The snapshot has the share's ETag, unless it gets metadata of its own. */
export function* snapshotShare(
  tx: FileTx,
  address: Pick<ShareAddress, 'account' | 'share'>,
  metadata: Metadata | undefined,
  moment: Moment,
): Step<ShareSnapshot> {
  const share = yield* requireShare(tx, address)
  if (share.snapshotCount >= SNAPSHOT_COUNT_MAX) {
    throw new StorageError('ShareSnapshotCountExceeded')
  }
  const { lease: _lease, lastSnapshot, snapshotFloor = 0, snapshotCount, ...rest } = share
  const number = nextStamp(Math.max(lastSnapshot, snapshotFloor), moment)
  const own = metadata && { metadata, ...modifiedAt(share, moment) }
  const snapshot: ShareSnapshot = { ...rest, ...own, snapshot: number }
  saveShareSnapshot(tx, snapshot)
  saveShare(tx, address, { ...share, lastSnapshot: number, snapshotCount: snapshotCount + 1 })
  return snapshot
}

/** Delete Share, for a snapshot. The share itself does not change; SMB opens in the snapshot are closed. */
export function* deleteShareSnapshot(
  tx: FileTx,
  address: ShareAddress & { readonly snapshot: number },
  leaseId: string | undefined,
  moment: Moment,
): Step<void> {
  const share = yield* requireShare(tx, address)
  const { id, snapshotCount, lastSnapshot, snapshotFloor = 0 } = share
  const { lease, snapshot } = yield* requireShareSnapshot(tx, id, address.snapshot)
  checkLeaseForWrite(lease, leaseId, moment.nowMs, 'share')
  tx.delete(shareSnapshotKey(id, snapshot))
  // The newest snapshot left: states newer than it need not be preserved by the next change.
  const last = (yield* shareSnapshots(tx, id)).at(-1)?.snapshot ?? 0
  saveShare(tx, address, {
    ...share,
    lastSnapshot: last,
    snapshotFloor: Math.max(lastSnapshot, snapshotFloor),
    snapshotCount: snapshotCount - 1,
  })
  // The new stamp tells a running sweep that there is more to do.
  tx.put(deletedShareSnapshotKey(id), encodeRecord({ stamp: moment.stamp }))
  yield* closeOpens(tx, id, snapshot)
}
