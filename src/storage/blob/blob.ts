// A blob: one record, with its bytes as content.ts keeps them. How a request finds it (the current one, a
// snapshot, a version), and what it is after a write. What guards it is guard.ts.
import type { Key, ReadTx, Step } from '../../kv/kv.ts'
import { decodeRecord, recordBytes, type StoredRecord } from '../../kv/record.ts'
import { checkReadConditions, checkSatisfiable } from '../shared/condition.ts'
import { StorageError } from '../shared/error.ts'
import { checkLeaseForRead, withLease, type Lease } from '../shared/lease.ts'
import type { Moment } from '../../node/moment.ts'
import { requireContainer, type Container, type ContainerAddress } from './container/container.ts'
import { checkEncryption, encryptionForWrite } from './encryption.ts'
import { checkNotIncremental, checkWrite, conditionState, type BlobGuard } from './guard.ts'
import { blobKey, pastBlobKey } from './keys.ts'
import type { Blob, PastBlob, StoredBlob } from './record.ts'
import { checkOnline } from './tier.ts'

/** A snapshot or a version, by the stamp that its id is made from. */
export type BlobAt = { readonly snapshot: number } | { readonly version: number }

export type BlobAddress = ContainerAddress & { readonly blob: string; readonly at?: BlobAt }

/** The place of a blob, and what is there. */
export type Target = {
  readonly container: Container
  readonly key: Key
  /** What a client can see. */
  readonly stored: StoredBlob | undefined
  /** A snapshot or version that is soft-deleted: not there, but a client is told. */
  readonly isSoftDeleted?: boolean
  /** A blob past its expiry that no sweep has met yet: to be dropped by whoever writes here. */
  readonly expired?: Blob
}

export type ExistingTarget = Target & { readonly stored: StoredBlob }

/** The current blob. */
export function* findBlob(tx: ReadTx, address: BlobAddress, nowMs: number): Step<Target> {
  const container = yield* requireContainer(tx, address)
  const key = blobKey(container.id, address.blob)
  const stored = yield* getStored<Blob>(tx, key)
  if (stored === undefined) return { container, key, stored }
  if (isExpired(stored.blob, nowMs)) {
    return { container, key, stored: undefined, expired: stored.blob }
  }
  return { container, key, stored }
}

/** What the address names: the current blob, a snapshot or a version. Deleted ones are not there. */
export function* findBlobAt(tx: ReadTx, address: BlobAddress, nowMs: number): Step<Target> {
  const { at } = address
  if (at === undefined) return yield* findBlob(tx, address, nowMs)
  if ('version' in at) {
    const current = yield* findBlob(tx, address, nowMs)
    if (current.stored?.blob.version === at.version) return current
  }
  const container = yield* requireContainer(tx, address)
  const key = pastBlobKey(container.id, address.blob, stampOf(at))
  const stored = yield* getStored<PastBlob>(tx, key)
  const isIt =
    stored !== undefined && stored.blob.deleted === undefined && stored.blob.kind === kindOf(at)
  if (isIt) return { container, key, stored }
  const past = stored?.blob
  const isSoftDeleted = past?.kind === kindOf(at) && (past.deleted?.untilMs ?? 0) > nowMs
  return { container, key, stored: undefined, isSoftDeleted }
}

export function stampOf(at: BlobAt): number {
  return 'version' in at ? at.version : at.snapshot
}

export function kindOf(at: BlobAt): 'version' | 'snapshot' {
  return 'version' in at ? 'version' : 'snapshot'
}

/** A snapshot, a version or a deleted blob, and not the current one. */
export function isPast(blob: Blob): blob is PastBlob {
  return 'kind' in blob
}

/** Get Blob Properties, Get Blob Metadata and whatever else reads without the bytes. */
export function* readBlob(
  tx: ReadTx,
  address: BlobAddress,
  guard: BlobGuard,
  nowMs: number,
): Step<ExistingTarget> {
  checkSatisfiable(guard.conditions)
  const target = requireBlob(yield* findBlobAt(tx, address, nowMs))
  const { blob } = target.stored
  checkReadConditions(guard.conditions, conditionState(blob), guard.readRule)
  checkLeaseForRead(blob.lease, guard.leaseId, nowMs, 'blob')
  return target
}

/** Get Blob, Query Blob Contents: the bytes must be at hand, and the key the right one. */
export function* readBlobBytes(
  tx: ReadTx,
  address: BlobAddress,
  guard: BlobGuard,
  nowMs: number,
): Step<ExistingTarget> {
  const target = yield* readBlob(tx, address, guard, nowMs)
  const { blob } = target.stored
  checkOnline(blob, nowMs)
  if (!isPast(blob)) checkNotIncremental(blob)
  checkEncryption(blob.encryption, guard.encryption ?? {}, 'read')
  return target
}

/** The current blob for a change of it; `lease` is what stays of its lease. */
export function* findForUpdate(
  tx: ReadTx,
  address: BlobAddress,
  guard: BlobGuard,
  nowMs: number,
): Step<ExistingTarget & { readonly lease: Lease | undefined }> {
  const found = yield* findBlob(tx, address, nowMs)
  // A key that the container forbids is refused before a missing blob (seen in recorded traffic).
  if (found.stored === undefined) encryptionForWrite(guard.encryption ?? {}, found.container)
  const target = requireBlob(found)
  const lease = checkWrite(target.stored.blob, guard, nowMs, 'update')
  return { ...target, lease }
}

export function requireBlob(target: Target): ExistingTarget {
  const { stored, isSoftDeleted = false } = target
  if (stored !== undefined) return { ...target, stored }
  throw new StorageError('BlobNotFound', isSoftDeleted ? { 'x-ms-is-soft-deleted': 'true' } : {})
}

/** From when on a blob that was given an expiry is gone: not while a policy or a hold keeps it. */
export function expiresAtMs({ expiresMs, immutability, legalHold }: Blob): number | undefined {
  if (expiresMs === undefined || legalHold === true) return undefined
  return Math.max(expiresMs, immutability?.untilMs ?? 0)
}

/** Nobody sees an expired blob, whether or not a sweep has met it. */
export function isExpired(blob: Blob, nowMs: number): boolean {
  const atMs = expiresAtMs(blob)
  return atMs !== undefined && atMs <= nowMs
}

/** The record after a write: a lease that ended is forgotten, a finished copy is history. */
export function afterWrite(
  blob: Blob,
  lease: Lease | undefined,
  moment: Moment,
  stamp: number,
  keeps: { readonly copy: boolean } = { copy: false },
): Blob {
  const { copy, ...rest } = withLease(blob, lease)
  return {
    ...rest,
    ...(keeps.copy && copy !== undefined ? { copy } : {}),
    stamp,
    modifiedMs: laterMs(blob, moment),
    ...(blob.accessedMs === undefined ? {} : { accessedMs: moment.nowMs }),
  }
}

/** Last-Modified never goes back, whichever of two writers took its moment first. */
export function laterMs(current: Blob | undefined, moment: Moment): number {
  return current === undefined ? moment.nowMs : Math.max(current.modifiedMs, moment.nowMs)
}

export function decodeBlob(value: StoredRecord): Blob {
  return decodeRecord<Blob>(value)
}

export function decodePast(value: StoredRecord): PastBlob {
  return decodeRecord<PastBlob>(value)
}

function* getStored<T extends Blob>(tx: ReadTx, key: Key): Step<StoredBlob<T> | undefined> {
  const record = yield* tx.get(key)
  return record === undefined ? undefined : decodeStored<T>(record)
}

export function decodeStored<T extends Blob>(value: StoredRecord): StoredBlob<T> {
  return { blob: decodeRecord<T>(value), bytes: recordBytes(value) }
}
