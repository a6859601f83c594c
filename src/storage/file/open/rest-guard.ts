// The checks of every REST operation that changes a file or directory, in the service's order: existence, conflicting
// SMB opens, lease, pending copy, ReadOnly attribute.
import type { ByteRange } from '../../../extent/content/interval-map.ts'
import type { ReadTx, Step } from '../../../kv/kv.ts'
import { StorageError } from '../../shared/error.ts'
import { checkLeaseForRead, checkLeaseForWrite, withLease } from '../../shared/lease.ts'
import { READ_ONLY } from '../tree/attributes.ts'
import {
  locate,
  requireNode,
  type Existing,
  type FileAddress,
  type FileNode,
  type Located,
} from '../tree/node.ts'
import { isDeletePending, type FileTx } from './open.ts'
import { checkOpens, type RestOperation } from './rest-access.ts'

export type FileGuard = {
  readonly operation: RestOperation
  readonly leaseId?: string
  /** Skips the check of the ReadOnly attribute. */
  readonly ignoresReadOnly?: boolean
  readonly range?: ByteRange
}

export type Named = 'directory' | 'file'

/** The operations of files apply to symbolic links, too. */
export function requireNamed(located: Located, named: Named): Existing {
  const existing = requireNode(located)
  const isDirectory = existing.node.kind === 'directory'
  if (isDirectory !== (named === 'directory')) throw new StorageError('ResourceTypeMismatch')
  return existing
}

/** Get Properties of the wrong kind is 404: clients use it to test whether a directory or file exists (`az storage file`). */
function findNamed(located: Located, named: Named): Existing {
  const existing = requireNode(located)
  if ((existing.node.kind === 'directory') === (named === 'directory')) return existing
  throw new StorageError('ResourceNotFound')
}

export function* requireForRead(
  tx: ReadTx,
  address: FileAddress,
  named: Named,
  { operation, leaseId }: FileGuard,
  nowMs: number,
): Step<Existing> {
  const located = yield* locate(tx, address)
  const existing =
    operation === 'Get Properties' ? findNamed(located, named) : requireNamed(located, named)
  if (address.snapshot !== undefined) return existing
  yield* checkOpens(tx, existing.share.id, existing.node, operation)
  checkLeaseForRead(existing.node.lease, leaseId, nowMs, 'file')
  return existing
}

export function* requireForWrite(
  tx: FileTx,
  address: FileAddress,
  named: Named,
  guard: FileGuard,
  nowMs: number,
): Step<Existing> {
  return yield* checkForWrite(tx, requireNamed(yield* locate(tx, address), named), guard, nowMs)
}

export type ReplaceGuard = FileGuard & {
  /** False for a SAS that may create but not write: it can only create new files. */
  readonly mayReplace: boolean
}

/** Create File and Copy File: an existing file is replaced if no check fails. */
export function* locateForReplace(
  tx: ReadTx | FileTx,
  address: FileAddress,
  guard: ReplaceGuard,
  nowMs: number,
): Step<Located> {
  const located = yield* locate(tx, address)
  if (located.name === '') throw new StorageError('ResourceTypeMismatch')
  if (located.node === undefined) {
    yield* checkDirectoryStays(tx, located)
    checkNoLease(guard.leaseId, nowMs)
    return located
  }
  if (!guard.mayReplace) throw new StorageError('AuthorizationPermissionMismatch')
  return yield* checkForWrite(tx, requireNamed(located, 'file'), guard, nowMs)
}

/** Returns the node to change, without a lease that has ended. */
export function* checkForWrite(
  tx: ReadTx | FileTx,
  existing: Existing,
  { operation, leaseId, ignoresReadOnly = false, range }: FileGuard,
  nowMs: number,
): Step<Existing> {
  const { node, share } = existing
  yield* checkOpens(tx, share.id, node, operation, range)
  const lease = checkLeaseForWrite(node.lease, leaseId, nowMs, 'file')
  checkNoPendingFileCopy(node)
  if (!ignoresReadOnly && isReadOnly(node)) throw new StorageError('ReadOnlyAttribute')
  return lease === node.lease ? existing : { ...existing, node: withLease(node, lease) }
}

export function isReadOnly({ attributes }: Pick<FileNode, 'attributes'>): boolean {
  return (attributes & READ_ONLY) !== 0
}

export function checkNoPendingFileCopy({ copy }: Pick<FileNode, 'copy'>): void {
  if (copy?.status === 'pending') throw new StorageError('PendingCopyOperation')
}

/** The name must be free; a node marked for deletion still occupies it. */
export function* checkFree(tx: ReadTx, located: Located): Step<void> {
  const { share, name, node } = located
  if (node === undefined && name !== '') return yield* checkDirectoryStays(tx, located)
  if (node !== undefined && (yield* isDeletePending(tx, share.id, node.nodeId))) {
    throw new StorageError('SMBDeletePending')
  }
  throw new StorageError('ResourceAlreadyExists')
}

/** A lease id for a file that does not exist is an error. */
export function checkNoLease(leaseId: string | undefined, nowMs: number): void {
  checkLeaseForWrite(undefined, leaseId, nowMs, 'file')
}

/** Nothing can be added to a directory that is marked for deletion. */
export function* checkDirectoryStays(
  tx: ReadTx,
  { share, directoryId }: Pick<Located, 'share' | 'directoryId'>,
): Step<void> {
  if (yield* isDeletePending(tx, share.id, directoryId)) throw new StorageError('SMBDeletePending')
}
