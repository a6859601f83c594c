// Snapshot Share: a number, and a copy of the share's own record; what is in the share stays where it is
// (snapshot-view.ts). A snapshot that is deleted leaves a mark, and the sweep takes what only it showed.
import type { Step } from '../../../kv/kv.ts'
import { encodeRecord } from '../../../kv/record.ts'
import { StorageError } from '../../shared/error.ts'
import { checkLeaseForWrite } from '../../shared/lease.ts'
import type { Metadata } from '../../shared/metadata.ts'
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

/** The ETag is the share's, unless the snapshot has metadata of its own. */
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
  const own = metadata && {
    metadata,
    stamp: nextStamp(share.stamp, moment),
    modifiedMs: Math.max(share.modifiedMs, moment.nowMs),
  }
  const snapshot: ShareSnapshot = { ...rest, ...own, snapshot: number }
  saveShareSnapshot(tx, snapshot)
  saveShare(tx, address, { ...share, lastSnapshot: number, snapshotCount: snapshotCount + 1 })
  return snapshot
}

/** Delete Share, of a snapshot: the share itself stays as it is, and clients that look at it are shut out. */
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
  // A state that nobody shows any more need not be kept by the next change, so the last one is looked for.
  const last = (yield* shareSnapshots(tx, id)).at(-1)?.snapshot ?? 0
  saveShare(tx, address, {
    ...share,
    lastSnapshot: last,
    snapshotFloor: Math.max(lastSnapshot, snapshotFloor),
    snapshotCount: snapshotCount - 1,
  })
  // The stamp tells a sweep under way that there is more to do.
  tx.put(deletedShareSnapshotKey(id), encodeRecord({ stamp: moment.stamp }))
  yield* closeOpens(tx, id, snapshot)
}
