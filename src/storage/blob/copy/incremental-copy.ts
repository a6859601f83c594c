// Incremental Copy Blob: each copied snapshot of a page blob becomes a snapshot of the destination, which stays
// bound to that source and can't be written by other operations. Every copy here shares slices, so copying
// only the difference would gain nothing; what matters are the service's rules.
import type { Step, Tx } from '../../../kv/kv.ts'
import { encodeRecord } from '../../../kv/record.ts'
import { ofSource } from '../../shared/copy/copy-source.ts'
import { completedCopy, type CopyState } from '../../shared/copy/copy-state.ts'
import { StorageError } from '../../shared/error.ts'
import { parseTimestamp } from '../../shared/etag.ts'
import type { Moment } from '../../../node/moment.ts'
import { findBlob, type BlobAddress } from '../blob.ts'
import type { Blob } from '../record.ts'
import { copyContent } from '../content/content.ts'
import { isShareable } from './copy.ts'
import { findSource, type SourceRead } from './source.ts'
import { encryptionForWrite } from '../encryption.ts'
import { checkBlobWrite, type BlobGuard } from '../guard.ts'
import { copyPast, nextPastStamp, blobPlaceOf } from '../past/past.ts'
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
  if (found.located !== undefined) throw new StorageError('BlobOperationNotSupported')
  const current = found.stored?.blob
  const lease = checkBlobWrite(current, guard, moment.nowMs, 'copy')
  const { stored } = yield* findSource(tx, source, moment.nowMs)
  const { headers, metadata, sequenceNumber, lengthBytes, type } = stored.blob
  if (type !== 'PageBlob') throw new StorageError('InvalidSourceBlobType')
  const encryption = encryptionForWrite(guard.encryption ?? {}, found.container)
  if (!isShareable(stored.blob, source.address, encryption, address.account)) {
    throw ofSource(new StorageError('BlobCustomerSpecifiedEncryptionMismatch'))
  }
  if (current !== undefined) checkSameSource(current, source.address, state.source)
  const staging = yield* getStaging(tx, found.containerId, found.name, moment.nowMs)
  // The replaced state needs no protection: it is also the last snapshot.
  const protection = { ...(yield* getProtection(tx, address.account)), ...UNPROTECTED }
  const replaced = yield* replaceBlob(
    tx,
    address,
    { ...found, staging, lease, protection },
    { headers, metadata, ...(encryption && { encryption }) },
    {
      type,
      content: yield* copyContent(tx, stored.blob, found.key, newIds[0]),
      copy: { ...completedCopy(state, lengthBytes, moment.nowMs), isIncremental: true },
      ...(sequenceNumber !== undefined && { sequenceNumber }),
    },
    moment,
  )
  const place = blobPlaceOf(address, found)
  const snapshot = yield* nextPastStamp(tx, place, replaced, moment)
  const counted = withSnapshots(replaced, (replaced.snapshotCount ?? 0) + 1)
  const blob: Blob = {
    ...counted,
    ...(replaced.copy && { copy: { ...replaced.copy, destinationSnapshot: snapshot } }),
    // Get Page Ranges can compare all snapshots, however old.
    ...(current?.origin !== undefined && { origin: current.origin }),
  }
  tx.put(found.key, encodeRecord(blob))
  const past = { blob, bytes: stored.bytes }
  yield* copyPast(tx, place, snapshot, past, { kind: 'snapshot' }, newIds[1])
  return blob
}

const UNPROTECTED = { isVersioningEnabled: false, blobRetentionDays: undefined }

/** An existing destination must be an incremental copy of the same blob, and not of a later snapshot. */
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

/** The blob that a URL names, without snapshot and SAS. */
function blobOf(url: string): string {
  const { host, pathname } = new URL(url)
  return `${host}${pathname}`
}
