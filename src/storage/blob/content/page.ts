// Page blobs: created with a length and no bytes, then written in runs of pages. A page that was never written,
// or was cleared, has no map record and reads as zeros.
import assert from 'node:assert/strict'
import { intervalEnd, type ByteRange } from '../../../extent/content/interval-map.ts'
import type { Piece } from '../../../extent/content/slice.ts'
import type { ReadTx, Step, Tx } from '../../../kv/kv.ts'
import { encodeRecord } from '../../../kv/record.ts'
import { StorageError } from '../../shared/error.ts'
import type { Lease } from '../../shared/lease.ts'
import { nextStamp, type Moment } from '../../../node/moment.ts'
import { afterWrite, findForUpdate, type BlobAddress, type ExistingTarget } from '../blob.ts'
import type { Blob } from '../record.ts'
import { withCleared } from './cleared.ts'
import { checkMutable, checkNotIncremental, requireType, type BlobGuard } from '../guard.ts'
import { clearLongMap, hasManyRecords } from '../../../extent/content/map-copy.ts'
import { mapIntervals, overwriteMap } from '../../../extent/content/map.ts'
import {
  checkEncryptedAs,
  checkEncryption,
  requireEncryptionForWrite,
  type BlobEncryption,
} from '../encryption.ts'
import { checkPutBlob, replaceBlob, type PutBlob } from '../put.ts'

/** x-ms-if-sequence-number-le, -lt and -eq. Each one that is sent must hold. */
export type SequenceConditions = {
  readonly lessOrEqual?: bigint
  readonly less?: bigint
  readonly equal?: bigint
}

/** A Put Page or Clear Pages. The range consists of whole pages. */
export type PageWrite = {
  readonly guard: BlobGuard
  readonly sequence: SequenceConditions
  readonly range: ByteRange
}

type PageTarget = ExistingTarget & {
  /** The lease after the write. */
  readonly lease: Lease | undefined
  readonly mapId: number
}

/** Put Blob of a page blob. */
export function* putPageBlob(
  tx: Tx,
  address: BlobAddress,
  put: Omit<PutBlob, 'encryption'>,
  page: {
    readonly lengthBytes: number
    readonly sequenceNumber: bigint
    readonly mapId: number
  },
  moment: Moment,
): Step<Blob> {
  const target = yield* checkPutBlob(tx, address, put, moment.nowMs)
  // Data Lake Storage, known issues: "Blob storage APIs".
  if (target.located !== undefined) throw new StorageError('BlobOperationNotSupported')
  const requested = put.guard.encryption ?? {}
  const { account } = address
  const encryption = yield* requireEncryptionForWrite(tx, account, requested, target.container)
  const { lengthBytes, sequenceNumber, mapId } = page
  return yield* replaceBlob(
    tx,
    address,
    target,
    { ...put, ...(encryption && { encryption }) },
    {
      type: 'PageBlob',
      content: { lengthBytes, map: mapId },
      sequenceNumber: String(sequenceNumber),
    },
    moment,
  )
}

/** Throws what the write would fail with. Runs before the body is read, and again when it is stored. */
export function* checkPageWrite(
  tx: ReadTx,
  address: BlobAddress,
  { guard, sequence, range }: PageWrite,
  nowMs: number,
): Step<PageTarget> {
  const target = yield* findForUpdate(tx, address, guard, nowMs)
  const { blob } = target.stored
  requireType(blob, 'PageBlob')
  checkNotIncremental(blob)
  checkMutable(blob, nowMs)
  checkEncryption(blob.encryption, guard.encryption ?? {}, 'append', target.container)
  checkSequence(sequence, BigInt(blob.sequenceNumber ?? '0'))
  if (range.to > blob.lengthBytes) throw new StorageError('InvalidPageRange')
  assert(blob.map !== undefined, 'a page blob has a map')
  return { ...target, mapId: blob.map }
}

function checkSequence({ lessOrEqual, less, equal }: SequenceConditions, current: bigint): void {
  const isMet =
    (lessOrEqual === undefined || current <= lessOrEqual) &&
    (less === undefined || current < less) &&
    (equal === undefined || current === equal)
  if (!isMet) throw new StorageError('SequenceNumberConditionNotMet')
}

/** Put Page. The bytes are already durable. */
export function* putPage(
  tx: Tx,
  address: BlobAddress,
  write: PageWrite,
  body: { readonly pieces: readonly Piece[]; readonly encryption: BlobEncryption | undefined },
  moment: Moment,
): Step<Blob> {
  const target = yield* checkPageWrite(tx, address, write, moment.nowMs)
  // Another blob may have replaced the one that the bytes were encrypted for.
  checkEncryptedAs(target.stored.blob.encryption, body.encryption)
  let offset = write.range.from
  for (const piece of body.pieces) {
    yield* overwriteMap(tx, target.mapId, offset, piece)
    offset += piece.lengthBytes
  }
  assert.equal(offset, write.range.to, 'the bytes fill their range')
  return savePages(tx, target, moment)
}

/** Put Page with `clear`. The range may be as long as the blob. */
export function* clearPages(
  tx: Tx,
  address: BlobAddress,
  write: PageWrite,
  /** For the map, if a new one is needed. */
  newId: number,
  moment: Moment,
): Step<Blob> {
  const target = yield* checkPageWrite(tx, address, write, moment.nowMs)
  const gone = yield* rangesToClear(tx, target, write.range)
  const { mapId: of, stored } = target
  const copy = { of, to: newId, stamp: stored.blob.stamp, without: write.range }
  const map = yield* clearLongMap(tx, copy)
  const cleared = { ...target, stored: { ...stored, blob: { ...stored.blob, map } } }
  return savePages(tx, cleared, moment, (blob) => withCleared(blob, gone, write.range))
}

/**
 * The written ranges that a clear removes. Only diffs against snapshots need them. They may be too large: pages
 * that were zeros before are still zeros.
 */
function* rangesToClear(
  tx: Tx,
  { mapId, stored }: PageTarget,
  range: ByteRange,
): Step<readonly ByteRange[]> {
  if (stored.blob.snapshotCount === undefined) return []
  if (yield* hasManyRecords(tx, mapId, range)) return [range]
  const intervals = yield* mapIntervals(tx, mapId, range)
  return intervals.map((interval) => ({ from: interval.offset, to: intervalEnd(interval) }))
}

/** Writing pages keeps the state of the copy that created the blob. */
function savePages(
  tx: Tx,
  { key, stored, lease }: PageTarget,
  moment: Moment,
  also: (blob: Blob) => Blob = (blob) => blob,
): Blob {
  const stamp = nextStamp(stored.blob.stamp, moment)
  const blob = also(afterWrite(stored.blob, lease, moment, stamp, { copy: true }))
  tx.put(key, encodeRecord(blob))
  return blob
}
