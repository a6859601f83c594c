// Gives soft-deleted paths their entries back, and with a directory everything below it.
import { decodeKey } from '../../../kv/key.ts'
import type { ReadTx, Step, Tx } from '../../../kv/kv.ts'
import { encodeRecord } from '../../../kv/record.ts'
import type { Moment } from '../../../node/moment.ts'
import { StorageError } from '../../shared/error.ts'
import { NO_TAGS } from '../../shared/tags.ts'
import { decodeStored } from '../blob.ts'
import { scheduleExpiry } from '../expiry.ts'
import { blobKey, deletedPathKey } from '../keys.ts'
import { changeTagIndex } from '../list/tag-index.ts'
import type { Blob } from '../record.ts'
import type { Creation } from './access.ts'
import { linkParents, putPathEntry } from './link.ts'
import { checkNotBelowFile, type Located } from './locate.ts'
import type { DeletedPath, PathState } from './path-state.ts'
import { forgetDeletedPath, type DeletedPlace } from './sweep-tree.ts'

/** The id of the last deletion of a path; undefined if nothing can be restored. */
export function* lastDeletion(
  tx: ReadTx,
  containerId: number,
  order: string,
  nowMs: number,
): Step<number | undefined> {
  const from = deletedPathKey(containerId, order, 0)
  const to = deletedPathKey(containerId, order, Number.MAX_SAFE_INTEGER)
  const [last] = yield* tx.scanFields({ from, to, countMax: 1, reverse: true })
  if (last === undefined) return undefined
  const { untilMs } = last.value.fields as DeletedPath
  return untilMs <= nowMs ? undefined : Number(decodeKey(last.key)[3])
}

/** `located`: the path that it gets. */
export function* restorePath(
  tx: Tx,
  account: string,
  located: Located,
  place: DeletedPlace,
  creation: Creation,
  moment: Moment,
): Step<Blob> {
  const { containerId, order, stamp } = place
  const record = yield* tx.getFields<DeletedPath>(deletedPathKey(containerId, order, stamp))
  if (record === undefined || record.untilMs <= moment.nowMs) throw new StorageError('PathNotFound')
  checkNotBelowFile(located)
  if (located.entry !== undefined) throw new StorageError('PathAlreadyExists')
  const { spaceId } = located
  const key = blobKey(spaceId, record.id)
  const value = yield* tx.get(key)
  if (value === undefined) throw new StorageError('PathNotFound')
  const { blob: deleted, bytes } = decodeStored<Blob>(value)
  forgetDeletedPath(tx, place, record)
  const { id: parentId } = yield* linkParents(tx, located, creation, moment)
  const { isDeleted: _isDeleted, ...state } = deleted.path ?? { id: record.id }
  const path: PathState = { ...state, parentId, name: located.names.at(-1) ?? '' }
  putPathEntry(tx, spaceId, path)
  const blob: Blob = { ...deleted, path }
  const own = { account, containerId: spaceId, blob: record.id }
  changeTagIndex(tx, own, NO_TAGS, blob.tags ?? NO_TAGS)
  scheduleExpiry(tx, own, blob)
  tx.put(key, encodeRecord(blob, bytes))
  return blob
}
