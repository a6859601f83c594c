// Incremental Copy Blob: each copy of a page blob's snapshot becomes a snapshot of the destination, which is
// bound to that source for good and is written to in no other way. To us every copy is one of slices, so
// there is nothing to gain from the difference; what is kept are the rules.
import type { Step, Tx } from '../../../kv/kv.ts'
import { encodeRecord } from '../../../kv/record.ts'
import { ofSource } from '../../shared/copy-source.ts'
import type { CopyState } from '../../shared/copy-state.ts'
import { StorageError } from '../../shared/error.ts'
import { parseTimestamp } from '../../shared/etag.ts'
import type { Moment } from '../../../node/moment.ts'
import { findBlob, type BlobAddress } from '../blob.ts'
import type { Blob } from '../record.ts'
import { copyContent } from '../content/content.ts'
import { isShareable } from './copy.ts'
import { findSource, type SourceRead } from './source.ts'
import { encryptionForWrite } from '../encryption.ts'
import { checkWrite, type BlobGuard } from '../guard.ts'
import { copyPast, nextPastStamp, placeOf } from '../past/past.ts'
import { getProtection } from '../protection.ts'
import { replaceBlob } from '../put.ts'
import { withSnapshots } from '../past/snapshot.ts'
import { getStaging } from '../content/staging.ts'

export type IncrementalCopy = {
  readonly guard: BlobGuard
  readonly source: SourceRead & { readonly address: BlobAddress }
  readonly state: Pick<CopyState, 'id' | 'source'>
  /** For the destination and for its snapshot. */
  readonly newIds: readonly [number, number]
}

export function* incrementalCopy(
  tx: Tx,
  address: BlobAddress,
  { guard, source, state, newIds }: IncrementalCopy,
  moment: Moment,
): Step<Blob> {
  const found = yield* findBlob(tx, address, moment.nowMs)
  const current = found.stored?.blob
  const lease = checkWrite(current, guard, moment.nowMs, 'copy')
  const { stored } = yield* findSource(tx, source, moment.nowMs)
  const { headers, metadata, sequenceNumber, lengthBytes, type } = stored.blob
  if (type !== 'PageBlob') throw new StorageError('InvalidSourceBlobType')
  const encryption = encryptionForWrite(guard.encryption ?? {}, found.container)
  if (!isShareable(stored.blob, source.address, encryption, address.account)) {
    throw ofSource(new StorageError('BlobCustomerSpecifiedEncryptionMismatch'))
  }
  if (current !== undefined) checkSameSource(current, source.address, state.source)
  const staging = yield* getStaging(tx, found.container.id, address.blob, moment.nowMs)
  // Nothing is lost with the state that is replaced: it is the last snapshot.
  const protection = { ...(yield* getProtection(tx, address.account)), ...UNPROTECTED }
  const made = yield* replaceBlob(
    tx,
    address,
    { ...found, staging, lease, protection },
    { headers, metadata, ...(encryption && { encryption }) },
    {
      type,
      content: yield* copyContent(tx, stored.blob, found.key, newIds[0]),
      copy: copied(state, lengthBytes, moment),
      ...(sequenceNumber !== undefined && { sequenceNumber }),
    },
    moment,
  )
  const place = placeOf(address, found)
  const snapshot = yield* nextPastStamp(tx, place, made, moment)
  const counted = withSnapshots(made, (made.snapshotCount ?? 0) + 1)
  const blob: Blob = {
    ...counted,
    ...(made.copy && { copy: { ...made.copy, destinationSnapshot: snapshot } }),
    // Its snapshots can be told apart page by page, however far back.
    ...(current?.origin !== undefined && { origin: current.origin }),
  }
  tx.put(found.key, encodeRecord(blob))
  const past = { blob, bytes: stored.bytes }
  yield* copyPast(tx, place, snapshot, past, { kind: 'snapshot' }, newIds[1])
  return blob
}

const UNPROTECTED = { isVersioningEnabled: false, blobRetentionDays: undefined }

function copied(
  state: IncrementalCopy['state'],
  lengthBytes: number,
  { nowMs }: Moment,
): CopyState {
  const bytes = { copiedBytes: lengthBytes, totalBytes: lengthBytes }
  return { ...state, status: 'success', ...bytes, completedMs: nowMs, isIncremental: true }
}

/** The destination is there: made by an incremental copy, of the same blob, of a snapshot no later. */
function checkSameSource(current: Blob, source: BlobAddress, url: string): void {
  if (current.type !== 'PageBlob') throw new StorageError('InvalidBlobType')
  const { copy } = current
  if (copy?.isIncremental !== true || blobOf(copy.source) !== blobOf(url)) {
    throw new StorageError('IncrementalCopyBlobMismatch')
  }
  const last = parseTimestamp(new URL(copy.source).searchParams.get('snapshot') ?? '') ?? 0
  const next = source.at !== undefined && 'snapshot' in source.at ? source.at.snapshot : 0
  if (next < last) throw new StorageError('IncrementalCopyOfEarlierSnapshotNotAllowed')
}

/** Which blob a URL names, whatever the snapshot and the SAS. */
function blobOf(url: string): string {
  const { host, pathname } = new URL(url)
  return `${host}${pathname}`
}
