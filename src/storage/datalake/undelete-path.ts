// Undelete: a soft-deleted file or directory gets its entry back, under the path that it had, and with it everything below.
import type { Step, Tx } from '../../kv/kv.ts'
import { encodeRecord } from '../../kv/record.ts'
import type { Moment } from '../../node/moment.ts'
import { decodeStored, findBlob } from '../blob/blob.ts'
import { scheduleExpiry } from '../blob/expiry.ts'
import { blobKey, deletedPathKey } from '../blob/keys.ts'
import { changeTagIndex } from '../blob/list/tag-index.ts'
import { linkParents, putEntry } from '../blob/path/link.ts'
import type { Located } from '../blob/path/locate.ts'
import type { DeletedPath, PathState } from '../blob/path/path-state.ts'
import { forgetDeletedPath } from '../blob/path/sweep-tree.ts'
import type { Blob } from '../blob/record.ts'
import { StorageError } from '../shared/error.ts'
import { NO_TAGS } from '../shared/tags.ts'
import { namesOfPath } from '../blob/path/path-name.ts'
import { blobOfPath, type PathAddress } from './path-address.ts'

export type UndeletePath = {
  /** The path that it had, and the id of the deletion. */
  readonly source: { readonly path: string; readonly deletionId: number }
}

export function* undeletePath(
  tx: Tx,
  address: PathAddress,
  { source }: UndeletePath,
  moment: Moment,
): Step<Blob> {
  const target = yield* findBlob(tx, blobOfPath(address, 'write'), moment.nowMs)
  const { container, located } = target
  if (located === undefined) throw new StorageError('HierarchicalNamespaceNotEnabled')
  const order = namesOfPath(source.path).join('\0')
  const place = { containerId: container.id, order, stamp: source.deletionId }
  const record = yield* tx.getFields<DeletedPath>(
    deletedPathKey(place.containerId, place.order, place.stamp),
  )
  if (record === undefined || record.untilMs <= moment.nowMs) throw new StorageError('PathNotFound')
  if (target.stored !== undefined) throw new StorageError('PathAlreadyExists')
  forgetDeletedPath(tx, place, record)
  return yield* relink(tx, address, located, record, moment)
}

function* relink(
  tx: Tx,
  { account, actor }: PathAddress,
  located: Located,
  { id }: DeletedPath,
  moment: Moment,
): Step<Blob> {
  const { spaceId } = located
  const key = blobKey(spaceId, id)
  const value = yield* tx.get(key)
  if (value === undefined) throw new StorageError('PathNotFound')
  const { blob: deleted, bytes } = decodeStored<Blob>(value)
  const { id: parentId } = yield* linkParents(
    tx,
    located,
    actor === undefined ? {} : { actor },
    moment,
  )
  const { isDeleted: _isDeleted, ...state } = deleted.path ?? { id, parentId, name: '' }
  const path: PathState = { ...state, parentId, name: located.names.at(-1) ?? '' }
  putEntry(tx, spaceId, path)
  const blob: Blob = { ...deleted, path }
  const place = { account, containerId: spaceId, blob: id }
  changeTagIndex(tx, place, NO_TAGS, blob.tags ?? NO_TAGS)
  scheduleExpiry(tx, place, blob)
  tx.put(key, encodeRecord(blob, bytes))
  return blob
}
