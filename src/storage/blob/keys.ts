// Every key of the Blob service. Names are keys, objects are ids: a container's blobs are found by its id,
// so deleting it is one record and a new one of the same name starts empty.
import { encodeKey, encodeKeyPrefix } from '../../kv/key.ts'
import { prefixRange, type Key, type KeyRange } from '../../kv/kv.ts'

/** → Container */
export function containerKey(account: string, name: string): Key {
  return encodeKey('container', account, name)
}

export function containerKeyPrefix(account: string, namePrefix: string): Key {
  return encodeKeyPrefix(['container', account], namePrefix)
}

/** → ContainerName: whose container an id is; as long as it has blobs, even if it is deleted */
export function containerNameKey(containerId: number): Key {
  return encodeKey('container-name', containerId)
}

/** → DeletedContainer: one that can be restored */
export function pastContainerKey(account: string, name: string, containerId: number): Key {
  return encodeKey('container-past', account, name, containerId)
}

export function pastContainerKeyPrefix(account: string, namePrefix: string): Key {
  return encodeKeyPrefix(['container-past', account], namePrefix)
}

/** → {}: a container that is gone for good and whose blobs are still to be swept */
export function deletedContainerKey(containerId: number): Key {
  return encodeKey('deleted-container', containerId)
}

export const DELETED_CONTAINERS = prefixRange(encodeKey('deleted-container'))

/** → Blob, and behind it the bytes of a small one */
export function blobKey(containerId: number, name: string): Key {
  return encodeKey('blob', containerId, name)
}

export function blobKeyPrefix(containerId: number, namePrefix: string): Key {
  return encodeKeyPrefix(['blob', containerId], namePrefix)
}

/** The stamp under which a blob that was soft-deleted stands: after its snapshots and versions. */
export const DELETED_ROOT = Number.MAX_SAFE_INTEGER

/** → PastBlob: a snapshot, a version or a soft-deleted blob; the stamp is its id */
export function pastBlobKey(containerId: number, name: string, stamp: number): Key {
  return encodeKey('blob-past', containerId, name, stamp)
}

export function pastBlobKeyPrefix(containerId: number, namePrefix: string): Key {
  return encodeKeyPrefix(['blob-past', containerId], namePrefix)
}

/** All of one blob's past. */
export function pastBlobRange(containerId: number, name: string): KeyRange {
  return prefixRange(encodeKey('blob-past', containerId, name))
}

/** → { snapshotCount }: of a name that has live snapshots but no blob, see snapshot.ts */
export function orphanSnapshotsKey(containerId: number, name: string): Key {
  return encodeKey('blob-orphans', containerId, name)
}

export function orphanSnapshotsKeyPrefix(containerId: number): Key {
  return encodeKey('blob-orphans', containerId)
}

/** → Staging: a blob to which blocks were put that no list has committed yet */
export function stagingKey(containerId: number, name: string): Key {
  return encodeKey('blob-staging', containerId, name)
}

export function stagingKeyPrefix(containerId: number, namePrefix: string): Key {
  return encodeKeyPrefix(['blob-staging', containerId], namePrefix)
}

/** → StagedBlock, by its id in base64 */
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

/** → StagedBlock, of a staging without an id */
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

/** The tags of a name; of a value; in a container. */
export function blobTagKeyPrefix(
  account: string,
  name: string,
  ...further: readonly (string | number)[]
): Key {
  return encodeKey('blob-tag', account, name, ...further)
}

/** What becomes due: soft-deleted blobs and containers, expired blobs, blocks that nobody committed. */
export type DueKind = 'past' | 'expiry' | 'staging' | 'container'

/** → {}: look at this then, in the order of time */
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

/** → PendingCopy: a copy from elsewhere that is under way, to be taken up again after a crash */
export function pendingCopyKey(containerId: number, name: string): Key {
  return encodeKey('pending-copy', containerId, name)
}

export const PENDING_COPIES = prefixRange(encodeKey('pending-copy'))
