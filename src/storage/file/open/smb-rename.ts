// FileRenameInformation ([MS-FSA] 2.1.5.15.12): renames an open file or directory, optionally replacing a file. A
// directory can't be renamed while something below it is open.
import { requireOpened, type OpenedNode } from './opened-node.ts'
import { frozenTimes, type FrozenTimes } from '../tree/set-basic.ts'
import type { ReadTx, Step } from '../../../kv/kv.ts'
import { StorageError } from '../../shared/error.ts'
import type { Moment } from '../../../node/moment.ts'
import { READ_ONLY } from '../tree/attributes.ts'
import { isLeased } from '../tree/file-lease.ts'
import { checkMayAdd, checkMayDelete } from '../security/identity-access.ts'
import { getDirectoryEntry, locateIn, ROOT_ID, type Existing, type Located } from '../tree/node.ts'
import { WRITE_DATA } from './open-access.ts'
import {
  isDeletePending,
  opensOf,
  SHARE_DELETE,
  SHARE_READ,
  SHARE_WRITE,
  type FileOpen,
  type FileTx,
} from './open.ts'
import { orphanNode } from '../tree/orphan.ts'
import { isSameOrBelow, moveOpens, openNodesBelow, renameNode } from '../tree/rename.ts'
import { isSharingViolation } from './share-mode.ts'
import { breakForRename, type MustWait } from '../cache/smb-cache.ts'
import type { SmbIdentity } from '../security/smb-identity.ts'
import { SmbRefused } from './smb-refused.ts'
import type { ShareAddress } from '../share/share.ts'

type OpenedRename = {
  /** Relative to the share's root. */
  readonly path: readonly string[]
  readonly replaceIfExists: boolean
  /** FILE_RENAME_POSIX_SEMANTICS: the replaced file may be open, and stays for the clients that have it open. */
  readonly posixSemantics: boolean
  readonly frozen: FrozenTimes
  /** The user; left out, the account itself. The open's access rights decide whether the source may be deleted. */
  readonly identity?: SmbIdentity
}

/** Breaks cached handles first, as an open does. */
export function* renameOpened(
  tx: FileTx,
  address: Pick<ShareAddress, 'account' | 'share'>,
  handleOpen: FileOpen,
  { path, frozen, identity, ...how }: OpenedRename,
  moment: Moment,
): Step<MustWait | { readonly kind: 'renamed' }> {
  const opened = yield* requireOpened(tx, address, handleOpen)
  const { share, view, node, open } = opened
  if (yield* isDeletePending(tx, view.shareId, node.nodeId)) throw new SmbRefused('ACCESS_DENIED')
  const source = yield* withEntry(tx, opened)
  const target = yield* locateIn(tx, share, view, path)
  yield* checkDirectory(tx, target)
  yield* checkMayAdd(tx, target, node.kind, identity)
  const replaced = yield* replacedBy(tx, source, target, how.replaceIfExists, moment)
  if (replaced.length > 0 && target.node !== undefined) {
    yield* checkMayDelete(tx, { ...target, node: target.node }, identity)
  }
  const below = node.kind === 'directory' ? yield* nodesBelow(tx, source, target) : []
  for (const nodeId of [node.nodeId, ...replaced, ...below]) {
    const at = { shareId: view.shareId, nodeId }
    if (yield* breakForRename(tx, at, open.holder)) return { kind: 'wait', ...at }
  }
  if (below.length > 0) throw new SmbRefused('ACCESS_DENIED')
  const free = yield* freePlace(tx, source, target, how.posixSemantics, moment)
  yield* renameNode(tx, source, free, { properties: frozenTimes(node, frozen) }, moment)
  yield* moveOpens(tx, target, node, path)
  return { kind: 'renamed' }
}

function* withEntry(tx: ReadTx, opened: OpenedNode): Step<Existing> {
  const { view, node, directoryId, name } = opened
  if (node.nodeId === ROOT_ID) throw new SmbRefused('INVALID_PARAMETER')
  const entry = yield* getDirectoryEntry(tx, view, directoryId, name)
  if (entry?.nodeId !== node.nodeId) throw new StorageError('ResourceNotFound')
  return { ...opened, entry }
}

/** Windows opens the target directory for writing and shares reading and writing, but not deleting. */
const DIRECTORY_USE = { access: WRITE_DATA, shareAccess: SHARE_READ | SHARE_WRITE }

function* checkDirectory(tx: ReadTx, { view, name, directoryId }: Located): Step<void> {
  if (name === '') throw new StorageError('InvalidFileOrDirectoryPathName')
  const { shareId } = view
  if (yield* isDeletePending(tx, shareId, directoryId)) throw new StorageError('SMBDeletePending')
  const opens = (yield* opensOf(tx, shareId, directoryId)).filter(isOfPresent)
  if (isSharingViolation(opens, DIRECTORY_USE)) throw new StorageError('SharingViolation')
}

/** The open nodes below the source, which can't be moved below itself. */
function* nodesBelow(
  tx: ReadTx,
  { view, node }: Existing,
  { directoryId }: Located,
): Step<readonly number[]> {
  if (yield* isSameOrBelow(tx, view, directoryId, node.nodeId))
    throw new SmbRefused('INVALID_PARAMETER')
  return yield* openNodesBelow(tx, view, node)
}

/** The id of the replaced node, if any. Only a writable file can be replaced. */
function* replacedBy(
  tx: ReadTx,
  { node, view }: Existing,
  target: Located,
  replaceIfExists: boolean,
  { nowMs }: Moment,
): Step<readonly number[]> {
  const there = target.node
  if (there === undefined || there.nodeId === node.nodeId) return []
  if (!replaceIfExists) throw new StorageError('ResourceAlreadyExists')
  if (there.kind === 'directory') throw new SmbRefused('ACCESS_DENIED')
  if ((there.attributes & READ_ONLY) !== 0) throw new SmbRefused('ACCESS_DENIED')
  if (yield* isDeletePending(tx, view.shareId, there.nodeId)) throw new SmbRefused('ACCESS_DENIED')
  // A REST lease or copy protects the file, as it does against an open for delete.
  if (isLeased(there, nowMs)) throw new StorageError('SharingViolation')
  if (there.copy?.status === 'pending') throw new StorageError('PendingCopyOperation')
  return [there.nodeId]
}

/** The target without a node that is open: with POSIX semantics, an open node becomes an orphan. */
function* freePlace(
  tx: FileTx,
  { node: source }: Existing,
  target: Located,
  posixSemantics: boolean,
  moment: Moment,
): Step<Located> {
  const { node, entry, share, view, directoryId, name } = target
  if (node === undefined || entry === undefined || node.nodeId === source.nodeId) return target
  const opens = (yield* opensOf(tx, view.shareId, node.nodeId)).filter(isOfPresent)
  if (opens.length === 0) return target
  const isShared = opens.every(({ shareAccess }) => (shareAccess & SHARE_DELETE) !== 0)
  if (!posixSemantics || !isShared) throw new SmbRefused('ACCESS_DENIED')
  yield* orphanNode(tx, share, { directoryId, entry, node }, moment)
  return { share, view, directoryId, name }
}

function isOfPresent({ snapshot }: { readonly snapshot?: number }): boolean {
  return snapshot === undefined
}
