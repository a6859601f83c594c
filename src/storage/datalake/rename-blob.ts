// Rename Path in flat containers, which works for files only: the blob gets a new name in the same transaction in which the old
// one goes. Clients with tables of their own on flat accounts depend on it, because it is atomic.
import type { Step, Tx } from '../../kv/kv.ts'
import type { Moment } from '../../node/moment.ts'
import { findBlob, type BlobAddress, type ExistingTarget } from '../blob/blob.ts'
import { copyContent } from '../blob/content/content.ts'
import { copiedProperties } from '../blob/copy/copy.ts'
import { checkMutable, checkNoPendingCopy, checkNotIncremental } from '../blob/guard.ts'
import { deleteBlob } from '../blob/past/delete.ts'
import { hasFolderMark } from '../blob/path/link.ts'
import { checkPutBlob, replaceBlob, type PutTarget } from '../blob/put.ts'
import type { Blob } from '../blob/record.ts'
import { checkSourceConditions, NO_CONDITIONS } from '../shared/condition.ts'
import { StorageError } from '../shared/error.ts'
import { checkLeaseForWrite } from '../shared/lease.ts'
import { blobOfPath, type PathAddress } from './path-address.ts'
import type { RenamePath } from './rename-path.ts'

export function* renameBlob(
  tx: Tx,
  address: PathAddress,
  { source, guard, createOnly, headers: changed }: RenamePath,
  newId: number,
  moment: Moment,
): Step<Blob> {
  const from = blobOfPath(source.address, 'delete')
  const to = blobOfPath(address, 'write')
  const found = yield* findSource(tx, from, source, moment.nowMs)
  const target = yield* checkPutBlob(tx, to, { guard, createOnly }, moment.nowMs)
  checkPlaces(found, target)
  const { blob, bytes } = found.stored
  const content = yield* copyContent(tx, blob, target.key, newId)
  const { headers, metadata, tags, encryption, isLakeFile, encryptionContext } = blob
  const put = {
    headers: { ...headers, ...changed },
    metadata,
    ...(tags && { tags }),
    ...(encryption && { encryption }),
    ...(blob.tier && { tier: blob.tier.name }),
  }
  const replacement = {
    ...copiedProperties(blob, undefined),
    content,
    ...(content.inline === true && { bytes }),
    ...(isLakeFile && { isLakeFile }),
    ...(encryptionContext !== undefined && { encryptionContext }),
  }
  const renamed = yield* replaceBlob(tx, to, target, put, replacement, moment)
  const { leaseId } = source
  const held = { conditions: NO_CONDITIONS, readRule: guard.readRule, ...(leaseId && { leaseId }) }
  yield* deleteBlob(tx, from, { guard: held }, moment)
  return renamed
}

function* findSource(
  tx: Tx,
  from: BlobAddress,
  { conditions, leaseId }: RenamePath['source'],
  nowMs: number,
): Step<ExistingTarget> {
  const { stored, ...found } = yield* findBlob(tx, from, nowMs)
  if (stored === undefined) throw new StorageError('SourcePathNotFound')
  const { blob } = stored
  if (hasFolderMark(blob.metadata)) throw new StorageError('HierarchicalNamespaceNotEnabled')
  checkSourceConditions(conditions, blob)
  checkLeaseForWrite(blob.lease, leaseId, nowMs, 'blob')
  checkNoPendingCopy(blob)
  checkNotIncremental(blob)
  checkMutable(blob, nowMs)
  return { ...found, stored }
}

function checkPlaces(source: ExistingTarget, target: PutTarget): void {
  const isSame = source.containerId === target.containerId && source.name === target.name
  if (isSame) throw new StorageError('InvalidRenameSourcePath')
}
