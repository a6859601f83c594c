// Copies of a blob that is in this store: one transaction that shares the slices of the bytes and nothing
// that can change, so that whatever becomes of either blob, the other stays. What is wrong with the source
// is told as CannotVerifyCopySource with the status that reading it would have had.
import type { Step, Tx } from '../../../kv/kv.ts'
import { encodeRecord } from '../../../kv/record.ts'
import type { CopyState } from '../../shared/copy-state.ts'
import { EncryptionNeeded } from '../../shared/encryption-needed.ts'
import { requireEncryptionScope } from '../../shared/encryption-scope.ts'
import { StorageError } from '../../shared/error.ts'
import { isInfinite } from '../../shared/lease.ts'
import type { Metadata } from '../../shared/metadata.ts'
import type { Moment } from '../../../node/moment.ts'
import type { BlobAddress } from '../blob.ts'
import type { Blob, BlobType } from '../record.ts'
import { copyContent, type BlobContent } from '../content/content.ts'
import { encryptionForWrite, isSameEncryption, type BlobEncryption } from '../encryption.ts'
import {
  checkPutBlob,
  replaceBlob,
  type PutBlob,
  type PutTarget,
  type Replacement,
} from '../put.ts'
import { putResealed, type Resealed } from './reseal.ts'
import { findSource, type SourceRead } from './source.ts'
import { checkOnline, rehydrationTo, isOnlineTier, tierOf } from '../tier.ts'
import type { AccessTier, RehydratePriority } from '../access-tier.ts'

export type CopyBlob = {
  /** Its headers are the source's, whatever stands here, and so is its metadata unless `metadata` is given. */
  readonly put: PutBlob
  readonly metadata: Metadata | undefined
  readonly source: SourceRead
  readonly state: Pick<CopyState, 'id' | 'source'>
  readonly newId: number
  readonly copiesTags: boolean
  /** x-ms-seal-blob; without it an append blob is sealed if its source is. */
  readonly seal: boolean | undefined
  readonly rehydratePriority: RehydratePriority | undefined
  /** The bytes under the key of the destination, if that is not the source's. */
  readonly resealed?: Resealed
}

/** Copy Blob from this store, and Copy Blob From URL after it has looked at the bytes. */
export function* copyBlob(
  tx: Tx,
  address: BlobAddress,
  copy: CopyBlob,
  moment: Moment,
): Step<Blob> {
  const { put } = copy
  const target = yield* checkPutBlob(tx, address, put, moment.nowMs)
  const { stored } = yield* findSource(tx, copy.source, moment.nowMs)
  const source = stored.blob
  checkCopyTarget(target, source.type)
  checkCopyTier(put.tier, source, moment.nowMs)
  const encryption = encryptionForWrite(put.guard.encryption ?? {}, target.container)
  const content = yield* copiedContent(tx, address, target, copy, source, encryption)
  const tags = copy.copiesTags ? source.tags : put.tags
  const { tags: _tags, ...asked } = put
  const made = {
    ...asked,
    headers: source.headers,
    metadata: copy.metadata ?? source.metadata,
    ...(tags && { tags }),
    ...(encryption && { encryption }),
  }
  const total = source.lengthBytes
  const state: CopyState = {
    ...copy.state,
    status: 'success',
    copiedBytes: total,
    totalBytes: total,
    completedMs: moment.nowMs,
  }
  const replacement: Replacement = {
    ...copiedProperties(source, copy.seal),
    content,
    copy: state,
    ...(content.inline === true && { bytes: stored.bytes }),
  }
  const blob = yield* replaceBlob(tx, address, target, made, replacement, moment)
  return leaveArchive(tx, target, { blob, bytes: replacement.bytes }, copy, source, moment)
}

/** The destination of a copy: of the source's type, and leased for ever or not at all. */
export function checkCopyTarget({ stored, lease }: PutTarget, type: BlobType): void {
  if (lease !== undefined && !isInfinite(lease)) {
    throw new StorageError('InfiniteLeaseDurationRequired')
  }
  if (stored !== undefined && stored.blob.type !== type) throw new StorageError('InvalidBlobType')
}

/** An archived source is copied only to a tier that is online. */
function checkCopyTier(tier: AccessTier | undefined, source: Blob, nowMs: number): void {
  if (tier === undefined || tier === 'Archive') checkOnline(source, nowMs)
}

function* copiedContent(
  tx: Tx,
  { account }: BlobAddress,
  { key }: PutTarget,
  copy: CopyBlob,
  source: Blob,
  encryption: BlobEncryption | undefined,
): Step<BlobContent> {
  const { resealed, newId } = copy
  if (resealed !== undefined) {
    if (!isSameEncryption(resealed.encryption, encryption)) throw new EncryptionNeeded()
    return yield* putResealed(tx, key, newId, resealed)
  }
  if (!isShareable(source, copy.source.address, encryption, account)) throw new EncryptionNeeded()
  if (encryption !== undefined && 'scope' in encryption) {
    yield* requireEncryptionScope(tx, account, encryption.scope)
  }
  return yield* copyContent(tx, source, key, newId)
}

/** Under the same key. A scope is its account's own: another account may have another of that name. */
export function isShareable(
  source: Blob,
  from: Pick<BlobAddress, 'account'>,
  encryption: BlobEncryption | undefined,
  account: string,
): boolean {
  if (!isSameEncryption(source.encryption, encryption)) return false
  return encryption === undefined || 'keySha256' in encryption || from.account === account
}

/** What belongs to the type of a blob. */
export function copiedProperties(
  { type, blockCount, isSealed, sequenceNumber }: Pick<Blob, keyof TypeProperties>,
  seal: boolean | undefined,
): TypeProperties {
  if (seal === true && type !== 'AppendBlob') throw new StorageError('InvalidBlobType')
  return {
    type,
    ...(blockCount !== undefined && { blockCount }),
    ...((seal ?? isSealed === true) && { isSealed: true }),
    ...(sequenceNumber !== undefined && { sequenceNumber }),
  }
}

export type TypeProperties = Pick<Blob, 'type' | 'blockCount' | 'isSealed' | 'sequenceNumber'>

/** The copy of an archived blob is archived too, and on its way to the tier that was asked for. */
function leaveArchive(
  tx: Tx,
  { key }: PutTarget,
  { blob, bytes }: { readonly blob: Blob; readonly bytes: Uint8Array | undefined },
  { put, rehydratePriority = 'Standard' }: CopyBlob,
  source: Blob,
  { nowMs }: Moment,
): Blob {
  const to = put.tier
  const isArchived = source.tier !== undefined && tierOf(source, nowMs).name === 'Archive'
  if (!isArchived || !isOnlineTier(to)) return blob
  const rehydration = rehydrationTo(to, rehydratePriority, nowMs)
  const archived: Blob = { ...blob, tier: { name: 'Archive', setMs: nowMs, rehydration } }
  tx.put(key, encodeRecord(archived, bytes))
  return archived
}
