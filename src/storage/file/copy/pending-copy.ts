// A copy from another server to a file, which takes time. The destination is there from the beginning, with its
// length and zeros; the bytes gather in a map that nobody sees, and a record beside the file says how far they
// have come. Whoever ends the copy takes the record away, and what comes later finds it gone.
import type { Piece } from '../../../extent/content/slice.ts'
import { decodeKey } from '../../../kv/key.ts'
import { keyAfter, type Key, type ReadTx, type Step, type Tx } from '../../../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../../../kv/record.ts'
import {
  isSameState,
  type CopyOutcome,
  type CopyProgress,
  type CopyState,
  type PendingCopy,
} from '../../shared/copy-state.ts'
import { StorageError } from '../../shared/error.ts'
import { checkLeaseForWrite } from '../../shared/lease.ts'
import { dropMap, putMapRecord } from '../../../extent/content/map.ts'
import type { Moment } from '../../../node/moment.ts'
import { announceChange, NOTIFY } from '../tree/change-event.ts'
import { checkFileLength, makeCopy, type AskedCopy, type CopiedSource } from './copy.ts'
import { PENDING_FILE_COPIES, pendingFileCopyKey } from '../keys.ts'
import {
  dropBytes,
  getEntry,
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

/** Where a copy is going: by ids, whatever the names are meanwhile. */
export type FileCopyPlace = { readonly shareId: number; readonly nodeId: number }

export type PendingFileCopy = PendingCopy & {
  readonly share: string
  /** Where it was made, for those who watch the directory. */
  readonly directoryId: number
  readonly name: string
}

type StartFileCopy = AskedCopy & {
  readonly remote: CopiedSource &
    Pick<PendingCopy, 'url' | 'etag' | 'isResumable' | 'isUnconditional'>
  readonly nodeId: number
  readonly mapId: number
}

/** Copy File from elsewhere. */
export function* startFileCopy(
  tx: FileTx,
  address: FileAddress,
  start: StartFileCopy,
  moment: Moment,
): Step<{ readonly node: FileNode; readonly place: FileCopyPlace }> {
  const target = yield* locateForReplace(tx, address, start.guard, moment.nowMs)
  const { remote, state, mapId, nodeId } = start
  const { lengthBytes: totalBytes, etag, isResumable, isUnconditional } = remote
  checkFileLength(totalBytes)
  const made = yield* makeCopy(tx, target, start, { ...remote, nodeId }, moment)
  const copy: CopyState = { ...state, status: 'pending', copiedBytes: 0, totalBytes }
  const node = saveNode(tx, target.view, made, { ...made, copy })
  const place = { shareId: target.share.id, nodeId: node.nodeId }
  putPending(tx, place, {
    account: address.account,
    share: address.share,
    directoryId: target.directoryId,
    name: target.name,
    copyId: state.id,
    url: remote.url,
    ...(etag !== undefined && { etag }),
    ...(isResumable === true && { isResumable }),
    ...(isUnconditional === true && { isUnconditional }),
    map: mapId,
    copiedBytes: 0,
    totalBytes,
    startedMs: moment.nowMs,
  })
  return { node, place }
}

function putPending(tx: Tx, place: FileCopyPlace, pending: PendingFileCopy): void {
  tx.put(pendingFileCopyKey(place.shareId, place.nodeId), encodeRecord(pending))
}

function* getPending(tx: ReadTx, place: FileCopyPlace): Step<PendingFileCopy | undefined> {
  const value = yield* tx.get(pendingFileCopyKey(place.shareId, place.nodeId))
  return value === undefined ? undefined : decodeRecord<PendingFileCopy>(value)
}

type FoundFileCopy = {
  readonly pending: PendingFileCopy
  readonly share: Share
  readonly node: FileNode & { readonly copy: CopyState }
}

/** The copy and its destination, if both are still there and belong together. */
export function* findFileCopy(tx: ReadTx, place: FileCopyPlace): Step<FoundFileCopy | undefined> {
  const pending = yield* getPending(tx, place)
  if (pending === undefined) return undefined
  const share = yield* getShare(tx, pending)
  if (share === undefined || share.id !== place.shareId) return undefined
  const node = yield* getNode(tx, viewOf(share), place.nodeId)
  const copy = node?.copy
  if (node === undefined || copy?.status !== 'pending' || copy.id !== pending.copyId) {
    return undefined
  }
  return { pending, share, node: { ...node, copy } }
}

function viewOf({ id, lastSnapshot }: Share) {
  return { shareId: id, lastSnapshot }
}

/** The next bytes have come. False if nobody waits for them any more: they are the caller's to discard. */
export function* addFileCopied(
  tx: FileTx,
  place: FileCopyPlace,
  before: CopyProgress,
  part: { readonly pieces: readonly Piece[]; readonly lengthBytes: number },
): Step<boolean> {
  const found = yield* findFileCopy(tx, place)
  if (found === undefined || !isSameState(found.pending, before)) return false
  const { pending, share, node } = found
  let offset = pending.copiedBytes
  for (const piece of part.pieces) {
    yield* putMapRecord(tx, pending.map, offset, [piece])
    offset += piece.lengthBytes
  }
  const copiedBytes = pending.copiedBytes + part.lengthBytes
  putPending(tx, place, { ...pending, copiedBytes })
  saveNode(tx, viewOf(share), node, { ...node, copy: { ...node.copy, copiedBytes } })
  return true
}

/** The source is to be read again from its first byte: what there is of it is let go. */
export function* restartFileCopy(tx: FileTx, place: FileCopyPlace, newId: number): Step<void> {
  const found = yield* findFileCopy(tx, place)
  if (found === undefined) return
  dropMap(tx, found.pending.map)
  putPending(tx, place, { ...found.pending, map: newId, copiedBytes: 0 })
}

/** The job is done. If the destination is gone meanwhile, only what was copied goes. */
export function* endFileCopy(
  tx: FileTx,
  place: FileCopyPlace,
  copyId: string,
  outcome: CopyOutcome,
  moment: Moment,
): Step<void> {
  yield* dropLostFileCopy(tx, place)
  const found = yield* findFileCopy(tx, place)
  if (found === undefined || found.pending.copyId !== copyId) return
  yield* endFound(tx, place, found, outcome, moment)
}

function* endFound(
  tx: FileTx,
  place: FileCopyPlace,
  {
    pending,
    share,
    node,
  }: Pick<FoundFileCopy, 'share' | 'node'> & {
    readonly pending: PendingFileCopy | undefined
  },
  outcome: CopyOutcome | { readonly status: 'aborted' },
  moment: Moment,
): Step<void> {
  tx.delete(pendingFileCopyKey(place.shareId, place.nodeId))
  const view = viewOf(share)
  const isWhole = outcome.status === 'success'
  const { map: _map, mapSince: _mapSince, ...rest } = node
  const { copiedBytes, totalBytes } = node.copy
  const lengthBytes = isWhole ? node.lengthBytes : 0
  const content = isWhole && pending && { map: pending.map, mapSince: view.lastSnapshot }
  if (!isWhole && pending !== undefined) dropMap(tx, pending.map)
  yield* changeUsage(tx, share, lengthBytes - node.lengthBytes)
  const progress = isWhole ? totalBytes : copiedBytes
  const copy = { ...node.copy, ...outcome, copiedBytes: progress, completedMs: moment.nowMs }
  saveNode(tx, view, node, { ...rest, ...touched(node, moment), ...content, lengthBytes, copy })
  yield* dropBytes(tx, view, node)
  if (pending === undefined) return
  const { directoryId, name } = pending
  const entry = yield* getEntry(tx, view, directoryId, name)
  if (entry?.nodeId !== place.nodeId) return
  announceChange(tx, { view, directoryId, name }, node, 'modified', NOTIFY.size | NOTIFY.lastWrite)
}

/** A copy whose destination is gone, or whose share is. */
export function* dropLostFileCopy(tx: Tx, place: FileCopyPlace): Step<void> {
  if ((yield* findFileCopy(tx, place)) === undefined) yield* dropPendingCopy(tx, place)
}

/** For whoever takes the destination away: what was copied so far goes with it. */
export function* dropPendingCopy(tx: Tx, place: FileCopyPlace): Step<void> {
  const pending = yield* getPending(tx, place)
  if (pending === undefined) return
  dropMap(tx, pending.map)
  tx.delete(pendingFileCopyKey(place.shareId, place.nodeId))
}

/** Abort Copy File: the destination stays, with no bytes and with its metadata. */
export function* abortFileCopy(
  tx: FileTx,
  address: FileAddress,
  asked: { readonly copyId: string; readonly leaseId: string | undefined },
  moment: Moment,
): Step<FileCopyPlace> {
  const { share, node } = requireNode(yield* locate(tx, address), 'file')
  // It takes no access, as ending a lease takes none.
  yield* checkOpens(tx, share.id, node, 'Lease')
  checkLeaseForWrite(node.lease, asked.leaseId, moment.nowMs, 'file')
  const { copy, nodeId } = node
  if (copy?.status !== 'pending') throw new StorageError('NoPendingCopyOperation')
  if (copy.id !== asked.copyId) throw new StorageError('CopyIdMismatch')
  const place = { shareId: share.id, nodeId }
  const pending = yield* getPending(tx, place)
  const found = { pending, share, node: { ...node, copy } }
  yield* endFound(tx, place, found, { status: 'aborted' }, moment)
  return place
}

/** Copies that are under way, in the order of their keys, after `after`. */
export function* listFileCopies(
  tx: ReadTx,
  after: Key | undefined,
  countMax: number,
): Step<readonly { readonly key: Key; readonly place: FileCopyPlace }[]> {
  const from = after === undefined ? PENDING_FILE_COPIES.from : keyAfter(after)
  const entries = yield* tx.scan({ from, to: PENDING_FILE_COPIES.to, countMax })
  return entries.map(({ key }) => {
    const [, shareId, nodeId] = decodeKey(key)
    return { key, place: { shareId: Number(shareId), nodeId: Number(nodeId) } }
  })
}
