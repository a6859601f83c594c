// Copy Blob from another server, which takes time: shared/copy/pending-copy.ts for blobs. The destination is empty
// until the copy succeeds.
import { decodeKey } from '../../../kv/key.ts'
import type { ReadTx, Step, Tx } from '../../../kv/kv.ts'
import { encodeRecord } from '../../../kv/record.ts'
import type { ContentHeaders } from '../../shared/content-headers.ts'
import type { CopyOutcome, CopyState, PendingCopy } from '../../shared/copy/copy-state.ts'
import { checkLeaseForWrite } from '../../shared/lease.ts'
import { dropMap } from '../../../extent/content/map.ts'
import type { Metadata } from '../../shared/metadata.ts'
import {
  endedCopy,
  newPendingCopy,
  pendingCopies,
  requirePendingCopy,
  type CopyEnd,
  type CopyRemote,
} from '../../shared/copy/pending-copy.ts'
import { modifiedAt } from '../../shared/modified.ts'
import type { Moment } from '../../../node/moment.ts'
import { decodeStored, findBlob, requireBlob, type BlobAddress } from '../blob.ts'
import type { Blob, StoredBlob } from '../record.ts'
import { dropContent, type BlobContent } from '../content/content.ts'
import { checkCopyTarget, type TypeProperties } from './copy.ts'
import { encryptionForWrite } from '../encryption.ts'
import { blobKey, PENDING_COPIES, pendingCopyKey } from '../keys.ts'
import { checkPutBlob, replaceBlob, type PutBlob } from '../put.ts'
import type { Tags } from '../../shared/tags.ts'

/** The destination of a copy, by the id of its container, which may be renamed meanwhile. */
export type CopyPlace = { readonly containerId: number; readonly blob: string }

type Destination = StoredBlob & { readonly copy: CopyState | undefined }

export const BLOB_COPIES = pendingCopies<CopyPlace, Destination, PendingCopy>({
  range: PENDING_COPIES,
  key: ({ containerId, blob }) => pendingCopyKey(containerId, blob),
  placeAt(key) {
    const [, containerId, blob] = decodeKey(key)
    return { containerId: Number(containerId), blob: String(blob) }
  },
  findDestination,
  saveState: (tx, place, { blob, bytes }, copy) => saveBlob(tx, place, { ...blob, copy }, bytes),
})

function* findDestination(tx: ReadTx, place: CopyPlace): Step<Destination | undefined> {
  const value = yield* tx.get(blobKey(place.containerId, place.blob))
  if (value === undefined) return undefined
  const stored = decodeStored<Blob>(value)
  return { ...stored, copy: stored.blob.copy }
}

function saveBlob(tx: Tx, place: CopyPlace, blob: Blob, bytes?: Uint8Array): void {
  tx.put(blobKey(place.containerId, place.blob), encodeRecord(blob, bytes))
}

/** What the source says about itself. */
type RemoteBlob = CopyRemote & {
  readonly properties: TypeProperties
  readonly headers: ContentHeaders
  readonly metadata: Metadata
  readonly tags?: Tags
}

type StartCopy = {
  readonly put: PutBlob
  readonly remote: RemoteBlob
  readonly state: Pick<CopyState, 'id' | 'source'>
  /** For the empty content at the start, and for the bytes that are copied. */
  readonly newIds: readonly [number, number]
}

/** Stores the empty destination, and the record of the copy. */
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
  const copied = {
    ...put,
    headers,
    metadata,
    ...(tags && { tags }),
    ...(encryption && { encryption }),
  }
  const replacement = { ...properties, content, copy }
  const blob = yield* replaceBlob(tx, address, target, copied, replacement, moment)
  const place = { containerId: target.containerId, blob: blob.path?.id ?? target.name }
  const { account } = address
  const start = { account, copyId: state.id, map: newIds[1], startedMs: moment.nowMs }
  BLOB_COPIES.put(tx, place, newPendingCopy(remote, start))
  return { blob, place }
}

/** A page blob has its full length from the start, and reads as zeros. */
function emptyContent(type: Blob['type'], id: number, totalBytes: number): BlobContent {
  if (type === 'BlockBlob') return { lengthBytes: 0, content: { id, pieces: [] } }
  return { lengthBytes: type === 'PageBlob' ? totalBytes : 0, map: id }
}

/** The job has finished. If the destination no longer exists, only the copied bytes are dropped. */
export function* endCopy(
  tx: Tx,
  place: CopyPlace,
  copyId: string,
  outcome: CopyOutcome,
  moment: Moment,
): Step<void> {
  const found = yield* BLOB_COPIES.finish(tx, place, copyId)
  if (found === undefined) return
  const { map, totalBytes } = found.pending
  const { blob } = found.destination
  if (outcome.status === 'failed') {
    dropMap(tx, map)
    saveBlob(tx, place, ended({ ...blob, lengthBytes: 0 }, outcome, moment))
    return
  }
  yield* dropContent(tx, blob)
  const { content: _content, ...rest } = blob
  saveBlob(tx, place, ended({ ...rest, lengthBytes: totalBytes, map }, outcome, moment))
}

/** Abort Copy Blob: the destination stays, with its metadata and without bytes. */
export function* abortCopy(
  tx: Tx,
  address: BlobAddress,
  abort: { readonly copyId: string; readonly leaseId: string | undefined },
  moment: Moment,
): Step<CopyPlace> {
  const { containerId, name, stored } = requireBlob(yield* findBlob(tx, address, moment.nowMs))
  const { blob } = stored
  checkLeaseForWrite(blob.lease, abort.leaseId, moment.nowMs, 'blob')
  requirePendingCopy(blob.copy, abort.copyId)
  const place = { containerId, blob: name }
  yield* BLOB_COPIES.drop(tx, place)
  saveBlob(tx, place, ended({ ...blob, lengthBytes: 0 }, { status: 'aborted' }, moment))
  return place
}

function ended(blob: Blob, end: CopyEnd, moment: Moment): Blob {
  const { copy } = blob
  if (copy === undefined) return blob
  const modified = modifiedAt(blob, moment)
  return {
    ...blob,
    ...modified,
    ...(blob.type === 'PageBlob' && { origin: modified.stamp }),
    copy: endedCopy(copy, end, moment.nowMs),
  }
}
