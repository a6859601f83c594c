// Append Data: bytes for a position of a file, which nobody sees until they are flushed (flush-data.ts). An append is stored as
// an uncommitted block whose id is its position. A file that was created as an append blob takes the bytes at once.
import assert from 'node:assert/strict'
import { putMapRecord } from '../../extent/content/map.ts'
import { removeReferences } from '../../extent/content/reference.ts'
import type { ReadTx, Step, Tx } from '../../kv/kv.ts'
import { need } from '../../kv/step.ts'
import { encodeRecord } from '../../kv/record.ts'
import { nextStamp, type Moment } from '../../node/moment.ts'
import { afterWrite, findBlob, requireBlob, type ExistingTarget } from '../blob/blob.ts'
import { APPEND_BLOCK_COUNT_MAX } from '../blob/content/append.ts'
import { UNCOMMITTED_BLOCKS_MAX } from '../blob/content/block.ts'
import {
  discardStaging,
  getStagedBlock,
  getStaging,
  putStagedBlock,
  saveStaging,
  scheduleStaging,
  type StagedBlock,
  type Staging,
} from '../blob/content/staging.ts'
import { checkEncryption, isSameEncryption } from '../blob/encryption.ts'
import { checkMutable, checkNoPendingCopy, type BlobGuard } from '../blob/guard.ts'
import type { Blob } from '../blob/record.ts'
import { checkOnline } from '../blob/tier.ts'
import { checkWriteConditions } from '../shared/condition.ts'
import { ENCRYPTION_NEEDED } from '../shared/encryption-needed.ts'
import { StorageError, type ErrorCode } from '../shared/error.ts'
import { withLease } from '../shared/lease.ts'
import { indexLease } from '../shared/leased.ts'
import { useLease, type LeaseUse, type UsedLease } from './lease-use.ts'
import { blobOfPath, type PathAddress } from './path-address.ts'

export type AppendData = {
  readonly position: number
  readonly guard: BlobGuard
  readonly leaseUse?: LeaseUse
}

export type FileTarget = ExistingTarget & { readonly used: UsedLease }

/** The file, for appends and flushes. */
export function* findFile(
  tx: ReadTx,
  address: PathAddress,
  { guard, leaseUse }: Pick<AppendData, 'guard' | 'leaseUse'>,
  notOurs: ErrorCode,
  nowMs: number,
): Step<FileTarget> {
  const target = requireBlob(yield* findBlob(tx, blobOfPath(address, 'write'), nowMs))
  const { blob } = target.stored
  checkWriteConditions(guard.conditions, blob, 'update')
  const used = useLease(blob.lease, guard.leaseId, leaseUse, nowMs)
  checkNoPendingCopy(blob)
  if (blob.path?.isDirectory === true) throw new StorageError('PathConflict')
  if (blob.isLakeFile !== true) throw new StorageError(notOurs)
  checkMutable(blob, nowMs)
  checkOnline(blob, nowMs)
  checkEncryption(blob.encryption, guard.encryption ?? {}, 'append', target.container)
  return { ...target, used }
}

/** Throws what the append would fail with. Runs before the body is read, and again when it is stored. */
export function* checkAppendData(
  tx: ReadTx,
  address: PathAddress,
  append: AppendData,
  nowMs: number,
): Step<FileTarget> {
  const target = yield* findFile(tx, address, append, 'InvalidAppendOperation', nowMs)
  const { type, lengthBytes, blockCount = 0 } = target.stored.blob
  // Whether bytes elsewhere follow what is there, the flush decides: before the end of the file, they never do.
  if (type !== 'AppendBlob') return target
  if (append.position !== lengthBytes) throw new StorageError('InvalidAppendPosition')
  if (blockCount >= APPEND_BLOCK_COUNT_MAX) throw new StorageError('BlockCountExceedsLimit')
  return target
}

export type Appended = { readonly blob: Blob; readonly isLeaseRenewed: boolean }

/** The bytes are durable. Changes neither ETag nor content, except of an append blob. */
export function* appendData(
  tx: Tx,
  address: PathAddress,
  append: AppendData,
  bytes: StagedBlock,
  moment: Moment,
): Step<Appended> {
  const target = yield* checkAppendData(tx, address, append, moment.nowMs)
  const { blob: current } = target.stored
  if (!isSameEncryption(current.encryption, bytes.encryption)) yield* need(ENCRYPTION_NEEDED)
  const isLeaseRenewed = target.used.isRenewed
  if (current.type === 'AppendBlob') {
    return { blob: yield* appendNow(tx, target, bytes, moment), isLeaseRenewed }
  }
  yield* stageAppend(tx, target, append.position, bytes, moment)
  return { blob: saveUsedLease(tx, target), isLeaseRenewed }
}

function saveUsedLease(tx: Tx, { key, stored, used }: FileTarget): Blob {
  const { blob: current, bytes } = stored
  if (used.lease === current.lease) return current
  const blob = withLease(current, used.lease)
  tx.put(key, encodeRecord(blob, bytes))
  indexLease(tx, key, used.lease)
  return blob
}

export function* appendNow(
  tx: Tx,
  target: FileTarget,
  added: StagedBlock,
  moment: Moment,
): Step<Blob> {
  const { key, used, stored } = target
  const { map, lengthBytes, blockCount = 0, stamp, lease } = stored.blob
  assert(map !== undefined, 'an append blob has a map')
  yield* putMapRecord(tx, map, lengthBytes, added.content.pieces)
  const blob: Blob = {
    ...afterWrite(stored.blob, used.lease, moment, nextStamp(stamp, moment)),
    lengthBytes: lengthBytes + added.lengthBytes,
    blockCount: blockCount + 1,
  }
  tx.put(key, encodeRecord(blob, stored.bytes))
  if (lease !== used.lease) indexLease(tx, key, used.lease)
  return blob
}

/** Fourteen hexadecimal digits, so that ids are in the order of positions. */
const POSITION_DIGITS = 14

export function blockIdOfPosition(position: number): string {
  return position.toString(16).padStart(POSITION_DIGITS, '0')
}

export function positionOfBlockId(id: string): number {
  return Number.parseInt(id, 16)
}

/** Another append at the same position replaces the first. */
export function* stageAppend(
  tx: Tx,
  { containerId, name }: FileTarget,
  position: number,
  block: StagedBlock,
  { nowMs }: Moment,
): Step<void> {
  const staging = yield* getStaging(tx, containerId, name, nowMs)
  // Expired data that the sweep has not removed yet must not reappear.
  if (staging === undefined) yield* discardStaging(tx, containerId, name)
  const latest = block.content.id
  const before = staging ?? { id: latest, blockCount: 0, createdMs: nowMs, touchedMs: nowMs }
  const place = { containerId, name, id: before.id }
  const id = blockIdOfPosition(position)
  const replaced = staging && (yield* getStagedBlock(tx, place, id))
  if (replaced !== undefined) yield* removeReferences(tx, replaced.content)
  else if (before.blockCount >= UNCOMMITTED_BLOCKS_MAX) {
    throw new StorageError('BlockCountExceedsLimit')
  }
  yield* putStagedBlock(tx, place, id, block)
  const after: Staging = {
    ...before,
    latest,
    blockCount: before.blockCount + (replaced === undefined ? 1 : 0),
    blockIdBytes: POSITION_DIGITS,
    touchedMs: Math.max(before.touchedMs, nowMs),
  }
  saveStaging(tx, containerId, name, after)
  if (staging === undefined) scheduleStaging(tx, containerId, name, after)
}
