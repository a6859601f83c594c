// FileRenameInformation ([MS-FSA] 2.1.5.15.12): an open file or directory gets another name, perhaps in the place
// of a file that is there. What is open below a directory keeps it where it is.
import { requireOpened, type OpenedNode } from './opened-node.ts'
import { keptTimes } from '../tree/set-basic.ts'
import type { ReadTx, Step } from '../../../kv/kv.ts'
import { StorageError } from '../../shared/error.ts'
import type { Moment } from '../../../node/moment.ts'
import { READ_ONLY } from '../tree/attributes.ts'
import { isLeased } from '../tree/file-lease.ts'
import { checkMayAdd, checkMayDelete } from '../security/identity-access.ts'
import { getEntry, locateIn, ROOT_ID, type Existing, type Located } from '../tree/node.ts'
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
import { isWithin, moveOpens, openNodesBelow, renameNode } from '../tree/rename.ts'
import { isSharingViolation } from './share-mode.ts'
import { breakForRename, type MustWait } from '../cache/smb-cache.ts'
import type { SmbIdentity } from '../security/smb-identity.ts'
import type { SmbProperties } from '../tree/smb-properties.ts'
import { SmbRefused } from './smb-refused.ts'
import type { ShareAddress } from '../share/share.ts'
import type { FrozenTimes } from '../tree/set-basic.ts'

export type OpenedRename = {
  /** From the share's root on. */
  readonly path: readonly string[]
  readonly replaceIfExists: boolean
  /** FILE_RENAME_POSIX_SEMANTICS: what is replaced may be open, and stays for those who have it open. */
  readonly posixSemantics: boolean
  /** Times that stay as they are. */
  readonly properties: SmbProperties
  /** Who asks; left out, the account itself. That the source may be deleted, the open's rights say. */
  readonly identity?: SmbIdentity
}

/** Clients that cache handles give them up first, here as when a file is opened. */
export function* renameOpened(
  tx: FileTx,
  opened: OpenedNode,
  { path, properties, identity, ...how }: OpenedRename,
  moment: Moment,
): Step<MustWait | { readonly kind: 'renamed' }> {
  const { share, view, node, open } = opened
  if (yield* isDeletePending(tx, view.shareId, node.nodeId)) throw new SmbRefused('ACCESS_DENIED')
  const source = yield* named(tx, opened)
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
  yield* renameNode(tx, source, free, { properties }, moment)
  yield* moveOpens(tx, target, node, path)
  return { kind: 'renamed' }
}

function* named(tx: ReadTx, opened: OpenedNode): Step<Existing> {
  const { view, node, directoryId, name } = opened
  if (node.nodeId === ROOT_ID) throw new SmbRefused('INVALID_PARAMETER')
  const entry = yield* getEntry(tx, view, directoryId, name)
  if (entry?.nodeId !== node.nodeId) throw new StorageError('ResourceNotFound')
  return { ...opened, entry }
}

/** Windows opens the directory to write to it and shares that with who reads and writes: not with who deletes. */
const DIRECTORY_USE = { access: WRITE_DATA, shareAccess: SHARE_READ | SHARE_WRITE }

function* checkDirectory(tx: ReadTx, { view, name, directoryId }: Located): Step<void> {
  if (name === '') throw new StorageError('InvalidFileOrDirectoryPathName')
  const { shareId } = view
  if (yield* isDeletePending(tx, shareId, directoryId)) throw new StorageError('SMBDeletePending')
  const opens = (yield* opensOf(tx, shareId, directoryId)).filter(isOfPresent)
  if (isSharingViolation(opens, DIRECTORY_USE)) throw new StorageError('SharingViolation')
}

/** What is open below it; it can't go below itself. */
function* nodesBelow(
  tx: ReadTx,
  { view, node }: Existing,
  { directoryId }: Located,
): Step<readonly number[]> {
  if (yield* isWithin(tx, view, directoryId, node.nodeId)) throw new SmbRefused('INVALID_PARAMETER')
  return yield* openNodesBelow(tx, view, node)
}

/** Only a file that may be written to can be replaced. */
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
  // REST's lease and copy keep it, as they keep out who opens it to delete it.
  if (isLeased(there, nowMs)) throw new StorageError('SharingViolation')
  if (there.copy?.status === 'pending') throw new StorageError('PendingCopyOperation')
  return [there.nodeId]
}

/** The target, with nobody there who has it open. */
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

export function* rename(
  tx: FileTx,
  address: Pick<ShareAddress, 'account' | 'share'>,
  handleOpen: FileOpen,
  { frozen, ...how }: Omit<OpenedRename, 'properties'> & { readonly frozen: FrozenTimes },
  moment: Moment,
): Step<MustWait | { readonly kind: 'renamed' }> {
  const opened = yield* requireOpened(tx, address, handleOpen)
  const properties = keptTimes(opened.node, frozen)
  return yield* renameOpened(tx, opened, { ...how, properties }, moment)
}
