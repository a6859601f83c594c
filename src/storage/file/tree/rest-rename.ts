// Rename File and Rename Directory: one transaction over source and target.
import type { Step } from '../../../kv/kv.ts'
import { StorageError } from '../../shared/error.ts'
import { locateIn, type Existing, type FileAddress, type FileNode, type Located } from './node.ts'
import type { FileTx } from '../open/open.ts'
import { checkNoOpensBelow, moveOpens, renameNode, type RenameChange } from './rename.ts'
import {
  checkDirectoryStays,
  checkForWrite,
  checkNoLease,
  requireNamed,
  type Named,
} from '../open/rest-guard.ts'
import { requireView } from '../share/share.ts'
import type { Moment } from '../../../node/moment.ts'

export type Rename = {
  readonly named: Named
  readonly source: readonly string[]
  readonly target: FileAddress
  readonly sourceLeaseId: string | undefined
  readonly targetLeaseId: string | undefined
  readonly replaces: boolean
  readonly ignoresReadOnly: boolean
  readonly change: Omit<RenameChange, 'headers'> & { readonly contentType: string | undefined }
}

export function* moveNode(tx: FileTx, rename: Rename, moment: Moment): Step<FileNode> {
  const { share, view } = yield* requireView(tx, rename.target)
  const source = requireNamed(yield* locateIn(tx, share, view, rename.source), rename.named)
  const target = yield* locateIn(tx, share, view, rename.target.path)
  const checked = yield* checkSource(tx, source, rename, moment.nowMs)
  yield* checkTarget(tx, checked, target, rename, moment.nowMs)
  const change = changeOf(rename, checked.node)
  const renamed = yield* renameNode(tx, checked, target, change, moment)
  yield* moveOpens(tx, target, renamed, rename.target.path)
  return renamed
}

function changeOf({ change }: Rename, node: FileNode): RenameChange {
  const { contentType, ...rest } = change
  return contentType === undefined ? rest : { ...rest, headers: { ...node.headers, contentType } }
}

/** A read-only source may be renamed: ReadOnly protects the content, not the name. */
function* checkSource(
  tx: FileTx,
  source: Existing,
  { named, sourceLeaseId }: Rename,
  nowMs: number,
): Step<Existing> {
  const guard = {
    operation: 'Rename',
    ignoresReadOnly: true,
    ...(sourceLeaseId !== undefined && { leaseId: sourceLeaseId }),
  } as const
  const checked = yield* checkForWrite(tx, source, guard, nowMs)
  if (named === 'directory') yield* checkNoOpensBelow(tx, source.view, source.node)
  return checked
}

/**
 * Only a file can be replaced, and only if the request says so: by a file or by a directory, as recorded answers of the
 * service show. A rename that changes only the case of the name is no conflict.
 */
function* checkTarget(
  tx: FileTx,
  source: Existing,
  target: Located,
  { named, replaces, ignoresReadOnly, targetLeaseId }: Rename,
  nowMs: number,
): Step<void> {
  const { node } = target
  if (target.name === '') throw new StorageError('ResourceAlreadyExists')
  yield* checkDirectoryStays(tx, target)
  if (node === undefined) return checkNoLease(targetLeaseId, nowMs)
  if (node.nodeId === source.node.nodeId) return
  if (!replaces) throw new StorageError('ResourceAlreadyExists')
  if (node.kind === 'directory') {
    throw new StorageError(named === 'file' ? 'ResourceTypeMismatch' : 'ResourceAlreadyExists')
  }
  const guard = {
    operation: 'Rename Target',
    ignoresReadOnly,
    ...(targetLeaseId !== undefined && { leaseId: targetLeaseId }),
  } as const
  yield* checkForWrite(tx, { ...target, node }, guard, nowMs)
}
