// Takes paths out of their directories. Whatever is below a directory disappears with its entry; the sweep removes the records
// later (sweep-tree.ts), or they wait for the directory to be restored (undelete-path.ts).
import type { ReadTx, Step, Tx } from '../../../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../../../kv/record.ts'
import type { Moment } from '../../../node/moment.ts'
import { StorageError } from '../../shared/error.ts'
import { withLease } from '../../shared/lease.ts'
import { deletedNow } from '../../shared/retention.ts'
import { NO_TAGS } from '../../shared/tags.ts'
import { isBlobExpired, type Target } from '../blob.ts'
import { dropContent } from '../content/content.ts'
import { discardStaging } from '../content/staging.ts'
import {
  blobKey,
  deletedPathKey,
  deletedTreeKey,
  dueKey,
  pathEntriesRange,
  stagingKey,
} from '../keys.ts'
import { changeTagIndex } from '../list/tag-index.ts'
import { forgetExpiry, pastOf, type BlobPlace } from '../past/past.ts'
import type { Blob, StoredBlob } from '../record.ts'
import { deletePathEntry } from './link.ts'
import type { Located } from './locate.ts'
import type { DeletedPath, PathEntry } from './path-state.ts'

/** What a directory has: nothing, only files that have expired, or something that clients see. */
export type Children = 'none' | 'expired' | 'some'

const CHILD_COUNT = 32

export function* childrenOf(
  tx: ReadTx,
  spaceId: number,
  directoryId: string,
  nowMs: number,
): Step<Children> {
  const range = { ...pathEntriesRange(spaceId, directoryId), countMax: CHILD_COUNT }
  const entries = yield* tx.scanFields(range)
  if (entries.length === 0) return 'none'
  if (entries.length === CHILD_COUNT) return 'some'
  for (const { value } of entries) {
    const { id, isDirectory } = decodeRecord<PathEntry>(value)
    if (isDirectory === true) return 'some'
    const blob = yield* tx.getFields<Blob>(blobKey(spaceId, id))
    if (blob === undefined || !isBlobExpired(blob, nowMs)) return 'some'
  }
  return 'expired'
}

/** Delete Blob, and Delete Path without `recursive`. */
export function* checkRemovable(
  tx: ReadTx,
  { located: { spaceId }, stored: { blob } }: Pick<Removed, 'located' | 'stored'>,
  nowMs: number,
): Step<void> {
  if (blob.path?.isDirectory !== true) return
  const children = yield* childrenOf(tx, spaceId, blob.path.id, nowMs)
  if (children === 'some') throw new StorageError('DirectoryIsNotEmpty')
}

/** The path of a request that is to be removed: an existing one, and not the root. */
export type Removed = Pick<Target, 'container'> & {
  readonly located: Located
  readonly stored: StoredBlob
}

export type Removal = {
  readonly account: string
  /** Undefined: the path can't be restored. */
  readonly retentionDays: number | undefined
}

/** Removes the path and everything below it. Returns its deletion id if it can be restored. */
export function* unlinkPath(
  tx: Tx,
  { container, located, stored: { blob, bytes } }: Removed,
  { account, retentionDays }: Removal,
  moment: Moment,
): Step<number | undefined> {
  const { path } = blob
  if (path === undefined || located.names.length === 0) throw new StorageError('InvalidUri')
  const { spaceId, names } = located
  const place = { account, containerId: spaceId, blob: path.id }
  deletePathEntry(tx, spaceId, path)
  if (retentionDays === undefined) {
    yield* dropUnlinked(tx, place, blob)
    return undefined
  }
  const deleted = deletedNow(moment.nowMs, retentionDays)
  const { id, isDirectory } = path
  const entry = isDirectory === true ? { id, isDirectory } : { id }
  const record: DeletedPath = { ...entry, spaceId, ...deleted }
  const text = names.join('\0')
  tx.put(deletedPathKey(container.id, text, moment.stamp), encodeRecord(record))
  tx.put(dueKey(deleted.untilMs, 'path', container.id, text, moment.stamp), encodeRecord({}))
  changeTagIndex(tx, place, blob.tags ?? NO_TAGS, NO_TAGS)
  forgetExpiry(tx, place, blob)
  yield* discardStagingOf(tx, place)
  const kept: Blob = { ...withLease(blob, undefined), path: { ...path, isDeleted: true } }
  tx.put(blobKey(spaceId, id), encodeRecord(kept, bytes))
  return moment.stamp
}

/** The record of a path without an entry. Of a directory, the sweep removes what is below it. */
export function* dropUnlinked(tx: Tx, place: BlobPlace, blob: Blob): Step<void> {
  const { containerId, blob: name } = place
  changeTagIndex(tx, place, blob.tags ?? NO_TAGS, NO_TAGS)
  forgetExpiry(tx, place, blob)
  yield* dropContent(tx, blob)
  tx.delete(blobKey(containerId, name))
  if (blob.path?.isDirectory === true) {
    tx.put(deletedTreeKey(containerId, name), encodeRecord({}))
    return
  }
  for (const { key, stored } of yield* pastOf(tx, place)) {
    yield* dropContent(tx, stored.blob)
    tx.delete(key)
  }
  yield* discardStagingOf(tx, place)
}

function* discardStagingOf(tx: Tx, { containerId, blob }: BlobPlace): Step<void> {
  const staging = yield* tx.getFields(stagingKey(containerId, blob))
  if (staging !== undefined) yield* discardStaging(tx, containerId, blob)
}
