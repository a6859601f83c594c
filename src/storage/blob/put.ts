// Writes that create or replace a blob: Put Blob of each type, Put Block List, Copy Blob. Depending on the
// account's properties, the replaced blob becomes a version or a soft-deleted snapshot, or is dropped.
import { addReferences } from '../../extent/content/reference.ts'
import type { Piece } from '../../extent/content/slice.ts'
import type { ReadTx, Step, Tx } from '../../kv/kv.ts'
import { encodeSharedRecord } from '../../kv/record.ts'
import { need } from '../../kv/step.ts'
import type { ContentHeaders } from '../shared/content-headers.ts'
import type { CopyState } from '../shared/copy/copy-state.ts'
import { ENCRYPTION_NEEDED } from '../shared/encryption-needed.ts'
import { StorageError } from '../shared/error.ts'
import type { Lease } from '../shared/lease.ts'
import type { Metadata } from '../shared/metadata.ts'
import { laterMs } from '../shared/modified.ts'
import type { Moment } from '../../node/moment.ts'
import { findBlob, type BlobAddress, type Target } from './blob.ts'
import type { Blob, ImmutabilityPolicy } from './record.ts'
import type { BlobContent } from './content/content.ts'
import { dropExpired } from './past/delete.ts'
import { encryptionForWrite, isSameEncryption, type BlobEncryption } from './encryption.ts'
import { checkMutable, checkNotIncremental, checkBlobWrite, type BlobGuard } from './guard.ts'
import { checkMayBeImmutable, checkPolicyTime } from './immutability.ts'
import type { Creation } from './path/access.ts'
import { homeOf } from './path/home.ts'
import { checkNotBelowFile } from './path/locate.ts'
import { makeRoom, blobPlaceOf } from './past/past.ts'
import {
  getProtection,
  isKeptAsVersion,
  overwriteProtection,
  type Protection,
} from './protection.ts'
import { takeOrphanSnapshots } from './past/snapshot.ts'
import { discardStaging, getStaging, type Staging } from './content/staging.ts'
import { changeTagIndex } from './list/tag-index.ts'
import { NO_TAGS, type Tags } from '../shared/tags.ts'
import { checkOnline, checkTierOfType, tierAfterReplace } from './tier.ts'
import type { AccessTier } from './access-tier.ts'

/** A blob to create, without the bytes. */
export type PutBlob = {
  readonly guard: BlobGuard
  /** The caller may create blobs but not replace them (a SAS with `c` and without `w`). */
  readonly createOnly: boolean
  /** Conditions on the destination of a copy have their own error code. */
  readonly isCopy?: true
  readonly headers: ContentHeaders
  readonly metadata: Metadata
  readonly tags?: Tags
  readonly tier?: AccessTier
  readonly encryption?: BlobEncryption
  readonly immutability?: ImmutabilityPolicy
  readonly legalHold?: boolean
  /** Of a new path in a hierarchical container. */
  readonly creation?: Creation
}

/** The body of a Put Blob: a small one as bytes, others already durable in extents. */
export type PutBody =
  | { readonly bytes: Uint8Array }
  | { readonly lengthBytes: number; readonly id: number; readonly pieces: readonly Piece[] }

export type PutTarget = Target & {
  readonly staging: Staging | undefined
  readonly protection: Protection
  /** The lease after the write. */
  readonly lease: Lease | undefined
}

/** Throws what the put would fail with. Runs before a long body is read, and again when it is stored. */
export function* checkPutBlob(
  tx: ReadTx,
  address: BlobAddress,
  put: Pick<PutBlob, 'guard' | 'createOnly' | 'isCopy'>,
  nowMs: number,
): Step<PutTarget> {
  const target = yield* findBlob(tx, address, nowMs)
  if (target.located !== undefined) checkNotBelowFile(target.located)
  const staging = yield* getStaging(tx, target.containerId, target.name, nowMs)
  const current = target.stored?.blob
  // To conditions, an uncommitted blob doesn't exist, since it has no ETag. Its lease counts nevertheless.
  const held = current === undefined ? staging?.lease : current.lease
  const lease = checkBlobWrite(current, put.guard, nowMs, put.isCopy ? 'copy' : 'create', held)
  const { container } = target
  const ofAccount = yield* getProtection(tx, address.account, container)
  const protection = overwriteProtection(ofAccount, container)
  if (current === undefined) return { ...target, staging, protection, lease }
  if (put.createOnly) throw new StorageError('UnauthorizedBlobOverwrite')
  checkNotIncremental(current)
  checkOnline(current, nowMs)
  if (!isKeptAsVersion(current, protection)) checkMutable(current, nowMs)
  return { ...target, staging, protection, lease }
}

/** The container's encryption may have changed since the body was encrypted. */
export function* requireEncryptedFor({ container }: PutTarget, put: PutBlob): Step<void> {
  const wanted = encryptionForWrite(put.guard.encryption ?? {}, container)
  if (!isSameEncryption(wanted, put.encryption)) yield* need(ENCRYPTION_NEEDED)
}

/** Put Blob for a block blob. */
export function* putBlob(
  tx: Tx,
  address: BlobAddress,
  put: PutBlob,
  body: PutBody,
  moment: Moment,
): Step<Blob> {
  const target = yield* checkPutBlob(tx, address, put, moment.nowMs)
  yield* requireEncryptedFor(target, put)
  if ('bytes' in body) {
    const content: BlobContent = { lengthBytes: body.bytes.length, inline: true }
    return yield* replaceBlob(
      tx,
      address,
      target,
      put,
      { type: 'BlockBlob', content, bytes: body.bytes },
      moment,
    )
  }
  const { lengthBytes, id, pieces } = body
  const content: BlobContent = { lengthBytes, content: { id, pieces } }
  yield* addReferences(tx, target.key, { id, pieces })
  return yield* replaceBlob(tx, address, target, put, { type: 'BlockBlob', content }, moment)
}

/** The part of a new blob that the client doesn't specify. The references to its bytes already exist. */
export type Replacement = Pick<
  Blob,
  'type' | 'blockCount' | 'isSealed' | 'sequenceNumber' | 'isLakeFile' | 'encryptionContext'
> & {
  readonly content: BlobContent
  /** For inline content. */
  readonly bytes?: Uint8Array
  readonly copy?: CopyState
  /** Defaults to that of the replaced blob, or to now. */
  readonly createdMs?: number
}

/** Stores a new blob in place of the current one. The caller has called checkPutBlob in this transaction. */
export function* replaceBlob(
  tx: Tx,
  address: BlobAddress,
  target: PutTarget,
  put: Omit<PutBlob, 'guard' | 'createOnly'>,
  { content, bytes, ...properties }: Replacement,
  moment: Moment,
): Step<Blob> {
  const { stored: replaced, protection } = target
  const current = replaced?.blob
  if (put.tier !== undefined) checkTierOfType(put.tier, properties.type)
  if (put.immutability !== undefined || put.legalHold === true) checkMayBeImmutable(target)
  if (put.immutability !== undefined) checkPolicyTime(put.immutability, moment.nowMs)
  if (target.expired !== undefined) {
    yield* dropExpired(tx, blobPlaceOf(address, target), target.expired)
  }
  if (target.staging !== undefined) yield* discardStaging(tx, target.containerId, target.name)
  const home = yield* homeOf(tx, address, target, { content, ...put }, moment)
  const { key, place, path } = home
  const stamp = yield* makeRoom(tx, place, replaced, protection, moment)
  const snapshotCount = current ? current.snapshotCount : yield* takeOrphanSnapshots(tx, place)
  const blob: Blob = {
    stamp,
    createdMs: current?.createdMs ?? moment.nowMs,
    modifiedMs: laterMs(current, moment),
    headers: put.headers,
    metadata: put.metadata,
    ...properties,
    ...content,
    ...(properties.type === 'PageBlob' && { origin: stamp }),
    ...tierAfter(put.tier, current?.type === properties.type ? current : undefined, moment.nowMs),
    ...(put.tags !== undefined && put.tags.length > 0 && { tags: put.tags }),
    ...(put.encryption && { encryption: put.encryption }),
    ...(put.immutability && { immutability: put.immutability }),
    ...(put.legalHold === true && { legalHold: true }),
    ...(target.lease && { lease: target.lease }),
    ...(snapshotCount !== undefined && { snapshotCount }),
    ...(protection.isVersioningEnabled && { version: stamp }),
    ...(protection.isAccessTimeTracked && { accessedMs: moment.nowMs }),
    ...(path && { path }),
  }
  changeTagIndex(tx, place, current?.tags ?? NO_TAGS, blob.tags ?? NO_TAGS)
  tx.put(key, encodeSharedRecord(blob, bytes))
  return blob
}

/** A write without a tier keeps the one that was set on the replaced blob, if that is of the same type. */
function tierAfter(tier: AccessTier | undefined, current: Blob | undefined, nowMs: number) {
  if (tier !== undefined) return { tier: { name: tier, setMs: nowMs } }
  const replaced = current === undefined ? undefined : tierAfterReplace(current, nowMs)
  return replaced === undefined ? {} : { tier: replaced }
}
