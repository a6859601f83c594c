// A blob's former states: snapshots, versions, and what soft delete keeps. All of them are records under
// the blob's name and a stamp that is their id. A blob that was soft-deleted stands after all the others,
// until it is undeleted, its time is over, or a new blob of its name makes it one of its deleted snapshots.
import { decodeKey } from '../../kv/key.ts'
import type { Key, ReadTx, Step, Tx } from '../../kv/kv.ts'
import { encodeRecord } from '../../kv/record.ts'
import { nextStamp, type Moment } from '../moment.ts'
import {
  decodeStored,
  type Blob,
  type BlobAddress,
  type ExistingTarget,
  type PastBlob,
  type StoredBlob,
  type Target,
} from './blob.ts'
import { copyContent, dropContent, moveContent } from './content.ts'
import { DELETED_ROOT, dueKey, pastBlobKey, pastBlobRange } from './keys.ts'
import { deletedNow, getProtection, type Protection } from './protection.ts'

/** Where a blob is, for what is kept beside its record. */
export type BlobPlace = {
  readonly account: string
  readonly containerId: number
  readonly blob: string
}

export function placeOf(address: BlobAddress, { container }: Target): BlobPlace {
  return { account: address.account, containerId: container.id, blob: address.blob }
}

/** The blob is about to be replaced: its state is kept as the account's properties say, or let go. */
export function* keepReplaced(
  tx: Tx,
  place: BlobPlace,
  stored: StoredBlob,
  protection: Protection,
  moment: Moment,
): Step<void> {
  const { blob } = stored
  const days = protection.blobRetentionDays
  if (protection.isVersioningEnabled || blob.version !== undefined) {
    yield* movePast(tx, place, blob.version ?? blob.stamp, stored, { kind: 'version' })
  } else if (days !== undefined) {
    const stamp = yield* freeStamp(tx, place, moment.stamp)
    const deleted = deletedNow(moment.nowMs, days)
    yield* movePast(tx, place, stamp, stored, { kind: 'snapshot', deleted })
  } else {
    yield* dropContent(tx, blob)
  }
}

/** A new blob comes where one was soft-deleted: that one is from now on a deleted snapshot of it. */
export function* demoteDeletedRoot(tx: Tx, place: BlobPlace, moment: Moment): Step<void> {
  const key = pastBlobKey(place.containerId, place.blob, DELETED_ROOT)
  const value = yield* tx.get(key)
  if (value === undefined) return
  const stored = decodeStored<PastBlob>(value)
  tx.delete(key)
  const { deleted } = stored.blob
  if (deleted === undefined || deleted.untilMs <= moment.nowMs) {
    yield* dropContent(tx, stored.blob)
    return
  }
  const stamp = yield* freeStamp(tx, place, moment.stamp)
  yield* movePast(tx, place, stamp, stored, { kind: 'snapshot', deleted })
}

/**
 * With versioning on, a change that leaves the bytes as they are (Set Blob Metadata, Snapshot Blob) keeps
 * the state before it as a version too. Answers with the id that the current version gets.
 */
export function* newVersion(
  tx: Tx,
  address: BlobAddress,
  target: ExistingTarget,
  newId: number,
  moment: Moment,
): Step<number | undefined> {
  const { blob } = target.stored
  const { isVersioningEnabled } = yield* getProtection(tx, address.account)
  if (!isVersioningEnabled && blob.version === undefined) return undefined
  const place = placeOf(address, target)
  yield* copyPast(tx, place, blob.version ?? blob.stamp, target.stored, { kind: 'version' }, newId)
  return isVersioningEnabled ? nextStamp(blob.stamp, moment) : undefined
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
  const range = pastBlobRange(containerId, blob)
  const past: Past[] = []
  let from = range.from
  for (;;) {
    const entries = yield* tx.scan({ from, to: range.to, countMax: SCAN_COUNT })
    for (const { key, value } of entries) {
      past.push({ key, stamp: Number(decodeKey(key)[3]), stored: decodeStored<PastBlob>(value) })
    }
    const last = entries.at(-1)
    if (last === undefined || entries.length < SCAN_COUNT) return past
    from = Buffer.concat([last.key, Buffer.of(0)])
  }
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
  putPast(tx, place, stamp, key, { blob: pastOfBlob(blob, past), bytes })
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
  putPast(tx, place, stamp, key, { blob: { ...pastOfBlob(blob, past), ...content }, bytes })
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

/** A past state is never leased, and only the current blob counts snapshots. */
function pastOfBlob(blob: Blob, past: Pick<PastBlob, 'kind' | 'deleted'>): PastBlob {
  const { lease: _lease, snapshotCount: _count, ...rest } = blob
  return { ...rest, ...past }
}

/** The stamp, or the next one that no past state of this blob has. */
export function* freeStamp(
  tx: ReadTx,
  { containerId, blob }: BlobPlace,
  stamp: number,
): Step<number> {
  let free = stamp
  while ((yield* tx.get(pastBlobKey(containerId, blob, free))) !== undefined) free += 1
  return free
}
