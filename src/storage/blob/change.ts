// Changes that leave a blob's bytes alone: headers, metadata, tags, leases, tiers, and the properties of page
// blobs. The same ones as in Azure change the ETag.
import { visibleAccess, getProtection, isKeptAsVersion, type Protection } from './protection.ts'
import type { ReadTx, Step, Tx } from '../../kv/kv.ts'
import { encodeRecord } from '../../kv/record.ts'
import { checkWriteConditions } from '../shared/condition.ts'
import type { ContentHeaders } from '../shared/content-headers.ts'
import { StorageError } from '../shared/error.ts'
import { runLeaseAction, withLease, type LeaseAction, type LeaseResult } from '../shared/lease.ts'
import { indexLease } from '../shared/leased.ts'
import { clearLongMap } from '../../extent/content/map-copy.ts'
import type { Metadata } from '../shared/metadata.ts'
import { nextStamp, type Moment } from '../../node/moment.ts'
import {
  afterWrite,
  findBlob,
  findBlobAt,
  findForUpdate,
  isPast,
  readBlob,
  requireBlob,
  type BlobAddress,
} from './blob.ts'
import type { Blob } from './record.ts'
import { checkEncryption } from './encryption.ts'
import {
  checkMutable,
  checkNoPendingCopy,
  checkNotDirectory,
  checkBlobWrite,
  requireType,
  type BlobGuard,
} from './guard.ts'
import { copyToVersion, nextPastStamp, blobPlaceOf } from './past/past.ts'
import { withFolderMark } from './path/link.ts'
import { getStaging, saveStaging } from './content/staging.ts'
import { changeTagIndex } from './list/tag-index.ts'
import { NO_TAGS, type Tags } from '../shared/tags.ts'
import { changedTier, tierAfterAccess, type SetTier, type TierChange } from './tier.ts'

/** Set Blob Metadata replaces all metadata. With versioning on, it creates a version. */
export function* setBlobMetadata(
  tx: Tx,
  address: BlobAddress,
  guard: BlobGuard,
  metadata: Metadata,
  newId: number,
  moment: Moment,
): Step<Blob> {
  const target = yield* findForUpdate(tx, address, guard, moment.nowMs)
  const { blob: current, bytes } = target.stored
  checkEncryption(current.encryption, guard.encryption ?? {}, 'write', target.container)
  const [place, protection] = [
    blobPlaceOf(address, target),
    yield* getProtection(tx, address.account, target.container),
  ]
  const isVersion = protection.isVersioningEnabled
  if (isKeptAsVersion(current, protection)) yield* copyToVersion(tx, place, target.stored, newId)
  else checkMutable(current, moment.nowMs)
  const stamp = isVersion
    ? yield* nextPastStamp(tx, place, current, moment)
    : nextStamp(current.stamp, moment)
  const { version: _version, ...changed } = afterWrite(current, target.lease, moment, stamp)
  const isDirectory = current.path?.isDirectory === true
  const blob: Blob = {
    ...changed,
    metadata: isDirectory ? withFolderMark(metadata) : metadata,
    ...(isVersion && { version: stamp }),
  }
  tx.put(target.key, encodeRecord(blob, bytes))
  return blob
}

/** Page blobs only: the new length and the new sequence number. */
export type PageProperties = {
  readonly lengthBytes?: number
  readonly sequenceNumber?: SequenceNumberChange
}

export type SequenceNumberChange =
  { readonly action: 'max' | 'update'; readonly value: bigint } | { readonly action: 'increment' }

/** Set Blob Properties replaces all headers if the request names any. */
export function* setBlobProperties(
  tx: Tx,
  address: BlobAddress,
  guard: BlobGuard,
  set: {
    readonly headers: ContentHeaders | undefined
    readonly page: PageProperties
    /** For the map, if a new one is needed. */
    readonly newId: number
  },
  moment: Moment,
): Step<Blob> {
  const target = yield* findForUpdate(tx, address, guard, moment.nowMs)
  const { blob: current, bytes } = target.stored
  checkMutable(current, moment.nowMs)
  const stamp = nextStamp(current.stamp, moment)
  let blob: Blob = afterWrite(current, target.lease, moment, stamp)
  if (set.headers !== undefined) blob = { ...blob, headers: set.headers }
  const { lengthBytes, sequenceNumber } = set.page
  if (lengthBytes !== undefined || sequenceNumber !== undefined) requireType(current, 'PageBlob')
  if (lengthBytes !== undefined) {
    if (current.map !== undefined && lengthBytes < current.lengthBytes) {
      const copy = { of: current.map, to: set.newId, stamp: current.stamp }
      const without = { from: lengthBytes, to: current.lengthBytes }
      blob = { ...blob, map: yield* clearLongMap(tx, { ...copy, without }) }
    }
    blob = { ...blob, lengthBytes }
  }
  if (sequenceNumber !== undefined) {
    blob = { ...blob, sequenceNumber: changedSequenceNumber(current, sequenceNumber) }
  }
  tx.put(target.key, encodeRecord(blob, bytes))
  return blob
}

const SEQUENCE_NUMBER_MAX = 2n ** 63n - 1n

function changedSequenceNumber(blob: Blob, change: SequenceNumberChange): string {
  const current = BigInt(blob.sequenceNumber ?? '0')
  if (change.action === 'increment') {
    if (current >= SEQUENCE_NUMBER_MAX) throw new StorageError('SequenceNumberIncrementTooLarge')
    return String(current + 1n)
  }
  if (change.action === 'update') return String(change.value)
  return String(change.value > current ? change.value : current)
}

/** Lease Blob does not change the ETag. A blob that has only uncommitted blocks can be leased too. */
export function* leaseBlob(
  tx: Tx,
  address: BlobAddress,
  guard: BlobGuard,
  wanted: LeaseAction,
  moment: Moment,
): Step<{ readonly result: LeaseResult; readonly blob: Blob | undefined }> {
  const { nowMs } = moment
  const target = yield* findBlob(tx, address, nowMs)
  const action = target.located === undefined ? wanted : ofPath(wanted)
  if (target.stored === undefined) {
    const { containerId: id, name } = target
    const staging = yield* getStaging(tx, id, name, nowMs)
    if (staging === undefined) throw new StorageError('BlobNotFound')
    checkWriteConditions(guard.conditions, undefined, 'update')
    const result = runLeaseAction(staging.lease, action, nowMs)
    saveStaging(tx, id, name, withLease(staging, result.lease))
    indexLease(tx, target.key, result.lease)
    return { result, blob: undefined }
  }
  const { blob: current, bytes } = target.stored
  checkWriteConditions(guard.conditions, current, 'update')
  checkNoPendingCopy(current)
  const result = runLeaseAction(current.lease, action, nowMs)
  const blob = withLease(current, result.lease)
  tx.put(target.key, encodeRecord(blob, bytes))
  indexLease(tx, target.key, result.lease)
  return { result, blob }
}

/** In a hierarchical container, a break without a period is at once, whatever is left of the lease (recorded). */
function ofPath(action: LeaseAction): LeaseAction {
  return action.action === 'break' ? { periodSeconds: 0, ...action } : action
}

/** Get Blob Tags of the current blob, a snapshot or a version. */
export function* getBlobTags(
  tx: ReadTx,
  address: BlobAddress,
  guard: BlobGuard,
  nowMs: number,
): Step<Tags> {
  const { stored } = yield* readBlob(tx, address, guard, nowMs)
  return stored.blob.tags ?? NO_TAGS
}

/** Set Blob Tags replaces all tags and keeps the ETag. Find Blobs by Tags finds only current blobs. */
export function* setBlobTags(
  tx: Tx,
  address: BlobAddress,
  guard: BlobGuard,
  tags: Tags,
  moment: Moment,
): Step<void> {
  const target = requireBlob(yield* findBlobAt(tx, address, moment.nowMs))
  const { blob: current, bytes } = target.stored
  const lease = checkBlobWrite(current, guard, moment.nowMs, 'update')
  const { tags: before = NO_TAGS, ...rest } = withLease(current, lease)
  const blob: Blob = { ...rest, ...(tags.length > 0 && { tags }) }
  if (!isPast(current)) changeTagIndex(tx, blobPlaceOf(address, target), before, tags)
  tx.put(target.key, encodeRecord(blob, bytes))
}

/** Set Blob Tier of the current blob, a snapshot or a version. The ETag stays. */
export function* setBlobTier(
  tx: Tx,
  address: BlobAddress,
  guard: BlobGuard,
  request: SetTier,
  nowMs: number,
): Step<TierChange> {
  const target = requireBlob(yield* findBlobAt(tx, address, nowMs))
  const { blob: current, bytes } = target.stored
  checkNotDirectory(current)
  const lease = checkBlobWrite(current, guard, nowMs, 'update')
  const change = changedTier(current, request, nowMs)
  const blob: Blob = { ...withLease(current, lease), tier: change.tier }
  tx.put(target.key, encodeRecord(blob, bytes))
  return change
}

const DAY_MS = 24 * 60 * 60 * 1_000

/**
 * The blob with its last access time updated; the same object if nothing changes. The time is kept to the day,
 * so that reads seldom write.
 */
export function withAccess(blob: Blob, { isAccessTimeTracked }: Protection, nowMs: number): Blob {
  const isStale = isAccessTimeTracked && (blob.accessedMs ?? 0) + DAY_MS <= nowMs
  const tier = tierAfterAccess(blob, nowMs)
  if (!isStale && tier === undefined) return blob
  return { ...blob, ...(isStale && { accessedMs: nowMs }), ...(tier !== undefined && { tier }) }
}

/** Records a read of the blob. */
export function* touchBlob(tx: Tx, address: BlobAddress, nowMs: number): Step<void> {
  const { key, stored } = yield* findBlobAt(tx, address, nowMs)
  if (stored === undefined) return
  const touched = withAccess(stored.blob, yield* getProtection(tx, address.account), nowMs)
  if (touched !== stored.blob) tx.put(key, encodeRecord(touched, stored.bytes))
}

/** Get Blob Properties and Get Blob Metadata. They require a customer-provided key, but not an encryption scope. */
export function* readBlobProperties(
  tx: ReadTx,
  address: BlobAddress,
  guard: BlobGuard,
  nowMs: number,
): Step<Blob> {
  const { blob } = (yield* readBlob(tx, address, guard, nowMs)).stored
  checkEncryption(blob.encryption, guard.encryption ?? {}, 'read')
  if (blob.accessedMs === undefined) return blob
  return visibleAccess(blob, yield* getProtection(tx, address.account))
}
