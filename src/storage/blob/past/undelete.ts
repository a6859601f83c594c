// Undelete Blob restores everything of a name that is soft-deleted. ETag and Last-Modified stay.
import type { Step, Tx } from '../../../kv/kv.ts'
import { encodeRecord } from '../../../kv/record.ts'
import { StorageError } from '../../shared/error.ts'
import type { Moment } from '../../../node/moment.ts'
import { findBlob, type BlobAddress, type Target } from '../blob.ts'
import type { StoredBlob } from '../record.ts'
import { moveContent } from '../content/content.ts'
import { scheduleExpiry } from '../expiry.ts'
import { dueKey } from '../keys.ts'
import { lastDeletion, restorePath } from '../path/restore.ts'
import { pastOf, blobPlaceOf, type BlobPlace } from './past.ts'
import { countSnapshots } from './snapshot.ts'
import { changeTagIndex } from '../list/tag-index.ts'
import { NO_TAGS } from '../../shared/tags.ts'

/**
 * A blob that is not soft-deleted stays as it is. With versioning on, a deleted blob is a version, so that no
 * blob becomes current; this still succeeds (azure-sdk-for-java#25943). In a hierarchical container, the last deletion of the
 * path is undone.
 */
export function* undeleteBlob(tx: Tx, address: BlobAddress, moment: Moment): Step<void> {
  const { nowMs } = moment
  const target = yield* findBlob(tx, address, nowMs)
  const { located, container } = target
  if (located !== undefined && target.stored === undefined) {
    const order = located.names.join('\0')
    const stamp = yield* lastDeletion(tx, container.id, order, nowMs)
    if (stamp === undefined) throw new StorageError('BlobNotFound')
    const actor = address.access?.actor
    const place = { containerId: container.id, order, stamp }
    yield* restorePath(tx, address.account, located, place, actor ? { actor } : {}, moment)
    return
  }
  const place = blobPlaceOf(address, target)
  let isFound = target.stored !== undefined
  let snapshotCount = 0
  let root: StoredBlob | undefined
  for (const { key, stamp, stored } of yield* pastOf(tx, place)) {
    const { deleted, ...past } = stored.blob
    if (deleted !== undefined && deleted.untilMs <= nowMs) continue
    isFound = true
    if (deleted === undefined) continue
    tx.delete(dueKey(deleted.untilMs, 'past', place.containerId, place.blob, stamp))
    if (past.kind === 'root') {
      const { kind: _kind, ...blob } = past
      tx.delete(key)
      root = { blob, bytes: stored.bytes }
      continue
    }
    tx.put(key, encodeRecord(past, stored.bytes))
    if (past.kind === 'snapshot') snapshotCount += 1
  }
  if (!isFound) throw new StorageError('BlobNotFound')
  if (root !== undefined) yield* putRoot(tx, place, target, root)
  const current = root === undefined ? target : { ...target, stored: root }
  if (snapshotCount > 0) yield* countSnapshots(tx, place, current, snapshotCount)
}

/** Makes the soft-deleted blob the current one again. */
function* putRoot(tx: Tx, place: BlobPlace, { key }: Target, root: StoredBlob): Step<void> {
  yield* moveContent(tx, root.blob, key)
  changeTagIndex(tx, place, NO_TAGS, root.blob.tags ?? NO_TAGS)
  scheduleExpiry(tx, place, root.blob)
  tx.put(key, encodeRecord(root.blob, root.bytes))
}
