// A share: one record, looked up by account and name. The share's id is part of the keys of everything in it. A
// snapshot is a copy of the share's record; the content of snapshots is copy-on-write (snapshot-view.ts).
import type { ReadTx, Step, Tx } from '../../../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../../../kv/record.ts'
import { scanAll } from '../../../kv/scan.ts'
import type { SignedIdentifier } from '../../shared/access-policy.ts'
import { StorageError } from '../../shared/error.ts'
import type { Lease } from '../../shared/lease.ts'
import type { Metadata } from '../../shared/metadata.ts'
import { requireFields } from '../../shared/require-fields.ts'
import type { Deleted } from '../../shared/retention.ts'
import { shareKey, shareSnapshotKey, shareSnapshotRange, shareUsageKey } from '../keys.ts'
import type { ShareView } from './snapshot-view.ts'

export type ShareAddress = {
  readonly account: string
  readonly share: string
  /** The stamp of a snapshot. */
  readonly snapshot?: number
}

export type ShareAccessTier = 'TransactionOptimized' | 'Hot' | 'Cool' | 'Premium'
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
  readonly accessTier: ShareAccessTier
  readonly accessTierChangedMs?: number
  readonly enabledProtocol: EnabledProtocol
  readonly rootSquash?: RootSquash
  readonly snapshotVirtualDirectoryAccess?: boolean
  /** The stamp of the newest existing snapshot; 0 if there is none. */
  readonly lastSnapshot: number
  /** The stamp of the newest snapshot ever taken, if it was deleted: the next one must be later. */
  readonly snapshotFloor?: number
  readonly snapshotCount: number
}

/** A snapshot of a share, with a lease of its own. */
export type ShareSnapshot = Omit<Share, 'lastSnapshot' | 'snapshotFloor' | 'snapshotCount'> & {
  readonly snapshot: number
}

/** A soft-deleted share, which can be restored until its retention ends. */
export type DeletedShare = Share & {
  readonly deleted: Deleted
}

const GIB = 2 ** 30

export const SNAPSHOT_COUNT_MAX = 200

export function getShare(
  tx: ReadTx,
  { account, share }: Pick<ShareAddress, 'account' | 'share'>,
): Step<Share | undefined> {
  return tx.getFields(shareKey(account, share))
}

export function requireShare(
  tx: ReadTx,
  { account, share }: Pick<ShareAddress, 'account' | 'share'>,
): Step<Share> {
  return requireFields(tx, shareKey(account, share), 'ShareNotFound')
}

export function* requireShareSnapshot(
  tx: ReadTx,
  shareId: number,
  snapshot: number,
): Step<ShareSnapshot> {
  const found = yield* getShareSnapshot(tx, shareId, snapshot)
  if (found === undefined) throw new StorageError('ShareSnapshotNotFound')
  return found
}

export function getShareSnapshot(
  tx: ReadTx,
  shareId: number,
  snapshot: number,
): Step<ShareSnapshot | undefined> {
  return tx.getFields(shareSnapshotKey(shareId, snapshot))
}

/** Oldest first; there are at most 200. */
export function* shareSnapshots(tx: ReadTx, shareId: number): Step<readonly ShareSnapshot[]> {
  const entries = yield* scanAll(tx, shareSnapshotRange(shareId), SNAPSHOT_COUNT_MAX)
  return entries.map(({ value }) => decodeRecord<ShareSnapshot>(value))
}

/** The share and the view that the address names: the current share or an existing snapshot. */
export function* requireView(
  tx: ReadTx,
  address: ShareAddress,
): Step<{ readonly share: Share; readonly view: ShareView }> {
  const share = yield* requireShare(tx, address)
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

/** The total length of the files in a share. */
export function* shareUsageBytes(tx: ReadTx, shareId: number): Step<number> {
  const value = yield* tx.get(shareUsageKey(shareId))
  return value === undefined ? 0 : decodeRecord<{ bytes: number }>(value).bytes
}

/** Records that a file grew or shrank. Usage can't grow beyond the quota; shrinking always works. */
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
