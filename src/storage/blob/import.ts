// What an import from another server sets on containers and blobs that requests have just written: the times, leases
// and states that only the service itself can give.
import type { Step, Tx } from '../../kv/kv.ts'
import { encodeRecord } from '../../kv/record.ts'
import type { CopyState } from '../shared/copy/copy-state.ts'
import type { Lease } from '../shared/lease.ts'
import { indexLease } from '../shared/leased.ts'
import type { StoredTier } from './access-tier.ts'
import { findBlob, requireBlob, type BlobAddress } from './blob.ts'
import { requireContainer, saveContainer, saveContainerLease } from './container/container.ts'
import type { ContainerAddress } from './container/container.ts'
import { blobPlaceOf, copyPast } from './past/past.ts'
import { withSnapshots } from './past/snapshot.ts'
import type { Blob } from './record.ts'

export type ImportedBlob = {
  readonly createdMs: number
  readonly modifiedMs: number
  readonly contentMd5?: string
  readonly tier?: StoredTier
  readonly isSealed?: true
  readonly copy?: CopyState
}

/** The current blob, as it was. */
export function* finishImport(
  tx: Tx,
  address: BlobAddress,
  imported: ImportedBlob,
  nowMs: number,
): Step<void> {
  const { key, stored } = requireBlob(yield* findBlob(tx, address, nowMs))
  tx.put(key, encodeRecord(asImported(stored.blob, imported), stored.bytes))
}

/** Does nothing if the blob could not be imported. */
export function* leaseImported(
  tx: Tx,
  address: BlobAddress,
  lease: Lease,
  nowMs: number,
): Step<void> {
  const { key, stored } = yield* findBlob(tx, address, nowMs)
  if (stored === undefined) return
  tx.put(key, encodeRecord({ ...stored.blob, lease }, stored.bytes))
  indexLease(tx, key, lease)
}

/** Keeps the current blob as a snapshot with this id; a later write replaces the blob itself. */
export function* importSnapshot(
  tx: Tx,
  address: BlobAddress,
  imported: ImportedBlob,
  { stamp, newId }: { readonly stamp: number; readonly newId: number },
  nowMs: number,
): Step<void> {
  const target = requireBlob(yield* findBlob(tx, address, nowMs))
  const { blob, bytes } = target.stored
  const past = { blob: { ...asImported(blob, imported), stamp }, bytes }
  yield* copyPast(tx, blobPlaceOf(address, target), stamp, past, { kind: 'snapshot' }, newId)
  const base = withSnapshots(blob, (blob.snapshotCount ?? 0) + 1)
  tx.put(target.key, encodeRecord(base, bytes))
}

function asImported(blob: Blob, imported: ImportedBlob): Blob {
  const { createdMs, modifiedMs, contentMd5, tier, isSealed, copy } = imported
  const { contentMd5: _computed, ...headers } = blob.headers
  return {
    ...blob,
    createdMs,
    modifiedMs,
    headers: contentMd5 === undefined ? headers : { ...headers, contentMd5 },
    ...(tier && { tier }),
    ...(isSealed && { isSealed }),
    ...(copy && { copy }),
  }
}

export function* finishContainerImport(
  tx: Tx,
  address: ContainerAddress,
  { modifiedMs, lease }: { readonly modifiedMs: number; readonly lease?: Lease },
): Step<void> {
  const container = { ...(yield* requireContainer(tx, address)), modifiedMs }
  if (lease === undefined) saveContainer(tx, address, container)
  else saveContainerLease(tx, address, container, lease)
}
