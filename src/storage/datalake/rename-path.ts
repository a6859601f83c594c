// Rename Path: moves one entry, whatever is below it, within a filesystem or to another one of the account. ETag,
// Last-Modified, lease, metadata and content stay, since they belong to the path's id.
import type { ReadTx, Step, Tx } from '../../kv/kv.ts'
import { encodeRecord } from '../../kv/record.ts'
import type { Moment } from '../../node/moment.ts'
import { findBlob, type Target } from '../blob/blob.ts'
import { discardStaging, getStaging } from '../blob/content/staging.ts'
import { checkBlobWrite, checkMutable, type BlobGuard } from '../blob/guard.ts'
import { blobKey } from '../blob/keys.ts'
import { deletePathEntry, putPathEntry } from '../blob/path/link.ts'
import type { Located } from '../blob/path/locate.ts'
import { checkDepth } from '../blob/path/path-name.ts'
import type { PathState } from '../blob/path/path-state.ts'
import { childrenOf, unlinkPath } from '../blob/path/unlink.ts'
import type { Blob, StoredBlob } from '../blob/record.ts'
import {
  checkSourceConditions,
  checkWriteConditions,
  NO_CONDITIONS,
  type Conditions,
} from '../shared/condition.ts'
import type { ContentHeaders } from '../shared/content-headers.ts'
import { StorageError } from '../shared/error.ts'
import { checkLeaseForWrite, type Lease } from '../shared/lease.ts'
import { indexLease } from '../shared/leased.ts'
import { blobOfPath, type PathAddress } from './path-address.ts'

/**
 * Where a directory goes that is renamed to one that exists: in posix mode into it, under its own name, and in
 * legacy mode in its place, if it is empty.
 */
export type RenameMode = 'legacy' | 'posix'

export type RenamePath = {
  readonly mode: RenameMode
  readonly source: {
    readonly address: PathAddress
    readonly conditions: Conditions
    readonly leaseId?: string
  }
  /** For the destination. */
  readonly guard: BlobGuard
  /** The caller may create paths but not replace them. */
  readonly createOnly: boolean
  /** Those that the request names; the others stay. A directory keeps all of its own. */
  readonly headers: ContentHeaders
}

type Place = Target & { readonly located: Located }
type ExistingPlace = Place & { readonly stored: StoredBlob; readonly path: PathState }

/** Both containers are hierarchical. */
export function* renamePath(
  tx: Tx,
  address: PathAddress,
  rename: RenamePath,
  moment: Moment,
): Step<Blob> {
  const { nowMs } = moment
  const source = yield* findSource(tx, rename, nowMs)
  const { destination, guard } = yield* findDestination(tx, address, source, rename, nowMs)
  checkPlaces(source, destination)
  checkSource(source, rename, nowMs)
  const lease = yield* makeWay(tx, address, source, destination, { ...rename, guard }, moment)
  const { located, containerId } = destination
  const { blob, bytes } = source.stored
  const path: PathState = {
    ...source.path,
    parentId: located.directoryIds.at(-1) ?? located.rootId,
    name: located.names.at(-1) ?? '',
  }
  deletePathEntry(tx, containerId, source.path)
  putPathEntry(tx, containerId, path)
  const headers = path.isDirectory === true ? {} : rename.headers
  const renamed: Blob = {
    ...blob,
    path,
    headers: { ...blob.headers, ...headers },
    ...(lease && { lease }),
  }
  const key = blobKey(containerId, path.id)
  tx.put(key, encodeRecord(renamed, bytes))
  if (lease !== undefined) indexLease(tx, key, lease)
  return renamed
}

type Destination = { readonly destination: Place; readonly guard: BlobGuard }

function* findDestination(
  tx: ReadTx,
  address: PathAddress,
  { path: { id, name, isDirectory } }: ExistingPlace,
  { mode, guard }: RenamePath,
  nowMs: number,
): Step<Destination> {
  const goesInside = mode === 'posix' && isDirectory === true
  const directory = goesInside ? yield* findDirectory(tx, address, nowMs) : undefined
  if (directory === undefined || directory.path?.id === id) {
    return { destination: yield* findPlace(tx, address, nowMs), guard }
  }
  // The request's conditions are on the path that it names.
  checkWriteConditions(guard.conditions, directory, 'create')
  const inside = { ...address, path: `${address.path}/${name}` }
  const destination = yield* findPlace(tx, inside, nowMs)
  return { destination, guard: { conditions: NO_CONDITIONS, readRule: guard.readRule } }
}

function* findDirectory(tx: ReadTx, address: PathAddress, nowMs: number): Step<Blob | undefined> {
  const { stored } = yield* findBlob(tx, blobOfPath(address, 'traverse'), nowMs)
  return stored?.blob.path?.isDirectory === true ? stored.blob : undefined
}

/** In its directory, a rename is a deletion. */
function* findPlace(tx: ReadTx, address: PathAddress, nowMs: number): Step<Place> {
  const found = yield* findBlob(tx, blobOfPath(address, 'delete'), nowMs)
  if (found.located === undefined) throw new StorageError('HierarchicalNamespaceNotEnabled')
  return { ...found, located: found.located }
}

function* findSource(tx: ReadTx, { source }: RenamePath, nowMs: number): Step<ExistingPlace> {
  const place = yield* findPlace(tx, source.address, nowMs)
  const path = place.stored?.blob.path
  if (place.stored === undefined || path === undefined) throw new StorageError('SourcePathNotFound')
  if (place.located.names.length === 0) throw new StorageError('InvalidRenameSourcePath')
  return { ...place, stored: place.stored, path }
}

function checkSource({ stored: { blob } }: ExistingPlace, { source }: RenamePath, nowMs: number) {
  checkSourceConditions(source.conditions, blob)
  checkLeaseForWrite(blob.lease, source.leaseId, nowMs, 'blob')
  checkMutable(blob, nowMs)
}

/** A directory can't become part of itself, and all parents of the destination must be directories that exist. */
function checkPlaces({ path, containerId }: ExistingPlace, destination: Place): void {
  const { names, directoryIds, missingCount, isBelowFile, entry } = destination.located
  if (names.length === 0) throw new StorageError('InvalidDestinationPath')
  const isInside = directoryIds.includes(path.id) || entry?.id === path.id
  if (destination.containerId === containerId && isInside) {
    throw new StorageError('InvalidRenameSourcePath')
  }
  if (isBelowFile) throw new StorageError('InvalidDestinationPath')
  if (missingCount > 0) throw new StorageError('RenameDestinationParentPathNotFound')
  checkDepth(names)
}

/**
 * Checks and removes what is at the destination: a file under a file, an empty directory under a directory. Returns its
 * lease, which whoever holds it keeps.
 */
function* makeWay(
  tx: Tx,
  { account }: PathAddress,
  { path: { isDirectory } }: ExistingPlace,
  destination: Place,
  { guard, createOnly }: RenamePath,
  moment: Moment,
): Step<Lease | undefined> {
  const { stored, expired, located, container, containerId, name } = destination
  const current = stored?.blob
  const lease = checkBlobWrite(current, guard, moment.nowMs, 'create')
  const removal = { account, retentionDays: undefined }
  if (current === undefined) {
    // Blocks for a blob that has never been there would end up in the one that is there now.
    const staging = yield* getStaging(tx, containerId, name, moment.nowMs)
    if (staging !== undefined) yield* discardStaging(tx, containerId, name)
    if (expired === undefined) return undefined
    const gone = { container, located, stored: { blob: expired, bytes: NO_BYTES } }
    yield* unlinkPath(tx, gone, removal, moment)
    return undefined
  }
  if (createOnly) throw new StorageError('UnauthorizedBlobOverwrite')
  if (current.path?.isDirectory !== isDirectory) {
    throw new StorageError('InvalidSourceOrDestinationResourceType')
  }
  checkMutable(current, moment.nowMs)
  if (isDirectory === true) yield* requireNoChildren(tx, destination, current, moment.nowMs)
  const replaced = { container, located, stored: { blob: current, bytes: NO_BYTES } }
  yield* unlinkPath(tx, replaced, removal, moment)
  return lease
}

const NO_BYTES = new Uint8Array(0)

function* requireNoChildren(
  tx: ReadTx,
  { containerId }: Place,
  { path }: Blob,
  nowMs: number,
): Step<void> {
  const children = yield* childrenOf(tx, containerId, path?.id ?? '', nowMs)
  // The code that Arrow expects (azurefs.cc, MovePathWithDataLakeAPI).
  if (children === 'some') throw new StorageError('PathAlreadyExists')
}
