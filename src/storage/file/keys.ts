// All keys of the File service. Shares have ids, and so do the directories and files in them. A name is an entry of a
// directory, so a rename changes two entries, however large the subtree is. Records of SMB opens are volatile
// (kv/volatile.ts).
import { encodeKey, encodeKeyPrefix } from '../../kv/key.ts'
import { prefixRange, type Key, type KeyRange } from '../../kv/kv.ts'
import { volatileKey } from '../../kv/volatile.ts'

/** → Share */
export function shareKey(account: string, name: string): Key {
  return encodeKey('share', account, name)
}

/** The shares of an account, or of all; or the one with this name. */
export function sharesRange(...names: readonly string[]): KeyRange {
  return prefixRange(encodeKey('share', ...names))
}

export function shareKeyPrefix(account: string, namePrefix: string): Key {
  return encodeKeyPrefix(['share', account], namePrefix)
}

/** Shares of all accounts, and soft-deleted ones. */
export const ALL_SHARES = prefixRange(encodeKey('share'))
export const ALL_PAST_SHARES = prefixRange(encodeKey('share-past'))

/** → ShareSnapshot */
export function shareSnapshotKey(shareId: number, snapshot: number): Key {
  return encodeKey('share-snapshot', shareId, snapshot)
}

export function shareSnapshotRange(shareId: number): KeyRange {
  return prefixRange(encodeKey('share-snapshot', shareId))
}

/** → DeletedShare: soft-deleted, can be restored */
export function pastShareKey(account: string, name: string, shareId: number): Key {
  return encodeKey('share-past', account, name, shareId)
}

export function pastSharesRange(...names: readonly string[]): KeyRange {
  return prefixRange(encodeKey('share-past', ...names))
}

export function pastShareKeyPrefix(account: string, namePrefix: string): Key {
  return encodeKeyPrefix(['share-past', account], namePrefix)
}

/** → {account, name}: when the retention of a deleted share ends, in order of time */
export function shareDueKey(atMs: number, shareId: number): Key {
  return encodeKey('share-due', atMs, shareId)
}

export function shareDueRange(untilMs: number): KeyRange {
  return { from: encodeKey('share-due', 0), to: encodeKey('share-due', untilMs + 1) }
}

/** → {bytes}: the total length of its files */
export function shareUsageKey(shareId: number): Key {
  return encodeKey('share-usage', shareId)
}

/** → {}: deleted for good; its content is still to be swept */
export function deletedShareKey(shareId: number): Key {
  return encodeKey('deleted-share', shareId)
}

export const DELETED_SHARES = prefixRange(encodeKey('deleted-share'))

/** → {stamp}: a snapshot was deleted; states that only it showed are still to be swept */
export function deletedShareSnapshotKey(shareId: number): Key {
  return encodeKey('deleted-share-snapshot', shareId)
}

export const DELETED_SHARE_SNAPSHOTS = prefixRange(encodeKey('deleted-share-snapshot'))

/** → FileNode: a directory, a file or a link */
export function fileNodeKey(shareId: number, nodeId: number): Key {
  return encodeKey('file-node', shareId, nodeId)
}

export function nodesRange(shareId: number): KeyRange {
  return prefixRange(encodeKey('file-node', shareId))
}

/** → FileNode: a past state, preserved for a snapshot of the share */
export function pastNodeKey(shareId: number, nodeId: number, snapshot: number): Key {
  return encodeKey('file-node-past', shareId, nodeId, snapshot)
}

export function pastNodesRange(shareId: number, ...nodeId: readonly number[]): KeyRange {
  return prefixRange(encodeKey('file-node-past', shareId, ...nodeId))
}

/** → FileEntry: a name in a directory; names are case-insensitive */
export function entryKey(shareId: number, directoryId: number, folded: string): Key {
  return encodeKey('file-entry', shareId, directoryId, folded)
}

export function entryKeyPrefix(shareId: number, directoryId: number, foldedPrefix: string): Key {
  return encodeKeyPrefix(['file-entry', shareId, directoryId], foldedPrefix)
}

export function entriesRange(shareId: number, ...directoryId: readonly number[]): KeyRange {
  return prefixRange(encodeKey('file-entry', shareId, ...directoryId))
}

/** → FileEntry: a past state, preserved for a snapshot of the share */
export function pastEntryKey(
  shareId: number,
  directoryId: number,
  folded: string,
  snapshot: number,
): Key {
  return encodeKey('file-entry-past', shareId, directoryId, folded, snapshot)
}

export function pastEntryKeyPrefix(
  shareId: number,
  directoryId: number,
  foldedPrefix: string,
): Key {
  return encodeKeyPrefix(['file-entry-past', shareId, directoryId], foldedPrefix)
}

export function pastEntriesRange(shareId: number): KeyRange {
  return prefixRange(encodeKey('file-entry-past', shareId))
}

/** → FilePermission */
export function permissionKey(shareId: number, key: string): Key {
  return encodeKey('file-permission', shareId, key)
}

export function permissionsRange(shareId: number): KeyRange {
  return prefixRange(encodeKey('file-permission', shareId))
}

/** → PendingFileCopy: a running copy, resumed after a crash */
export function pendingFileCopyKey(shareId: number, nodeId: number): Key {
  return encodeKey('pending-file-copy', shareId, nodeId)
}

export const PENDING_FILE_COPIES = prefixRange(encodeKey('pending-file-copy'))

/** → {}: a file that has lost its name but is still open */
export function orphanKey(shareId: number, nodeId: number): Key {
  return encodeKey('file-orphan', shareId, nodeId)
}

export const ORPHANS = prefixRange(encodeKey('file-orphan'))

/** → FileOpen: a file or directory that an SMB client holds open (volatile) */
export function openKey(shareId: number, nodeId: number, openId: number): Key {
  return volatileKey('open', shareId, nodeId, openId)
}

export function opensRange(shareId: number, ...nodeId: readonly number[]): KeyRange {
  return prefixRange(volatileKey('open', shareId, ...nodeId))
}

export const ALL_OPENS = prefixRange(volatileKey('open'))

/** → FileLock: a byte range that an open has locked (volatile) */
export function lockKey(shareId: number, nodeId: number, openId: number, index: number): Key {
  return volatileKey('lock', shareId, nodeId, openId, index)
}

export function locksRange(
  shareId: number,
  nodeId: number,
  ...openId: readonly number[]
): KeyRange {
  return prefixRange(volatileKey('lock', shareId, nodeId, ...openId))
}

export const ALL_LOCKS = prefixRange(volatileKey('lock'))

/** → CacheHolder: an oplock or a lease that lets an SMB client cache (volatile) */
export function cacheKey(shareId: number, nodeId: number, holder: string): Key {
  return volatileKey('cache', shareId, nodeId, holder)
}

export function cachesRange(shareId: number, nodeId: number): KeyRange {
  return prefixRange(volatileKey('cache', shareId, nodeId))
}

/** → {shareId, nodeId}: the one file that a lease is for (volatile) */
export function leaseHolderKey(holder: string): Key {
  return volatileKey('lease', holder)
}

/** → PersistentOpen: an SMB open that outlives the server */
export function persistentOpenKey(openId: number): Key {
  return encodeKey('persistent-open', openId)
}

export const PERSISTENT_OPENS = prefixRange(encodeKey('persistent-open'))

/** → {}: an SMB client has marked it for deletion; it is deleted when the last handle is closed (volatile) */
export function deletePendingKey(shareId: number, nodeId: number): Key {
  return volatileKey('delete-pending', shareId, nodeId)
}

export function deletePendingRange(shareId: number): KeyRange {
  return prefixRange(volatileKey('delete-pending', shareId))
}
