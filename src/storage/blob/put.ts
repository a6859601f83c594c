// Writes that make a blob anew, whatever was there: Put Blob of each type, Put Block List, Copy Blob. What
// they replace becomes a version, a soft-deleted snapshot, or nothing, as the account's properties say.
import { addReferences } from '../../extent/content/reference.ts'
import type { Piece } from '../../extent/content/slice.ts'
import type { ReadTx, Step, Tx } from '../../kv/kv.ts'
import { encodeSharedRecord } from '../../kv/record.ts'
import type { ContentHeaders } from '../shared/content-headers.ts'
import type { CopyState } from '../shared/copy-state.ts'
import { EncryptionNeeded } from '../shared/encryption-needed.ts'
import { StorageError } from '../shared/error.ts'
import type { Lease } from '../shared/lease.ts'
import type { Metadata } from '../shared/metadata.ts'
import type { Moment } from '../../node/moment.ts'
import { findBlob, laterMs, type BlobAddress, type Target } from './blob.ts'
import type { Blob, ImmutabilityPolicy } from './record.ts'
import type { BlobContent } from './content/content.ts'
import { dropExpired } from './past/delete.ts'
import { encryptionForWrite, isSameEncryption, type BlobEncryption } from './encryption.ts'
import { checkMutable, checkNotIncremental, checkWrite, type BlobGuard } from './guard.ts'
import { checkPolicyTime } from './immutability.ts'
import { makeRoom, placeOf } from './past/past.ts'
import { getProtection, isKeptAsVersion, type Protection } from './protection.ts'
import { takeOrphanSnapshots } from './past/snapshot.ts'
import { discardStaging, getStaging, type Staging } from './content/staging.ts'
import { changeTagIndex } from './list/tag-index.ts'
import { NO_TAGS, type Tags } from '../shared/tags.ts'
import { checkOnline, checkTierOfType, tierAfterReplace } from './tier.ts'
import type { AccessTier } from './access-tier.ts'

/** What a client says of a blob that it makes, but for the bytes. */
export type PutBlob = {
  readonly guard: BlobGuard
  /** The caller may create blobs but not replace them (a SAS with `c` and without `w`). */
  readonly createOnly: boolean
  /** Copies have a code of their own for conditions of the destination. */
  readonly isCopy?: true
  readonly headers: ContentHeaders
  readonly metadata: Metadata
  readonly tags?: Tags
  readonly tier?: AccessTier
  readonly encryption?: BlobEncryption
  readonly immutability?: ImmutabilityPolicy
  readonly legalHold?: boolean
}

/** A body as Put Blob stores it: small ones as bytes, others already durable in extents. */
export type PutBody =
  | { readonly bytes: Uint8Array }
  | { readonly lengthBytes: number; readonly id: number; readonly pieces: readonly Piece[] }

export type PutTarget = Target & {
  readonly staging: Staging | undefined
  readonly protection: Protection
  /** What stays of the lease. */
  readonly lease: Lease | undefined
}

/** What a put would fail with now; asked before a long body is read, and again when it is stored. */
export function* checkPutBlob(
  tx: ReadTx,
  address: BlobAddress,
  put: Pick<PutBlob, 'guard' | 'createOnly' | 'isCopy'>,
  nowMs: number,
): Step<PutTarget> {
  const target = yield* findBlob(tx, address, nowMs)
  const staging = yield* getStaging(tx, target.container.id, address.blob, nowMs)
  const current = target.stored?.blob
  // An uncommitted blob has no ETag, so conditions see nothing there; its lease counts all the same.
  const held = current === undefined ? staging?.lease : current.lease
  const lease = checkWrite(current, put.guard, nowMs, put.isCopy ? 'copy' : 'create', held)
  const protection = yield* getProtection(tx, address.account)
  if (current === undefined) return { ...target, staging, protection, lease }
  if (put.createOnly) throw new StorageError('UnauthorizedBlobOverwrite')
  checkNotIncremental(current)
  checkOnline(current, nowMs)
  if (!isKeptAsVersion(current, protection)) checkMutable(current, nowMs)
  return { ...target, staging, protection, lease }
}

export function checkEncryptedFor({ container }: PutTarget, put: PutBlob): void {
  const wanted = encryptionForWrite(put.guard.encryption ?? {}, container)
  if (!isSameEncryption(wanted, put.encryption)) throw new EncryptionNeeded()
}

/** Put Blob of a block blob. */
export function* putBlob(
  tx: Tx,
  address: BlobAddress,
  put: PutBlob,
  body: PutBody,
  moment: Moment,
): Step<Blob> {
  const target = yield* checkPutBlob(tx, address, put, moment.nowMs)
  checkEncryptedFor(target, put)
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

/** What a write makes besides what the client said: the bytes, whose references are there already. */
export type Replacement = Pick<Blob, 'type' | 'blockCount' | 'isSealed' | 'sequenceNumber'> & {
  readonly content: BlobContent
  /** Of inline content. */
  readonly bytes?: Uint8Array
  readonly copy?: CopyState
  /** Left out, it is the one of the blob that is replaced, or now. */
  readonly createdMs?: number
}

/** Stores a new blob over whatever is there. The caller has asked checkPutBlob in this transaction. */
export function* replaceBlob(
  tx: Tx,
  address: BlobAddress,
  target: PutTarget,
  put: Omit<PutBlob, 'guard' | 'createOnly'>,
  { content, bytes, ...made }: Replacement,
  moment: Moment,
): Step<Blob> {
  const { key, stored: replaced, container, protection } = target
  const current = replaced?.blob
  if (put.tier !== undefined) checkTierOfType(put.tier, made.type)
  if (put.immutability !== undefined) checkPolicyTime(put.immutability, moment.nowMs)
  const place = placeOf(address, target)
  if (target.expired !== undefined) yield* dropExpired(tx, place, target.expired)
  const stamp = yield* makeRoom(tx, place, replaced, protection, moment)
  const snapshotCount = current ? current.snapshotCount : yield* takeOrphanSnapshots(tx, place)
  if (target.staging !== undefined) yield* discardStaging(tx, container.id, address.blob)
  const blob: Blob = {
    stamp,
    createdMs: current?.createdMs ?? moment.nowMs,
    modifiedMs: laterMs(current, moment),
    headers: put.headers,
    metadata: put.metadata,
    ...made,
    ...content,
    ...(made.type === 'PageBlob' && { origin: stamp }),
    ...tierAfter(put.tier, current?.type === made.type ? current : undefined, moment.nowMs),
    ...(put.tags !== undefined && put.tags.length > 0 && { tags: put.tags }),
    ...(put.encryption && { encryption: put.encryption }),
    ...(put.immutability && { immutability: put.immutability }),
    ...(put.legalHold === true && { legalHold: true }),
    ...(target.lease && { lease: target.lease }),
    ...(snapshotCount !== undefined && { snapshotCount }),
    ...(protection.isVersioningEnabled && { version: stamp }),
    ...(protection.isAccessTimeTracked && { accessedMs: moment.nowMs }),
  }
  changeTagIndex(tx, place, current?.tags ?? NO_TAGS, blob.tags ?? NO_TAGS)
  tx.put(key, encodeSharedRecord(blob, bytes))
  return blob
}

/** A blob that replaces one of its type takes over the tier that somebody set, if this write sets none. */
function tierAfter(tier: AccessTier | undefined, current: Blob | undefined, nowMs: number) {
  if (tier !== undefined) return { tier: { name: tier, setMs: nowMs } }
  const kept = current === undefined ? undefined : tierAfterReplace(current, nowMs)
  return kept === undefined ? {} : { tier: kept }
}
