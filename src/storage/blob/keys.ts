// All keys of the Blob service. The keys of blobs contain the id of their container, not its name: deleting a
// container changes one record, and a new one of the same name starts empty.
import { encodeKey, encodeKeyPrefix } from '../../kv/key.ts'
import { prefixRange, type Key, type KeyRange } from '../../kv/kv.ts'

/** → Container */
export function containerKey(account: string, name: string): Key {
  return encodeKey('container', account, name)
}

/** The containers of an account, or of all; or the one with this name. */
export function containersRange(...names: readonly string[]): KeyRange {
  return prefixRange(encodeKey('container', ...names))
}

export function containerKeyPrefix(account: string, namePrefix: string): Key {
  return encodeKeyPrefix(['container', account], namePrefix)
}

/** → ContainerName: the name of a container by id; kept until all its blobs are swept */
export function containerNameKey(containerId: number): Key {
  return encodeKey('container-name', containerId)
}

/** → DeletedContainer: a container that can be restored */
export function pastContainerKey(account: string, name: string, containerId: number): Key {
  return encodeKey('container-past', account, name, containerId)
}

export function pastContainersRange(...names: readonly string[]): KeyRange {
  return prefixRange(encodeKey('container-past', ...names))
}

export function pastContainerKeyPrefix(account: string, namePrefix: string): Key {
  return encodeKeyPrefix(['container-past', account], namePrefix)
}

/** → {}: a deleted container whose blobs are still to be swept */
export function deletedContainerKey(containerId: number): Key {
  return encodeKey('deleted-container', containerId)
}

export const DELETED_CONTAINERS = prefixRange(encodeKey('deleted-container'))

/** → Blob, followed by the bytes of a small one */
export function blobKey(containerId: number, name: string): Key {
  return encodeKey('blob', containerId, name)
}

export function blobKeyPrefix(containerId: number, namePrefix: string): Key {
  return encodeKeyPrefix(['blob', containerId], namePrefix)
}

/** The stamp of a soft-deleted blob: it sorts after its snapshots and versions. */
export const DELETED_ROOT = Number.MAX_SAFE_INTEGER

/** → PastBlob: a snapshot, a version or a soft-deleted blob; the stamp is its id */
export function pastBlobKey(containerId: number, name: string, stamp: number): Key {
  return encodeKey('blob-past', containerId, name, stamp)
}

export function pastBlobKeyPrefix(containerId: number, namePrefix: string): Key {
  return encodeKeyPrefix(['blob-past', containerId], namePrefix)
}

/** All past states of a blob. */
export function pastBlobRange(containerId: number, name: string): KeyRange {
  return prefixRange(encodeKey('blob-past', containerId, name))
}

/** → { snapshotCount }: for a name that has live snapshots but no blob (snapshot.ts) */
export function orphanSnapshotsKey(containerId: number, name: string): Key {
  return encodeKey('blob-orphans', containerId, name)
}

export function orphanSnapshotsKeyPrefix(containerId: number): Key {
  return encodeKey('blob-orphans', containerId)
}

/** → Staging: the uncommitted blocks of a blob */
export function stagingKey(containerId: number, name: string): Key {
  return encodeKey('blob-staging', containerId, name)
}

export function stagingKeyPrefix(containerId: number, namePrefix: string): Key {
  return encodeKeyPrefix(['blob-staging', containerId], namePrefix)
}

export const ALL_STAGINGS = prefixRange(encodeKey('blob-staging'))

/** → StagedBlock, by the block's id in base64 */
export function blockKey(stagingId: number, blockId: string): Key {
  return encodeKey('block', stagingId, blockId)
}

export function blockRange(stagingId: number): KeyRange {
  return prefixRange(encodeKey('block', stagingId))
}

/** → {}: a staging whose blocks are still to be swept */
export function discardedStagingKey(stagingId: number): Key {
  return encodeKey('discarded-staging', stagingId)
}

export const DISCARDED_STAGINGS = prefixRange(encodeKey('discarded-staging'))

/** → StagedBlock of a staging without an id */
export function stagedBlockKey(containerId: number, name: string, blockId: string): Key {
  return encodeKey('blob-block', containerId, name, blockId)
}

export function stagedBlockRange(containerId: number, name: string): KeyRange {
  return prefixRange(encodeKey('blob-block', containerId, name))
}

/** → {}: the current blob has this tag */
export function blobTagKey(
  account: string,
  [name, value]: readonly [name: string, value: string],
  { containerId, blob }: { readonly containerId: number; readonly blob: string },
): Key {
  return encodeKey('blob-tag', account, name, value, containerId, blob)
}

/** All tags with a name, or also with a value, or also in a container. */
export function blobTagKeyPrefix(
  account: string,
  name: string,
  ...further: readonly (string | number)[]
): Key {
  return encodeKey('blob-tag', account, name, ...further)
}

/**
 * What the sweep checks at some time: soft-deleted blobs, expiring blobs, uncommitted blocks, deleted containers,
 * soft-deleted paths.
 */
export type DueKind = 'past' | 'expiry' | 'staging' | 'container' | 'path'

/** → {}: a check to do, ordered by time */
export function dueKey(
  atMs: number,
  kind: DueKind,
  containerId: number,
  name: string,
  stamp = 0,
): Key {
  return encodeKey('due', atMs, kind, containerId, name, stamp)
}

export function dueRange(untilMs: number): KeyRange {
  return { from: encodeKey('due', 0), to: encodeKey('due', untilMs + 1) }
}

/** → PendingCopy: a copy from another server in progress, which is resumed after a crash */
export function pendingCopyKey(containerId: number, name: string): Key {
  return encodeKey('pending-copy', containerId, name)
}

export const PENDING_COPIES = prefixRange(encodeKey('pending-copy'))

/** → PathSpace: where the paths of an account with a hierarchical namespace are */
export function pathSpaceKey(account: string): Key {
  return encodeKey('path-space', account)
}

/** → PathEntry: a name in a directory */
export function pathEntryKey(spaceId: number, directoryId: string, name: string): Key {
  return encodeKey('path-entry', spaceId, directoryId, name)
}

export function pathEntryKeyPrefix(spaceId: number, directoryId: string, namePrefix: string): Key {
  return encodeKeyPrefix(['path-entry', spaceId, directoryId], namePrefix)
}

export function pathEntriesRange(spaceId: number, directoryId: string): KeyRange {
  return prefixRange(encodeKey('path-entry', spaceId, directoryId))
}

/** → {}: a directory that no path leads to; what is below it has to be swept */
export function deletedTreeKey(spaceId: number, directoryId: string): Key {
  return encodeKey('deleted-tree', spaceId, directoryId)
}

export const DELETED_TREES = prefixRange(encodeKey('deleted-tree'))

/** → DeletedPath: a soft-deleted file or directory by the path that it had (treeOrder); the stamp is its deletion id */
export function deletedPathKey(containerId: number, order: string, stamp: number): Key {
  return encodeKey('path-deleted', containerId, order, stamp)
}

export function deletedPathKeyPrefix(containerId: number, orderPrefix: string): Key {
  return encodeKeyPrefix(['path-deleted', containerId], orderPrefix)
}
