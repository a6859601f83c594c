// Copies within this store, in one transaction. The two blobs share slices, which never change, and nothing
// else, so each is independent of the other. Errors of the source become CannotVerifyCopySource (source.ts).
import type { Step, Tx } from '../../../kv/kv.ts'
import { encodeRecord } from '../../../kv/record.ts'
import { need } from '../../../kv/step.ts'
import { completedCopy, type CopyState } from '../../shared/copy/copy-state.ts'
import { ENCRYPTION_NEEDED } from '../../shared/encryption-needed.ts'
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
import { blobKey } from '../keys.ts'
import { findSource, type SourceRead } from './source.ts'
import { checkOnline, rehydrationTo, isOnlineTier, tierOf } from '../tier.ts'
import type { AccessTier, RehydratePriority } from '../access-tier.ts'

export type CopyBlob = {
  /** Its headers are ignored: those of the source are used, and so is its metadata unless `metadata` is given. */
  readonly put: PutBlob
  readonly metadata: Metadata | undefined
  readonly source: SourceRead
  readonly state: Pick<CopyState, 'id' | 'source'>
  readonly newId: number
  readonly copiesTags: boolean
  /** x-ms-seal-blob. Without it, an append blob is sealed if its source is. */
  readonly seal: boolean | undefined
  readonly rehydratePriority: RehydratePriority | undefined
  /** The bytes, encrypted with the key of the destination, if it differs from that of the source. */
  readonly resealed?: Resealed
}

/** Copy Blob, and Copy Blob From URL once it has checked the bytes. */
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
  const { tags: _tags, ...rest } = put
  const copied = {
    ...rest,
    headers: source.headers,
    metadata: copy.metadata ?? source.metadata,
    ...(tags && { tags }),
    ...(encryption && { encryption }),
  }
  const replacement: Replacement = {
    ...copiedProperties(source, copy.seal),
    content,
    copy: completedCopy(copy.state, source.lengthBytes, moment.nowMs),
    ...(content.inline === true && { bytes: stored.bytes }),
  }
  const blob = yield* replaceBlob(tx, address, target, copied, replacement, moment)
  return leaveArchive(tx, target, { blob, bytes: replacement.bytes }, copy, source, moment)
}

/** The destination has the type of the source, and its lease, if any, is infinite. */
export function checkCopyTarget({ stored, lease }: PutTarget, type: BlobType): void {
  if (lease !== undefined && !isInfinite(lease)) {
    throw new StorageError('InfiniteLeaseDurationRequired')
  }
  if (stored !== undefined && stored.blob.type !== type) throw new StorageError('InvalidBlobType')
}

/** An archived source can only be copied to an online tier. */
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
    if (!isSameEncryption(resealed.encryption, encryption)) yield* need(ENCRYPTION_NEEDED)
    return yield* putResealed(tx, key, newId, resealed)
  }
  if (!isShareable(source, copy.source.address, encryption, account)) yield* need(ENCRYPTION_NEEDED)
  if (encryption !== undefined && 'scope' in encryption) {
    yield* requireEncryptionScope(tx, account, encryption.scope)
  }
  return yield* copyContent(tx, source, key, newId)
}

/** Whether both have the same key. Scopes of the same name in two accounts have different keys. */
export function isShareable(
  source: Blob,
  from: Pick<BlobAddress, 'account'>,
  encryption: BlobEncryption | undefined,
  account: string,
): boolean {
  if (!isSameEncryption(source.encryption, encryption)) return false
  return encryption === undefined || 'keySha256' in encryption || from.account === account
}

/** The properties that depend on the type of the blob. */
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

/** The copy of an archived blob is archived too, and rehydrates to the requested tier. */
function leaveArchive(
  tx: Tx,
  { containerId, name }: PutTarget,
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
  tx.put(blobKey(containerId, blob.path?.id ?? name), encodeRecord(archived, bytes))
  return archived
}
