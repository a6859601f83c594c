// Append blobs: blocks are added at the end and never change. A block is one record of the blob's map, under
// its offset, so an append costs the same in a blob of any size. The transaction that adds the block determines
// its offset and checks the number of blocks.
import assert from 'node:assert/strict'
import type { Piece } from '../../../extent/content/slice.ts'
import type { ReadTx, Step, Tx } from '../../../kv/kv.ts'
import { encodeRecord } from '../../../kv/record.ts'
import { StorageError } from '../../shared/error.ts'
import { putMapRecord } from '../../../extent/content/map.ts'
import { nextStamp, type Moment } from '../../../node/moment.ts'
import { afterWrite, findForUpdate, type BlobAddress } from '../blob.ts'
import type { Blob } from '../record.ts'
import {
  checkEncryptedAs,
  checkEncryption,
  requireEncryptionForWrite,
  type BlobEncryption,
} from '../encryption.ts'
import { checkMutable, requireType, type BlobGuard } from '../guard.ts'
import { checkPutBlob, replaceBlob, type PutBlob } from '../put.ts'

export const APPEND_BLOCK_COUNT_MAX = 50_000

/** Put Blob creates an append blob empty. */
export function* putAppendBlob(
  tx: Tx,
  address: BlobAddress,
  put: PutBlob,
  newId: number,
  moment: Moment,
): Step<Blob> {
  const target = yield* checkPutBlob(tx, address, put, moment.nowMs)
  const requested = put.guard.encryption ?? {}
  const { account } = address
  const encryption = yield* requireEncryptionForWrite(tx, account, requested, target.container)
  const created = {
    type: 'AppendBlob',
    blockCount: 0,
    content: { lengthBytes: 0, map: newId },
  } as const
  const encrypted = encryption === undefined ? put : { ...put, encryption }
  return yield* replaceBlob(tx, address, target, encrypted, created, moment)
}

/** An append, with its own conditions besides those of every write. */
export type AppendBlock = {
  readonly guard: BlobGuard
  readonly lengthBytes: number
  /** x-ms-blob-condition-appendpos: the length that the blob must have before. */
  readonly appendPosition: number | undefined
  /** x-ms-blob-condition-maxsize: the length that it must not exceed after. */
  readonly blobBytesMax: number | undefined
}

/** Throws what the append would fail with. Runs before a long body is read, and again when it is stored. */
export function* checkAppendBlock(
  tx: ReadTx,
  address: BlobAddress,
  { guard, lengthBytes, appendPosition, blobBytesMax }: AppendBlock,
  nowMs: number,
) {
  const target = yield* findForUpdate(tx, address, guard, nowMs)
  const { blob } = target.stored
  requireType(blob, 'AppendBlob')
  checkMutable(blob, nowMs)
  if (blob.isSealed === true) throw new StorageError('BlobIsSealed')
  checkAppendPosition(blob, appendPosition)
  if (blobBytesMax !== undefined && blob.lengthBytes + lengthBytes > blobBytesMax) {
    throw new StorageError('MaxBlobSizeConditionNotMet')
  }
  if ((blob.blockCount ?? 0) >= APPEND_BLOCK_COUNT_MAX) {
    throw new StorageError('BlockCountExceedsLimit')
  }
  checkEncryption(blob.encryption, guard.encryption ?? {}, 'append', target.container)
  return target
}

/** Durable bytes, and how they are encrypted. */
type AppendedBytes = {
  readonly lengthBytes: number
  readonly pieces: readonly Piece[]
  readonly encryption: BlobEncryption | undefined
}

/** Append Block. Returns the offset of the block, and the changed blob. */
export function* appendBlock(
  tx: Tx,
  address: BlobAddress,
  append: AppendBlock,
  { pieces, lengthBytes, encryption }: AppendedBytes,
  moment: Moment,
): Step<{ readonly offset: number; readonly blob: Blob }> {
  const target = yield* checkAppendBlock(tx, address, append, moment.nowMs)
  const { blob: current, bytes } = target.stored
  const { lengthBytes: offset, map, blockCount = 0 } = current
  assert(map !== undefined, 'an append blob has a map')
  // Another blob may have replaced the one that the bytes were encrypted for.
  checkEncryptedAs(current.encryption, encryption)
  yield* putMapRecord(tx, map, offset, pieces)
  const stamp = nextStamp(current.stamp, moment)
  const blob: Blob = {
    ...afterWrite(current, target.lease, moment, stamp),
    lengthBytes: offset + lengthBytes,
    blockCount: blockCount + 1,
  }
  tx.put(target.key, encodeRecord(blob, bytes))
  return { offset, blob }
}

/** Append Blob Seal makes the blob read-only. Like every write it changes the ETag. */
export function* sealAppendBlob(
  tx: Tx,
  address: BlobAddress,
  guard: BlobGuard,
  appendPosition: number | undefined,
  moment: Moment,
): Step<Blob> {
  const target = yield* findForUpdate(tx, address, guard, moment.nowMs)
  const { blob: current, bytes } = target.stored
  requireType(current, 'AppendBlob')
  checkAppendPosition(current, appendPosition)
  const stamp = nextStamp(current.stamp, moment)
  const written = afterWrite(current, target.lease, moment, stamp, { copy: true })
  const blob: Blob = { ...written, isSealed: true }
  tx.put(target.key, encodeRecord(blob, bytes))
  return blob
}

function checkAppendPosition({ lengthBytes }: Blob, appendPosition: number | undefined): void {
  if (appendPosition === undefined || appendPosition === lengthBytes) return
  throw new StorageError('AppendPositionConditionNotMet')
}
