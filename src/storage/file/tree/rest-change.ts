// The REST operations that change one directory or file: each is one transaction, with the checks of the service.
import {
  createSymbolicLink,
  createDirectory,
  type NewNode,
  createFile,
  type NewFile,
} from './create.ts'
import { checkNfs, createHardLink } from './link.ts'
import { locateIn, locate, ROOT_ID, type FileAddress, type FileNode } from './node.ts'
import {
  checkForWrite,
  requireNamed,
  type Named,
  checkFree,
  locateForReplace,
  requireForWrite,
  type FileGuard,
  type ReplaceGuard,
} from '../open/rest-guard.ts'
import { setNodeMetadata, setNodeProperties, type NodeChange } from './file-properties.ts'
import type { Metadata } from '../../shared/metadata.ts'
import { StorageError } from '../../shared/error.ts'
import { deleteDirectory, removeNode } from './remove.ts'
import type { Step } from '../../../kv/kv.ts'
import type { FileTx } from '../open/open.ts'
import type { Moment } from '../../../node/moment.ts'

export type Creation = {
  readonly address: FileAddress
  readonly guard: ReplaceGuard
  readonly file: NewFile
}

export function* storeFile(
  tx: FileTx,
  { address, guard, file }: Creation,
  moment: Moment,
): Step<FileNode> {
  const located = yield* locateForReplace(tx, address, guard, moment.nowMs)
  return yield* createFile(tx, located, file, moment)
}

export function* removeFile(
  tx: FileTx,
  address: FileAddress,
  guard: FileGuard,
  moment: Moment,
): Step<{ readonly isLinked: boolean; readonly linkCount: number }> {
  const existing = yield* requireForWrite(tx, address, 'file', guard, moment.nowMs)
  const isLinked = existing.share.enabledProtocol === 'NFS'
  return { isLinked, linkCount: yield* removeNode(tx, existing, moment) }
}

export function* addDirectory(
  tx: FileTx,
  address: FileAddress,
  directory: NewNode,
  moment: Moment,
): Step<FileNode> {
  const located = yield* locate(tx, address)
  yield* checkFree(tx, located)
  return yield* createDirectory(tx, located, directory, moment)
}

export function* removeDirectory(
  tx: FileTx,
  address: FileAddress,
  guard: FileGuard,
  moment: Moment,
): Step<void> {
  const existing = yield* requireForWrite(tx, address, 'directory', guard, moment.nowMs)
  if (existing.node.nodeId === ROOT_ID) throw new StorageError('CannotDeleteFileOrDirectory')
  yield* deleteDirectory(tx, existing, moment)
}

type Target = { readonly address: FileAddress; readonly named: Named }

export function* changeMetadata(
  tx: FileTx,
  { address, named }: Target,
  guard: FileGuard,
  metadata: Metadata,
  moment: Moment,
): Step<FileNode> {
  const existing = yield* requireForWrite(tx, address, named, guard, moment.nowMs)
  return setNodeMetadata(tx, existing, metadata, moment)
}

export function* changeProperties(
  tx: FileTx,
  { address, named }: Target,
  guard: FileGuard,
  change: NodeChange,
  moment: Moment,
): Step<FileNode> {
  const existing = yield* requireForWrite(tx, address, named, guard, moment.nowMs)
  return yield* setNodeProperties(tx, existing, change, moment)
}

export function* addHardLink(
  tx: FileTx,
  address: FileAddress,
  path: readonly string[],
  guard: FileGuard,
  moment: Moment,
): Step<FileNode> {
  const at = yield* locate(tx, address)
  checkNfs(at.share)
  yield* checkFree(tx, at)
  const target = requireNamed(yield* locateIn(tx, at.share, at.view, path), 'file')
  const file = yield* checkForWrite(tx, target, guard, moment.nowMs)
  return yield* createHardLink(tx, at, file, moment)
}

export function* addSymbolicLink(
  tx: FileTx,
  address: FileAddress,
  link: NewNode & { readonly linkText: string },
  moment: Moment,
): Step<FileNode> {
  const at = yield* locate(tx, address)
  checkNfs(at.share)
  yield* checkFree(tx, at)
  return yield* createSymbolicLink(tx, at, link, moment)
}
