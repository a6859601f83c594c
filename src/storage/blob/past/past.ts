// A blob's former states: snapshots, versions, and what soft delete keeps. All of them are records under
// the blob's name and a stamp that is their id. A blob that was soft-deleted stands after all the others,
// until it is undeleted, its time is over, or a new blob of its name makes it one of its deleted snapshots.
import { decodeKey } from '../../../kv/key.ts'
import type { Key, ReadTx, Step, Tx } from '../../../kv/kv.ts'
import { encodeRecord } from '../../../kv/record.ts'
import { scanAll } from '../../../kv/scan.ts'
import { nextStamp, type Moment } from '../../../node/moment.ts'
import { deletedNow } from '../../shared/retention.ts'
import { decodeStored, expiresAtMs, type BlobAddress, type Target } from '../blob.ts'
import type { Blob, PastBlob, StoredBlob } from '../record.ts'
import { copyContent, dropContent, moveContent } from '../content/content.ts'
import { DELETED_ROOT, dueKey, pastBlobKey, pastBlobRange } from '../keys.ts'
import { isKeptAsVersion, type Protection } from '../protection.ts'

/** Where a blob is, for what is kept beside its record. */
export type BlobPlace = {
  readonly account: string
  readonly containerId: number
  readonly blob: string
}

export function placeOf(address: BlobAddress, { container }: Target): BlobPlace {
  return { account: address.account, containerId: container.id, blob: address.blob }
}

/**
 * A blob is about to come where `stored`, a soft-deleted one or none is: what is there is kept as the
 * account's properties say, or let go. Answers with the stamp of the one that comes.
 */
export function* makeRoom(
  tx: Tx,
  place: BlobPlace,
  stored: StoredBlob | undefined,
  protection: Protection,
  moment: Moment,
): Step<number> {
  const isKept =
    stored === undefined
      ? yield* demoteDeletedRoot(tx, place, moment)
      : yield* keepReplaced(tx, place, stored, protection, moment)
  if (isKept || protection.isVersioningEnabled) {
    return yield* nextPastStamp(tx, place, stored?.blob, moment)
  }
  return nextStamp(stored?.blob.stamp, moment)
}

function* keepReplaced(
  tx: Tx,
  place: BlobPlace,
  stored: StoredBlob,
  protection: Protection,
  moment: Moment,
): Step<boolean> {
  const { blob } = stored
  const days = protection.blobRetentionDays
  forgetExpiry(tx, place, blob)
  if (isKeptAsVersion(blob, protection)) {
    yield* moveToVersion(tx, place, stored)
  } else if (days !== undefined) {
    const stamp = yield* nextPastStamp(tx, place, blob, moment)
    const deleted = deletedNow(moment.nowMs, days)
    yield* movePast(tx, place, stamp, stored, { kind: 'snapshot', deleted })
  } else {
    yield* dropContent(tx, blob)
    return false
  }
  return true
}

/** What has no expiry any more, or is gone, needs no look: marks for a far time would pile up. */
export function forgetExpiry(tx: Tx, { containerId, blob: name }: BlobPlace, blob: Blob): void {
  const atMs = expiresAtMs(blob)
  if (atMs !== undefined) tx.delete(dueKey(atMs, 'expiry', containerId, name))
}

/** A new blob comes where one was soft-deleted: that one is from now on a deleted snapshot of it. */
function* demoteDeletedRoot(tx: Tx, place: BlobPlace, moment: Moment): Step<boolean> {
  const key = pastBlobKey(place.containerId, place.blob, DELETED_ROOT)
  const value = yield* tx.get(key)
  if (value === undefined) return false
  const stored = decodeStored<PastBlob>(value)
  tx.delete(key)
  const { deleted } = stored.blob
  if (deleted === undefined || deleted.untilMs <= moment.nowMs) {
    yield* dropContent(tx, stored.blob)
    return false
  }
  const stamp = yield* nextPastStamp(tx, place, stored.blob, moment)
  yield* movePast(tx, place, stamp, stored, { kind: 'snapshot', deleted })
  return true
}

/** The current blob, which is replaced or deleted, stays as a version. */
export function* moveToVersion(tx: Tx, place: BlobPlace, stored: StoredBlob): Step<void> {
  const stamp = yield* versionStamp(tx, place, stored.blob)
  yield* movePast(tx, place, stamp, stored, { kind: 'version' })
}

/** The same before a change that leaves the bytes where they are: Set Blob Metadata, Snapshot Blob. */
export function* copyToVersion(
  tx: Tx,
  place: BlobPlace,
  stored: StoredBlob,
  newId: number,
): Step<void> {
  const stamp = yield* versionStamp(tx, place, stored.blob)
  yield* copyPast(tx, place, stamp, stored, { kind: 'version' }, newId)
}

/** A blob from before versioning was turned on gets an id when it becomes a version: its last write's. */
function* versionStamp(tx: ReadTx, place: BlobPlace, { version, stamp }: Blob): Step<number> {
  return version ?? (yield* freeStamp(tx, place, stamp))
}

/** Takes away a past state whose time is over; the sweep calls it, and it looks again. */
export function* dropOverdue(tx: Tx, key: Key, nowMs: number): Step<void> {
  const value = yield* tx.get(key)
  if (value === undefined) return
  const { blob } = decodeStored<PastBlob>(value)
  if (blob.deleted === undefined || blob.deleted.untilMs > nowMs) return
  yield* dropContent(tx, blob)
  tx.delete(key)
}

export type Past = {
  readonly key: Key
  readonly stamp: number
  readonly stored: StoredBlob<PastBlob>
}

/** Past states that one scan takes. */
const SCAN_COUNT = 256

/** All past states of a blob, the oldest first. */
export function* pastOf(tx: ReadTx, { containerId, blob }: BlobPlace): Step<Past[]> {
  const entries = yield* scanAll(tx, pastBlobRange(containerId, blob), SCAN_COUNT)
  return entries.map(({ key, value }) => {
    return { key, stamp: stampOfKey(key), stored: decodeStored<PastBlob>(value) }
  })
}

/** Soft-deletes or drops a snapshot or a version. */
export function* removePast(
  tx: Tx,
  place: BlobPlace,
  { key, stamp, stored }: Past,
  protection: Protection,
  moment: Moment,
): Step<void> {
  const days = protection.blobRetentionDays
  if (days === undefined) {
    yield* dropContent(tx, stored.blob)
    tx.delete(key)
    return
  }
  const deleted = deletedNow(moment.nowMs, days)
  tx.put(key, encodeRecord({ ...stored.blob, deleted }, stored.bytes))
  scheduleDue(tx, place, stamp, deleted.untilMs)
}

/** The record goes from the current blob to its past, with its bytes. */
export function* movePast(
  tx: Tx,
  place: BlobPlace,
  stamp: number,
  { blob, bytes }: StoredBlob,
  past: Pick<PastBlob, 'kind' | 'deleted'>,
): Step<void> {
  const key = pastBlobKey(place.containerId, place.blob, stamp)
  yield* moveContent(tx, blob, key)
  putPast(tx, place, stamp, key, { blob: pastOfBlob(blob, stamp, past), bytes })
}

/** A state of its own beside the current blob, sharing no record with it. */
export function* copyPast(
  tx: Tx,
  place: BlobPlace,
  stamp: number,
  { blob, bytes }: StoredBlob,
  past: Pick<PastBlob, 'kind'>,
  newId: number,
): Step<void> {
  const key = pastBlobKey(place.containerId, place.blob, stamp)
  const content = yield* copyContent(tx, blob, key, newId)
  putPast(tx, place, stamp, key, { blob: { ...pastOfBlob(blob, stamp, past), ...content }, bytes })
}

function putPast(
  tx: Tx,
  place: BlobPlace,
  stamp: number,
  key: Key,
  { blob, bytes }: StoredBlob<PastBlob>,
): void {
  tx.put(key, encodeRecord(blob, bytes))
  if (blob.deleted !== undefined) scheduleDue(tx, place, stamp, blob.deleted.untilMs)
}

function scheduleDue(tx: Tx, { containerId, blob }: BlobPlace, stamp: number, atMs: number): void {
  tx.put(dueKey(atMs, 'past', containerId, blob, stamp), encodeRecord({}))
}

/**
 * A past state is never leased and never expires, only the current blob counts snapshots, and a snapshot is
 * no version.
 */
function pastOfBlob(blob: Blob, stamp: number, past: Pick<PastBlob, 'kind' | 'deleted'>): PastBlob {
  const { lease: _lease, snapshotCount: _count, version: _version, expiresMs, ...rest } = blob
  // A blob that is undeleted expires as it would have.
  const isKept = past.kind === 'root' && expiresMs !== undefined
  const isVersion = past.kind === 'version'
  return { ...rest, ...past, ...(isKept && { expiresMs }), ...(isVersion && { version: stamp }) }
}

/**
 * The id of the next snapshot or version, or the stamp of a blob that becomes one: above all that this
 * name has, so that ids are in the order of the states and none ever takes another's place. Moments alone
 * don't grant it: of two writers the one that took its moment first may be the second to commit.
 */
export function* nextPastStamp(
  tx: ReadTx,
  { containerId, blob }: BlobPlace,
  current: Blob | undefined,
  moment: Moment,
): Step<number> {
  const { from } = pastBlobRange(containerId, blob)
  const to = pastBlobKey(containerId, blob, DELETED_ROOT)
  const [last] = (yield* tx.scanKeys({ from, to, countMax: 1, reverse: true })).map(stampOfKey)
  return nextStamp(Math.max(last ?? 0, current?.stamp ?? 0, current?.version ?? 0), moment)
}

/** The stamp, or the next one that no past state of this blob has. */
function* freeStamp(tx: ReadTx, { containerId, blob }: BlobPlace, stamp: number): Step<number> {
  let free = stamp
  while ((yield* tx.get(pastBlobKey(containerId, blob, free))) !== undefined) free += 1
  return free
}

function stampOfKey(key: Key): number {
  return Number(decodeKey(key)[3])
}
