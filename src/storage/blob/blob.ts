// How a request finds a blob (the current one, a snapshot or a version), and what a write leaves in its record.
// Conditions, leases and the like are in guard.ts, the bytes in content.ts.
import { derived } from '../../kv/derived.ts'
import type { Key, ReadTx, Step } from '../../kv/kv.ts'
import { decodeRecord, recordBytes, type StoredRecord } from '../../kv/record.ts'
import { checkReadConditions, checkSatisfiable } from '../shared/condition.ts'
import { StorageError } from '../shared/error.ts'
import { checkLeaseForRead, withLease, type Lease } from '../shared/lease.ts'
import { laterMs } from '../shared/modified.ts'
import type { Moment } from '../../node/moment.ts'
import { requireContainer, type Container, type ContainerAddress } from './container/container.ts'
import { checkPathAccess, type PathCheck } from './path/access.ts'
import { rootDirectory } from './path/link.ts'
import { locatePath, treeOf, type Located, type Tree } from './path/locate.ts'
import { uncommittedName } from './path/path-state.ts'
import { checkEncryption, encryptionForWrite } from './encryption.ts'
import { checkNotIncremental, checkBlobWrite, type BlobGuard } from './guard.ts'
import { blobKey, pastBlobKey } from './keys.ts'
import type { Blob, PastBlob, StoredBlob } from './record.ts'
import { checkOnline } from './tier.ts'

/** A snapshot or a version, by the stamp behind its id. */
export type BlobAt = { readonly snapshot: number } | { readonly version: number }

export type BlobAddress = ContainerAddress & {
  readonly blob: string
  readonly at?: BlobAt
  /** Only in a hierarchical container: who is asking, and what for. Without it, everything is allowed. */
  readonly access?: PathCheck
}

/** The key of a blob, and what is stored under it. */
export type Target = {
  readonly container: Container
  /** Its records are stored under this number and this name: in a flat container the container's id and the blob's name. */
  readonly containerId: number
  readonly name: string
  readonly key: Key
  /** Only in a hierarchical container. */
  readonly located?: Located
  /** Undefined if clients see no blob here. */
  readonly stored: StoredBlob | undefined
  /** The address names a soft-deleted snapshot or version; the error says so. */
  readonly isSoftDeleted?: boolean
  /** An expired blob that the sweep has not removed yet. The next write removes it. */
  readonly expired?: Blob
}

export type ExistingTarget = Target & { readonly stored: StoredBlob }

/** The current blob. */
export function* findBlob(tx: ReadTx, address: BlobAddress, nowMs: number): Step<Target> {
  const container = yield* requireContainer(tx, address)
  const tree = treeOf(container)
  if (tree !== undefined) return yield* findPath(tx, container, tree, address, nowMs)
  const { id: containerId } = container
  const name = address.blob
  const key = blobKey(containerId, name)
  const record = yield* tx.get(key)
  if (record === undefined) return { container, containerId, name, key, stored: undefined }
  const stored = decodeStored<Blob>(record)
  if (isBlobExpired(stored.blob, nowMs)) {
    return { container, containerId, name, key, stored: undefined, expired: stored.blob }
  }
  return { container, containerId, name, key, stored }
}

type PathPlace = Omit<Target, 'key' | 'stored'> & { readonly located: Located }

function* findPathPlace(
  tx: ReadTx,
  container: Container,
  tree: Tree,
  address: BlobAddress,
): Step<PathPlace> {
  const located = yield* locatePath(tx, tree, address.blob)
  if (address.access !== undefined) yield* checkPathAccess(tx, located, address.access)
  const name = located.entry?.id ?? uncommittedName(tree.rootId, located.names)
  return { container, containerId: tree.spaceId, name, located }
}

/** The same in a hierarchical container. */
function* findPath(
  tx: ReadTx,
  container: Container,
  tree: Tree,
  address: BlobAddress,
  nowMs: number,
): Step<Target> {
  const place = yield* findPathPlace(tx, container, tree, address)
  const key = blobKey(place.containerId, place.name)
  const { entry } = place.located
  if (entry === undefined) return { ...place, key, stored: undefined }
  const record = yield* tx.get(key)
  // A body that runs on guesses may know an entry and not its record.
  if (record === undefined && entry.id !== tree.rootId) return { ...place, key, stored: undefined }
  const stored = record === undefined ? rootDirectory(container) : decodeStored<Blob>(record)
  if (!isBlobExpired(stored.blob, nowMs)) return { ...place, key, stored }
  return { ...place, key, stored: undefined, expired: stored.blob }
}

/** The blob that the address names: the current one, a snapshot or a version. Soft-deleted ones are not found. */
export function* findBlobAt(tx: ReadTx, address: BlobAddress, nowMs: number): Step<Target> {
  const { at } = address
  if (at === undefined) return yield* findBlob(tx, address, nowMs)
  if ('version' in at) {
    const current = yield* findBlob(tx, address, nowMs)
    if (current.stored?.blob.version === at.version) return current
  }
  const place = yield* findPlace(tx, address)
  const key = pastBlobKey(place.containerId, place.name, stampOf(at))
  const record = yield* tx.get(key)
  const stored = record === undefined ? undefined : decodeStored<PastBlob>(record)
  const isIt =
    stored !== undefined && stored.blob.deleted === undefined && stored.blob.kind === kindOf(at)
  if (isIt) return { ...place, key, stored }
  const past = stored?.blob
  const isSoftDeleted = past?.kind === kindOf(at) && (past.deleted?.untilMs ?? 0) > nowMs
  return { ...place, key, stored: undefined, isSoftDeleted }
}

/** Where the past states of a blob are. */
function* findPlace(tx: ReadTx, address: BlobAddress): Step<Omit<Target, 'key' | 'stored'>> {
  const container = yield* requireContainer(tx, address)
  const tree = treeOf(container)
  if (tree !== undefined) return yield* findPathPlace(tx, container, tree, address)
  return { container, containerId: container.id, name: address.blob }
}

export function stampOf(at: BlobAt): number {
  return 'version' in at ? at.version : at.snapshot
}

export function kindOf(at: BlobAt): 'version' | 'snapshot' {
  return 'version' in at ? 'version' : 'snapshot'
}

/** A snapshot, a version or a soft-deleted blob, as opposed to the current one. */
export function isPast(blob: Blob): blob is PastBlob {
  return 'kind' in blob
}

/** For Get Blob Properties, Get Blob Metadata and other reads that need no bytes. */
export function* readBlob(
  tx: ReadTx,
  address: BlobAddress,
  guard: BlobGuard,
  nowMs: number,
): Step<ExistingTarget> {
  checkSatisfiable(guard.conditions)
  const target = requireBlob(yield* findBlobAt(tx, address, nowMs))
  const { blob } = target.stored
  checkReadConditions(guard.conditions, blob, guard.readRule)
  checkLeaseForRead(blob.lease, guard.leaseId, nowMs, 'blob')
  return target
}

/** For Get Blob and Query Blob Contents: the blob must be online, and the request must name the right key. */
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

/** The current blob, to be changed. `lease` is its lease after the write. */
export function* findForUpdate(
  tx: ReadTx,
  address: BlobAddress,
  guard: BlobGuard,
  nowMs: number,
): Step<ExistingTarget & { readonly lease: Lease | undefined }> {
  const found = yield* findBlob(tx, address, nowMs)
  // Azure rejects a key that the container forbids before it reports a missing blob (seen in recorded traffic).
  if (found.stored === undefined) encryptionForWrite(guard.encryption ?? {}, found.container)
  const target = requireBlob(found)
  const lease = checkBlobWrite(target.stored.blob, guard, nowMs, 'update')
  return { ...target, lease }
}

export function requireBlob(target: Target): ExistingTarget {
  const { stored, isSoftDeleted = false } = target
  if (stored !== undefined) return { ...target, stored }
  throw new StorageError('BlobNotFound', isSoftDeleted ? { 'x-ms-is-soft-deleted': 'true' } : {})
}

/** When the blob expires. A legal hold or an immutability policy postpones it. */
export function expiresAtMs({ expiresMs, immutability, legalHold }: Blob): number | undefined {
  if (expiresMs === undefined || legalHold === true) return undefined
  return Math.max(expiresMs, immutability?.untilMs ?? 0)
}

/** Clients don't see an expired blob, even if the sweep has not removed it yet. */
export function isBlobExpired(blob: Blob, nowMs: number): boolean {
  const atMs = expiresAtMs(blob)
  return atMs !== undefined && atMs <= nowMs
}

/** The record after a write. Drops a lease that has ended and, unless `keeps.copy`, the state of the last copy. */
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

export function decodeBlob(value: StoredRecord): Blob {
  return decodeRecord<Blob>(value)
}

export function decodePast(value: StoredRecord): PastBlob {
  return decodeRecord<PastBlob>(value)
}

export function decodeStored<T extends Blob>(value: StoredRecord): StoredBlob<T> {
  return derived(value, 'blob', () => ({ blob: decodeRecord<T>(value), bytes: recordBytes(value) }))
}
