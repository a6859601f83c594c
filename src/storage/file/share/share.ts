// A share: one record, found by account and name; everything in it is found by its id. Its snapshots are
// records with its own, and what is in them costs nothing (snapshot-view.ts).
import type { ReadTx, Step, Tx } from '../../../kv/kv.ts'
import { getFields } from '../../../kv/fields.ts'
import { decodeRecord, encodeRecord } from '../../../kv/record.ts'
import { scanAll } from '../../../kv/scan.ts'
import type { SignedIdentifier } from '../../shared/access-policy.ts'
import { StorageError } from '../../shared/error.ts'
import type { Lease } from '../../shared/lease.ts'
import type { Metadata } from '../../shared/metadata.ts'
import type { Deleted } from '../../shared/retention.ts'
import { shareKey, shareSnapshotKey, shareSnapshotRange, shareUsageKey } from '../keys.ts'
import type { ShareView } from './snapshot-view.ts'

export type ShareAddress = {
  readonly account: string
  readonly share: string
  /** The stamp of a snapshot of it. */
  readonly snapshot?: number
}

export type AccessTier = 'TransactionOptimized' | 'Hot' | 'Cool' | 'Premium'
export type EnabledProtocol = 'SMB' | 'NFS'
export type RootSquash = 'NoRootSquash' | 'RootSquash' | 'AllSquash'

export type Share = {
  readonly id: number
  readonly stamp: number
  readonly modifiedMs: number
  readonly metadata: Metadata
  readonly policies: readonly SignedIdentifier[]
  readonly lease?: Lease
  readonly quotaGib: number
  /** Premium: when the quota was last raised. */
  readonly quotaRaisedMs?: number
  readonly accessTier: AccessTier
  readonly accessTierChangedMs?: number
  readonly enabledProtocol: EnabledProtocol
  readonly rootSquash?: RootSquash
  readonly snapshotVirtualDirectoryAccess?: boolean
  /** The stamp of the last snapshot that is still there; 0 if there is none. */
  readonly lastSnapshot: number
  /** Of the last one that was ever taken, where that is gone: the next one is later. */
  readonly snapshotFloor?: number
  readonly snapshotCount: number
}

/** A share as it was, with a lease of its own. */
export type ShareSnapshot = Omit<Share, 'lastSnapshot' | 'snapshotFloor' | 'snapshotCount'> & {
  readonly snapshot: number
}

/** One that was deleted and can be restored until its time is over. */
export type DeletedShare = Share & {
  readonly deleted: Deleted
}

const GIB = 2 ** 30

export const SNAPSHOT_COUNT_MAX = 200

export function getShare(
  tx: ReadTx,
  { account, share }: Pick<ShareAddress, 'account' | 'share'>,
): Step<Share | undefined> {
  return getFields<Share>(tx, shareKey(account, share))
}

export function* requireShare(
  tx: ReadTx,
  address: Pick<ShareAddress, 'account' | 'share'>,
): Step<Share> {
  const share = yield* getShare(tx, address)
  if (share === undefined) throw new StorageError('ShareNotFound')
  return share
}

export function* requireShareSnapshot(
  tx: ReadTx,
  shareId: number,
  snapshot: number,
): Step<ShareSnapshot> {
  const value = yield* tx.get(shareSnapshotKey(shareId, snapshot))
  if (value === undefined) throw new StorageError('ShareSnapshotNotFound')
  return decodeRecord<ShareSnapshot>(value)
}

/** There are at most 200. */
export function* shareSnapshots(tx: ReadTx, shareId: number): Step<readonly ShareSnapshot[]> {
  const entries = yield* scanAll(tx, shareSnapshotRange(shareId), SNAPSHOT_COUNT_MAX)
  return entries.map(({ value }) => decodeRecord<ShareSnapshot>(value))
}

/** The share with what of it is looked at: the present, or a snapshot that is there. */
export function* requireView(
  tx: ReadTx,
  address: ShareAddress,
): Step<{ readonly share: Share; readonly view: ShareView }> {
  const share = yield* getShare(tx, address)
  if (share === undefined) throw new StorageError('ShareNotFound')
  const { id: shareId, lastSnapshot } = share
  const { snapshot } = address
  if (snapshot === undefined) return { share, view: { shareId, lastSnapshot } }
  yield* requireShareSnapshot(tx, shareId, snapshot)
  return { share, view: { shareId, lastSnapshot, snapshot } }
}

export function saveShareSnapshot(tx: Tx, snapshot: ShareSnapshot): void {
  tx.put(shareSnapshotKey(snapshot.id, snapshot.snapshot), encodeRecord(snapshot))
}

export function saveShare(
  tx: Tx,
  { account, share: name }: Pick<ShareAddress, 'account' | 'share'>,
  share: Share,
): void {
  tx.put(shareKey(account, name), encodeRecord(share))
}

/** The lengths of the files in a share, in all. */
export function* shareUsageBytes(tx: ReadTx, shareId: number): Step<number> {
  const value = yield* tx.get(shareUsageKey(shareId))
  return value === undefined ? 0 : decodeRecord<{ bytes: number }>(value).bytes
}

/** A file grew or shrank. Growing ends at the quota, also where that was lowered below what is there. */
export function* changeUsage(
  tx: Tx,
  share: Pick<Share, 'id' | 'quotaGib'>,
  byBytes: number,
): Step<void> {
  if (byBytes === 0) return
  const bytes = (yield* shareUsageBytes(tx, share.id)) + byBytes
  if (byBytes > 0 && bytes > share.quotaGib * GIB) throw new StorageError('ShareSizeLimitReached')
  tx.put(shareUsageKey(share.id), encodeRecord({ bytes }))
}
