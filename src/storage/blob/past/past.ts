// A blob's past states: snapshots, versions, and soft-deleted blobs. Each is a record under the blob's name and
// a stamp, which is its id. A soft-deleted blob sorts after all others, until it is undeleted, its retention
// ends, or a new blob of its name turns it into a deleted snapshot.
import { giveWay } from '../../../kv/step.ts'
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

/** Identifies a blob, for the records that belong to it. */
export type BlobPlace = {
  readonly account: string
  readonly containerId: number
  readonly blob: string
}

export function blobPlaceOf(
  { account }: Pick<BlobAddress, 'account'>,
  { containerId, name }: Pick<Target, 'containerId' | 'name'>,
): BlobPlace {
  return { account, containerId, blob: name }
}

/**
 * Makes room for a new blob. What it replaces (`stored`, a soft-deleted blob or nothing) is kept or dropped, as
 * the account's properties say. Returns the stamp of the new blob.
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

/**
 * Removes the scheduled check of a blob that no longer expires or no longer exists, so that these don't
 * accumulate.
 */
export function forgetExpiry(tx: Tx, { containerId, blob: name }: BlobPlace, blob: Blob): void {
  const atMs = expiresAtMs(blob)
  if (atMs !== undefined) tx.delete(dueKey(atMs, 'expiry', containerId, name))
}

/** Turns a soft-deleted blob into a deleted snapshot of the new blob. */
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

/** Keeps the current blob, which is being replaced or deleted, as a version. */
export function* moveToVersion(tx: Tx, place: BlobPlace, stored: StoredBlob): Step<void> {
  const stamp = yield* versionStamp(tx, place, stored.blob)
  yield* movePast(tx, place, stamp, stored, { kind: 'version' })
}

/** The same for changes that leave the bytes in place: Set Blob Metadata, Snapshot Blob. */
export function* copyToVersion(
  tx: Tx,
  place: BlobPlace,
  stored: StoredBlob,
  newId: number,
): Step<void> {
  const stamp = yield* versionStamp(tx, place, stored.blob)
  yield* copyPast(tx, place, stamp, stored, { kind: 'version' }, newId)
}

/** A blob that was written before versioning was turned on becomes a version under the stamp of its last write. */
function* versionStamp(tx: ReadTx, place: BlobPlace, { version, stamp }: Blob): Step<number> {
  return version ?? (yield* freeStamp(tx, place, stamp))
}

/** Removes a past state if its retention has ended. Called by the sweep. */
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

/** Past states per scan. */
const SCAN_COUNT = 256

/** All past states of a blob, oldest first. */
export function* pastOf(tx: ReadTx, { containerId, blob }: BlobPlace): Step<Past[]> {
  const entries = yield* scanAll(tx, pastBlobRange(containerId, blob), SCAN_COUNT)
  const past: Past[] = []
  for (const { key, value } of entries) {
    past.push({ key, stamp: stampOfKey(key), stored: decodeStored<PastBlob>(value) })
    if (past.length % GIVE_WAY_COUNT === 0) yield* giveWay()
  }
  return past
}

const GIVE_WAY_COUNT = 64

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

/** Moves the record of the current blob, with its bytes, to a past state. */
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

/** Copies the current blob to a past state. The two share no records. */
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

/** A past state has no lease, no expiry and no count of snapshots, and a snapshot has no version. */
function pastOfBlob(blob: Blob, stamp: number, past: Pick<PastBlob, 'kind' | 'deleted'>): PastBlob {
  const { lease: _lease, snapshotCount: _count, version: _version, expiresMs, ...rest } = blob
  // An undeleted blob expires as it would have.
  const isKept = past.kind === 'root' && expiresMs !== undefined
  const isVersion = past.kind === 'version'
  return { ...rest, ...past, ...(isKept && { expiresMs }), ...(isVersion && { version: stamp }) }
}

/**
 * The id of the next snapshot or version, or the stamp of a blob that will become one. It is above all others
 * of this name, so that ids are unique and in the order of the states. Moments alone don't guarantee this: of
 * two writers, the one that took its moment first may commit second.
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

/** The first stamp from this one on that no past state of the blob has. */
function* freeStamp(tx: ReadTx, { containerId, blob }: BlobPlace, stamp: number): Step<number> {
  let free = stamp
  while ((yield* tx.get(pastBlobKey(containerId, blob, free))) !== undefined) free += 1
  return free
}

function stampOfKey(key: Key): number {
  return Number(decodeKey(key)[3])
}
