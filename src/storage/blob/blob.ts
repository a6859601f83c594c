// A blob: one record, with its bytes as content.ts keeps them. How a request finds it (the current one, a
// snapshot, a version), and what it is after a write. What guards it is guard.ts.
import type { Key, ReadTx, Step, Value } from '../../kv/kv.ts'
import { decodeRecord, recordBytes } from '../../kv/record.ts'
import { checkReadConditions, checkSatisfiable } from '../condition.ts'
import type { ContentHeaders } from '../content-headers.ts'
import type { CopyState } from '../copy-state.ts'
import { StorageError } from '../error.ts'
import { checkLeaseForRead, withLease, type Lease } from '../lease.ts'
import type { Metadata } from '../metadata.ts'
import type { Moment } from '../moment.ts'
import type { Deleted } from '../retention.ts'
import type { ClearedRange } from './cleared.ts'
import { requireContainer, type Container, type ContainerAddress } from './container.ts'
import type { BlobContent } from './content.ts'
import { checkEncryption, encryptionForWrite, type BlobEncryption } from './encryption.ts'
import { checkNotIncremental, checkWrite, conditionState, type BlobGuard } from './guard.ts'
import { blobKey, pastBlobKey } from './keys.ts'
import type { Tags } from './tags.ts'
import { checkOnline, type StoredTier } from './tier.ts'

/** A snapshot or a version, by the stamp that its id is made from. */
export type BlobAt = { readonly snapshot: number } | { readonly version: number }

export type BlobAddress = ContainerAddress & { readonly blob: string; readonly at?: BlobAt }

export type BlobType = 'BlockBlob' | 'PageBlob' | 'AppendBlob'

export type ImmutabilityPolicy = {
  readonly untilMs: number
  readonly mode: 'Unlocked' | 'Locked'
}

export type Blob = BlobContent & {
  readonly type: BlobType
  /** Gives the ETag; greater after every write. */
  readonly stamp: number
  readonly createdMs: number
  readonly modifiedMs: number
  readonly headers: ContentHeaders
  readonly metadata: Metadata
  readonly tags?: Tags
  readonly lease?: Lease
  /** Append blobs: how many blocks were appended. */
  readonly blockCount?: number
  readonly isSealed?: true
  /** Page blobs: up to 2^63-1, so in decimal. */
  readonly sequenceNumber?: string
  /** Page blobs: the write that last replaced all of it; a diff reaches back to it and no further. */
  readonly origin?: number
  /** Page blobs with snapshots: what was written and cleared again, for diffs (cleared.ts). */
  readonly cleared?: readonly ClearedRange[]
  /** Set by somebody; without it the tier is the account's default. */
  readonly tier?: StoredTier
  readonly copy?: CopyState
  readonly encryption?: BlobEncryption
  readonly immutability?: ImmutabilityPolicy
  readonly legalHold?: true
  readonly expiresMs?: number
  /** With last access time tracking on: when it was last read or written, to the day. */
  readonly accessedMs?: number
  /** The id of this version, if versioning was on when it was written. */
  readonly version?: number
  /** How many snapshots there are that are not deleted. */
  readonly snapshotCount?: number
}

/** A snapshot, a version, or a blob that was soft-deleted (`root`); see past.ts. */
export type PastBlob = Blob & {
  readonly kind: 'snapshot' | 'version' | 'root'
  readonly deleted?: Deleted
}

export type StoredBlob<T extends Blob = Blob> = { readonly blob: T; readonly bytes: Uint8Array }

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
  const stored = yield* tx.getWith(key, decodeStored<Blob>)
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
  const stored = yield* tx.getWith(key, decodeStored<PastBlob>)
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

export function decodeBlob(value: Value): Blob {
  return decodeRecord<Blob>(value)
}

export function decodePast(value: Value): PastBlob {
  return decodeRecord<PastBlob>(value)
}

export function decodeStored<T extends Blob>(value: Value): StoredBlob<T> {
  return { blob: decodeRecord<T>(value), bytes: recordBytes(value) }
}
