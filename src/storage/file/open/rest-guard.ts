// What every REST operation that changes a file or directory checks before it does, in the service's order: that
// it is there, that no SMB client is in its way, its lease, a copy to it that is under way, its ReadOnly attribute.
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
  /** A read-only file may be changed all the same. */
  readonly ignoresReadOnly?: boolean
  readonly range?: ByteRange
}

export type Named = 'directory' | 'file'

/** A symbolic link goes by the operations of files. */
export function requireNamed(located: Located, named: Named): Existing {
  const existing = requireNode(located)
  const isDirectory = existing.node.kind === 'directory'
  if (isDirectory !== (named === 'directory')) throw new StorageError('ResourceTypeMismatch')
  return existing
}

/** Clients ask for properties to see whether a directory, or a file, is there: the other kind is none (`az storage file`). */
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
  /** A SAS that may create and not write makes new files only. */
  readonly mayReplace: boolean
}

/** Create File and Copy File: what is there is replaced, if it is a file and nobody is in the way. */
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

/** Answers with the node as the change finds it: without a lease that is over. */
export function* checkForWrite(
  tx: ReadTx | FileTx,
  existing: Existing,
  { operation, leaseId, ignoresReadOnly = false, range }: FileGuard,
  nowMs: number,
): Step<Existing> {
  const { node, share } = existing
  yield* checkOpens(tx, share.id, node, operation, range)
  const lease = checkLeaseForWrite(node.lease, leaseId, nowMs, 'file')
  checkNoPendingCopy(node)
  if (!ignoresReadOnly) checkWritable(node)
  return lease === node.lease ? existing : { ...existing, node: withLease(node, lease) }
}

export function isReadOnly({ attributes }: Pick<FileNode, 'attributes'>): boolean {
  return (attributes & READ_ONLY) !== 0
}

export function checkWritable(node: Pick<FileNode, 'attributes'>): void {
  if (isReadOnly(node)) throw new StorageError('ReadOnlyAttribute')
}

export function checkNoPendingCopy({ copy }: Pick<FileNode, 'copy'>): void {
  if (copy?.status === 'pending') throw new StorageError('PendingCopyOperation')
}

/** For what is made where nothing may be yet: what is on its way out is still there. */
export function* checkFree(tx: ReadTx, located: Located): Step<void> {
  const { share, name, node } = located
  if (node === undefined && name !== '') return yield* checkDirectoryStays(tx, located)
  if (node !== undefined && (yield* isDeletePending(tx, share.id, node.nodeId))) {
    throw new StorageError('SMBDeletePending')
  }
  throw new StorageError('ResourceAlreadyExists')
}

/** Who names a lease of a file that is not there is told that it has none. */
export function checkNoLease(leaseId: string | undefined, nowMs: number): void {
  checkLeaseForWrite(undefined, leaseId, nowMs, 'file')
}

/** Nothing new comes into a directory that goes with its last handle. */
export function* checkDirectoryStays(
  tx: ReadTx,
  { share, directoryId }: Pick<Located, 'share' | 'directoryId'>,
): Step<void> {
  if (yield* isDeletePending(tx, share.id, directoryId)) throw new StorageError('SMBDeletePending')
}
