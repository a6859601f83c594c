// A copy from another server, which takes time. The destination is there from the beginning, empty; the
// bytes gather in a map that nobody sees, and a record beside the blob says how far they have come, so that
// a crash costs the part that was under way and no more. Whoever ends the copy (the job, an abort, the
// sweep of a deleted container) takes the record away, and what comes later finds it gone.
import type { Piece } from '../../../extent/content/slice.ts'
import { decodeKey } from '../../../kv/key.ts'
import { keyAfter, type Key, type ReadTx, type Step, type Tx } from '../../../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../../../kv/record.ts'
import type { ContentHeaders } from '../../shared/content-headers.ts'
import {
  isSameState,
  type CopyOutcome,
  type CopyProgress,
  type CopyState,
  type PendingCopy,
} from '../../shared/copy-state.ts'
import { StorageError } from '../../shared/error.ts'
import { checkLeaseForWrite } from '../../shared/lease.ts'
import { putMapRecord } from '../../../extent/content/map.ts'
import type { Metadata } from '../../shared/metadata.ts'
import { nextStamp, type Moment } from '../../../node/moment.ts'
import { decodeStored, findBlob, laterMs, requireBlob, type BlobAddress } from '../blob.ts'
import type { Blob, StoredBlob } from '../record.ts'
import { dropContent, type BlobContent } from '../content/content.ts'
import { checkCopyTarget, type TypeProperties } from './copy.ts'
import { encryptionForWrite } from '../encryption.ts'
import { blobKey, PENDING_COPIES, pendingCopyKey } from '../keys.ts'
import { checkPutBlob, replaceBlob, type PutBlob } from '../put.ts'
import type { Tags } from '../../shared/tags.ts'

/** Where a copy is going: by the container's id, whatever its name is meanwhile. */
export type CopyPlace = { readonly containerId: number; readonly blob: string }

/** What the source said of itself. */
export type RemoteBlob = {
  /** With its SAS, if it has one. */
  readonly url: string
  readonly properties: TypeProperties
  readonly headers: ContentHeaders
  readonly metadata: Metadata
  readonly tags?: Tags
  readonly lengthBytes: number
  readonly etag?: string
  readonly isRanged: boolean
  readonly isUnconditional?: true
}

export type StartCopy = {
  readonly put: PutBlob
  readonly remote: RemoteBlob
  readonly state: Pick<CopyState, 'id' | 'source'>
  /** For the empty content of the beginning, and for the bytes that come. */
  readonly newIds: readonly [number, number]
}

/** Copy Blob from elsewhere: the destination, empty, and the record of what is to be done. */
export function* startCopy(
  tx: Tx,
  address: BlobAddress,
  { put, remote, state, newIds }: StartCopy,
  moment: Moment,
): Step<{ readonly blob: Blob; readonly place: CopyPlace }> {
  const target = yield* checkPutBlob(tx, address, put, moment.nowMs)
  const { properties, lengthBytes: totalBytes } = remote
  checkCopyTarget(target, properties.type)
  const encryption = encryptionForWrite(put.guard.encryption ?? {}, target.container)
  const copy: CopyState = { ...state, status: 'pending', copiedBytes: 0, totalBytes }
  const content = emptyContent(properties.type, newIds[0], totalBytes)
  const { tags = put.tags, headers, metadata } = remote
  const made = {
    ...put,
    headers,
    metadata,
    ...(tags && { tags }),
    ...(encryption && { encryption }),
  }
  const replacement = { ...properties, content, copy }
  const blob = yield* replaceBlob(tx, address, target, made, replacement, moment)
  const place = { containerId: target.container.id, blob: address.blob }
  const pending: PendingCopy = {
    account: address.account,
    copyId: state.id,
    url: remote.url,
    ...(remote.etag !== undefined && { etag: remote.etag }),
    ...(remote.etag !== undefined && remote.isRanged && { isResumable: true }),
    ...(remote.isUnconditional === true && { isUnconditional: true }),
    map: newIds[1],
    copiedBytes: 0,
    totalBytes,
    startedMs: moment.nowMs,
  }
  tx.put(pendingCopyKey(place.containerId, place.blob), encodeRecord(pending))
  return { blob, place }
}

/** A page blob has its length from the beginning, and reads as zeros. */
function emptyContent(type: Blob['type'], id: number, totalBytes: number): BlobContent {
  if (type === 'BlockBlob') return { lengthBytes: 0, content: { id, pieces: [] } }
  return { lengthBytes: type === 'PageBlob' ? totalBytes : 0, map: id }
}

export type FoundCopy = { readonly pending: PendingCopy; readonly stored: StoredBlob }

/** The copy and its destination, if both are still there and belong together. */
export function* findCopy(tx: ReadTx, place: CopyPlace): Step<FoundCopy | undefined> {
  const pending = yield* getPending(tx, place)
  if (pending === undefined) return undefined
  const value = yield* tx.get(blobKey(place.containerId, place.blob))
  if (value === undefined) return undefined
  const stored = decodeStored<Blob>(value)
  const { copy } = stored.blob
  return copy?.id === pending.copyId && copy.status === 'pending' ? { pending, stored } : undefined
}

function* getPending(tx: ReadTx, place: CopyPlace): Step<PendingCopy | undefined> {
  const value = yield* tx.get(pendingCopyKey(place.containerId, place.blob))
  return value === undefined ? undefined : decodeRecord<PendingCopy>(value)
}

/** The next bytes have come. False if nobody waits for them any more: they are the caller's to discard. */
export function* addCopied(
  tx: Tx,
  place: CopyPlace,
  before: CopyProgress,
  part: { readonly pieces: readonly Piece[]; readonly lengthBytes: number },
): Step<boolean> {
  const found = yield* findCopy(tx, place)
  if (found === undefined || !isSameState(found.pending, before)) return false
  const { pending, stored } = found
  yield* putMapRecord(tx, pending.map, pending.copiedBytes, part.pieces)
  const copiedBytes = pending.copiedBytes + part.lengthBytes
  tx.put(
    pendingCopyKey(place.containerId, place.blob),
    encodeRecord({ ...pending, copiedBytes } satisfies PendingCopy),
  )
  const copy = stored.blob.copy && { ...stored.blob.copy, copiedBytes }
  saveBlob(tx, place, { ...stored.blob, ...(copy && { copy }) }, stored.bytes)
  return true
}

/** The source is to be read again from its first byte: what there is of it is let go. */
export function* restartCopy(tx: Tx, place: CopyPlace, newId: number): Step<void> {
  const found = yield* findCopy(tx, place)
  if (found === undefined) return
  yield* dropContent(tx, { lengthBytes: 0, map: found.pending.map })
  const pending: PendingCopy = { ...found.pending, map: newId, copiedBytes: 0 }
  tx.put(pendingCopyKey(place.containerId, place.blob), encodeRecord(pending))
}

/** The job is done. If the destination is gone meanwhile, only what was copied goes. */
export function* endCopy(
  tx: Tx,
  place: CopyPlace,
  copyId: string,
  outcome: CopyOutcome,
  moment: Moment,
): Step<void> {
  yield* dropLostCopy(tx, place)
  const found = yield* findCopy(tx, place)
  if (found === undefined || found.pending.copyId !== copyId) return
  tx.delete(pendingCopyKey(place.containerId, place.blob))
  const { map, totalBytes } = found.pending
  const { blob } = found.stored
  if (outcome.status === 'failed') {
    yield* dropContent(tx, { lengthBytes: 0, map })
    saveBlob(tx, place, ended(emptied(blob), outcome, moment))
    return
  }
  yield* dropContent(tx, blob)
  const { content: _content, ...rest } = blob
  saveBlob(tx, place, ended({ ...rest, lengthBytes: totalBytes, map }, outcome, moment))
}

/** A copy whose destination is gone: with its container, or replaced after it had expired. */
export function* dropLostCopy(tx: Tx, place: CopyPlace): Step<void> {
  const pending = yield* getPending(tx, place)
  if (pending === undefined || (yield* findCopy(tx, place)) !== undefined) return
  yield* dropContent(tx, { lengthBytes: 0, map: pending.map })
  tx.delete(pendingCopyKey(place.containerId, place.blob))
}

/** Abort Copy Blob: the destination stays, with no bytes and with its metadata. */
export function* abortCopy(
  tx: Tx,
  address: BlobAddress,
  asked: { readonly copyId: string; readonly leaseId: string | undefined },
  moment: Moment,
): Step<CopyPlace> {
  const { container, stored } = requireBlob(yield* findBlob(tx, address, moment.nowMs))
  const { blob } = stored
  checkLeaseForWrite(blob.lease, asked.leaseId, moment.nowMs, 'blob')
  if (blob.copy?.status !== 'pending') throw new StorageError('NoPendingCopyOperation')
  if (blob.copy.id !== asked.copyId) throw new StorageError('CopyIdMismatch')
  const place = { containerId: container.id, blob: address.blob }
  const pending = yield* getPending(tx, place)
  if (pending !== undefined) yield* dropContent(tx, { lengthBytes: 0, map: pending.map })
  tx.delete(pendingCopyKey(place.containerId, place.blob))
  saveBlob(tx, place, ended(emptied(blob), { status: 'aborted' }, moment))
  return place
}

function emptied(blob: Blob): Blob {
  return { ...blob, lengthBytes: 0 }
}

function ended(
  blob: Blob,
  outcome: Pick<CopyState, 'status' | 'description'>,
  moment: Moment,
): Blob {
  const { copy } = blob
  if (copy === undefined) return blob
  const copiedBytes = outcome.status === 'success' ? copy.totalBytes : copy.copiedBytes
  const stamp = nextStamp(blob.stamp, moment)
  return {
    ...blob,
    stamp,
    modifiedMs: laterMs(blob, moment),
    ...(blob.type === 'PageBlob' && { origin: stamp }),
    copy: { ...copy, ...outcome, copiedBytes, completedMs: moment.nowMs },
  }
}

function saveBlob(tx: Tx, place: CopyPlace, blob: Blob, bytes?: Uint8Array): void {
  tx.put(blobKey(place.containerId, place.blob), encodeRecord(blob, bytes))
}

/** Copies that are under way, in the order of their keys, after `after`. */
export function* listCopies(
  tx: ReadTx,
  after: Key | undefined,
  countMax: number,
): Step<readonly { readonly key: Key; readonly place: CopyPlace }[]> {
  const from = after === undefined ? PENDING_COPIES.from : keyAfter(after)
  const entries = yield* tx.scan({ from, to: PENDING_COPIES.to, countMax })
  return entries.map(({ key }) => {
    const [, containerId, blob] = decodeKey(key)
    return { key, place: { containerId: Number(containerId), blob: String(blob) } }
  })
}
