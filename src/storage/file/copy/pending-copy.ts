// Copy File from another server, which takes time: shared/copy/pending-copy.ts for files. The destination has its full
// length from the start and reads as zeros until the copy succeeds.
import { decodeKey } from '../../../kv/key.ts'
import type { ReadTx, Step } from '../../../kv/kv.ts'
import type { CopyOutcome, CopyState, PendingCopy } from '../../shared/copy/copy-state.ts'
import { checkLeaseForWrite } from '../../shared/lease.ts'
import { dropMap } from '../../../extent/content/map.ts'
import {
  endedCopy,
  newPendingCopy,
  pendingCopies,
  requirePendingCopy,
  type CopyEnd,
  type CopyRemote,
} from '../../shared/copy/pending-copy.ts'
import type { Moment } from '../../../node/moment.ts'
import { announceChange, NOTIFY } from '../tree/change-event.ts'
import { checkFileLength, makeCopy, type FileCopyRequest, type CopiedSource } from './copy.ts'
import { PENDING_FILE_COPIES, pendingFileCopyKey } from '../keys.ts'
import {
  dropBytes,
  getDirectoryEntry,
  getNode,
  locate,
  requireNode,
  saveNode,
  touched,
  type FileAddress,
  type FileNode,
} from '../tree/node.ts'
import type { FileTx } from '../open/open.ts'
import { checkOpens } from '../open/rest-access.ts'
import { locateForReplace } from '../open/rest-guard.ts'
import { changeUsage, getShare, type Share } from '../share/share.ts'

/** The destination of a copy, by ids, since names may change meanwhile. */
export type FileCopyPlace = { readonly shareId: number; readonly nodeId: number }

export type PendingFileCopy = PendingCopy & {
  readonly share: string
  /** Where the file was created, for clients that watch the directory. */
  readonly directoryId: number
  readonly name: string
}

type Destination = {
  readonly share: Share
  readonly node: FileNode
  readonly copy: CopyState | undefined
}

export const FILE_COPIES = pendingCopies<FileCopyPlace, Destination, PendingFileCopy>({
  range: PENDING_FILE_COPIES,
  key: ({ shareId, nodeId }) => pendingFileCopyKey(shareId, nodeId),
  placeAt(key) {
    const [, shareId, nodeId] = decodeKey(key)
    return { shareId: Number(shareId), nodeId: Number(nodeId) }
  },
  findDestination,
  saveState(tx, _place, { share, node }, copy) {
    saveNode(tx, viewOf(share), node, { ...node, copy })
  },
})

function* findDestination(
  tx: ReadTx,
  place: FileCopyPlace,
  pending: PendingFileCopy,
): Step<Destination | undefined> {
  const share = yield* getShare(tx, pending)
  if (share === undefined || share.id !== place.shareId) return undefined
  const node = yield* getNode(tx, viewOf(share), place.nodeId)
  return node && { share, node, copy: node.copy }
}

function viewOf({ id, lastSnapshot }: Share) {
  return { shareId: id, lastSnapshot }
}

type StartFileCopy = FileCopyRequest & {
  readonly remote: CopiedSource & CopyRemote
  readonly nodeId: number
  readonly mapId: number
}

/** Stores the destination, and the record of the copy. */
export function* startFileCopy(
  tx: FileTx,
  address: FileAddress,
  start: StartFileCopy,
  moment: Moment,
): Step<{ readonly node: FileNode; readonly place: FileCopyPlace }> {
  const target = yield* locateForReplace(tx, address, start.guard, moment.nowMs)
  const { remote, state, mapId, nodeId } = start
  const { lengthBytes: totalBytes } = remote
  checkFileLength(totalBytes)
  const created = yield* makeCopy(tx, target, start, { ...remote, nodeId }, moment)
  const copy: CopyState = { ...state, status: 'pending', copiedBytes: 0, totalBytes }
  const node = saveNode(tx, target.view, created, { ...created, copy })
  const place = { shareId: target.share.id, nodeId: node.nodeId }
  const { account, share } = address
  const { directoryId, name } = target
  const pending = { account, copyId: state.id, map: mapId, startedMs: moment.nowMs }
  FILE_COPIES.put(tx, place, { ...newPendingCopy(remote, pending), share, directoryId, name })
  return { node, place }
}

/** The job has finished. If the destination no longer exists, only the copied bytes are dropped. */
export function* endFileCopy(
  tx: FileTx,
  place: FileCopyPlace,
  copyId: string,
  outcome: CopyOutcome,
  moment: Moment,
): Step<void> {
  const found = yield* FILE_COPIES.finish(tx, place, copyId)
  if (found === undefined) return
  const { pending, destination, copy } = found
  yield* endWith(tx, pending, { ...destination, copy }, outcome, moment)
}

function* endWith(
  tx: FileTx,
  pending: PendingFileCopy | undefined,
  { share, node, copy }: Destination & { readonly copy: CopyState },
  end: CopyEnd,
  moment: Moment,
): Step<void> {
  const view = viewOf(share)
  const isWhole = end.status === 'success'
  const { map: _map, mapSince: _mapSince, ...rest } = node
  const lengthBytes = isWhole ? node.lengthBytes : 0
  const content = isWhole && pending && { map: pending.map, mapSince: view.lastSnapshot }
  if (!isWhole && pending !== undefined) dropMap(tx, pending.map)
  yield* changeUsage(tx, share, lengthBytes - node.lengthBytes)
  saveNode(tx, view, node, {
    ...rest,
    ...touched(node, moment),
    ...content,
    lengthBytes,
    copy: endedCopy(copy, end, moment.nowMs),
  })
  yield* dropBytes(tx, view, node)
  if (pending === undefined) return
  const { directoryId, name } = pending
  const entry = yield* getDirectoryEntry(tx, view, directoryId, name)
  if (entry?.nodeId !== node.nodeId) return
  announceChange(tx, { view, directoryId, name }, node, 'modified', NOTIFY.size | NOTIFY.lastWrite)
}

/** Abort Copy File: the destination stays, with its metadata and without bytes. */
export function* abortFileCopy(
  tx: FileTx,
  address: FileAddress,
  abort: { readonly copyId: string; readonly leaseId: string | undefined },
  moment: Moment,
): Step<FileCopyPlace> {
  const { share, node } = requireNode(yield* locate(tx, address), 'file')
  // Like ending a lease, an abort takes no access.
  yield* checkOpens(tx, share.id, node, 'Lease')
  checkLeaseForWrite(node.lease, abort.leaseId, moment.nowMs, 'file')
  const copy = requirePendingCopy(node.copy, abort.copyId)
  const place = { shareId: share.id, nodeId: node.nodeId }
  const pending = yield* FILE_COPIES.take(tx, place)
  yield* endWith(tx, pending, { share, node, copy }, { status: 'aborted' }, moment)
  return place
}
