// Copies from another server that are still in progress. The destination exists from the start; the bytes
// collect in a map of their own that nobody sees, and a record beside the destination says how far the copy has
// got, so that a crash costs only the part that was being read. Whoever ends the copy (the job, an abort, a
// sweep) deletes the record; the others then find no copy.
import type { Piece } from '../../../extent/content/slice.ts'
import { dropMap, putMapRecord } from '../../../extent/content/map.ts'
import {
  keyAfter,
  type Key,
  type KeyRange,
  type ReadTx,
  type Step,
  type Tx,
} from '../../../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../../../kv/record.ts'
import type { CopyOutcome, CopyState, PendingCopy } from './copy-state.ts'
import { StorageError } from '../error.ts'

/** What a service knows about its copies: where their records are, and what they copy to. */
type CopyKind<Place, Destination, Pending> = {
  readonly range: KeyRange
  key(place: Place): Key
  placeAt(key: Key): Place
  /** Undefined if the destination no longer exists. */
  findDestination(tx: ReadTx, place: Place, pending: Pending): Step<Destination | undefined>
  /** Changes the state of the copy and nothing else. */
  saveState(tx: Tx, place: Place, destination: Destination, copy: CopyState): void
}

type FoundCopy<Destination, Pending> = {
  readonly pending: Pending
  readonly destination: Destination
  readonly copy: CopyState
}

/** Identifies one state of a copy. */
type CopyProgress = Pick<PendingCopy, 'copyId' | 'map' | 'copiedBytes'>

type CopiedPart = { readonly pieces: readonly Piece[]; readonly lengthBytes: number }

/** What can be done with the copies of one service. */
export function pendingCopies<
  Place,
  Destination extends { readonly copy: CopyState | undefined },
  Pending extends PendingCopy,
>({ range, key, placeAt, findDestination, saveState }: CopyKind<Place, Destination, Pending>) {
  type Found = FoundCopy<Destination, Pending>

  function put(tx: Tx, place: Place, pending: Pending): void {
    tx.put(key(place), encodeRecord(pending))
  }

  function* get(tx: ReadTx, place: Place): Step<Pending | undefined> {
    const value = yield* tx.get(key(place))
    return value === undefined ? undefined : decodeRecord<Pending>(value)
  }

  /** The copy and its destination, if both still exist and belong together. */
  function* find(tx: ReadTx, place: Place): Step<Found | undefined> {
    const pending = yield* get(tx, place)
    if (pending === undefined) return undefined
    const destination = yield* findDestination(tx, place, pending)
    const copy = destination?.copy
    if (destination === undefined || copy?.status !== 'pending' || copy.id !== pending.copyId) {
      return undefined
    }
    return { pending, destination, copy }
  }

  /** Adds the next bytes. False if the copy has ended or restarted: the caller discards them. */
  function* add(tx: Tx, place: Place, before: CopyProgress, part: CopiedPart): Step<boolean> {
    const found = yield* find(tx, place)
    if (found === undefined || !isSameState(found.pending, before)) return false
    const { pending, destination, copy } = found
    let offset = pending.copiedBytes
    for (const piece of part.pieces) {
      yield* putMapRecord(tx, pending.map, offset, [piece])
      offset += piece.lengthBytes
    }
    const copiedBytes = pending.copiedBytes + part.lengthBytes
    put(tx, place, { ...pending, copiedBytes })
    saveState(tx, place, destination, { ...copy, copiedBytes })
    return true
  }

  /** Drops the bytes that were copied: the source will be read again from its first byte. */
  function* restart(tx: Tx, place: Place, newMap: number): Step<void> {
    const found = yield* find(tx, place)
    if (found === undefined) return
    dropMap(tx, found.pending.map)
    put(tx, place, { ...found.pending, map: newMap, copiedBytes: 0 })
  }

  /** Deletes the record of a copy that ends; what becomes of its map is up to the caller. */
  function* take(tx: Tx, place: Place): Step<Pending | undefined> {
    const pending = yield* get(tx, place)
    if (pending !== undefined) tx.delete(key(place))
    return pending
  }

  /** Drops a copy together with the bytes that were copied. */
  function* drop(tx: Tx, place: Place): Step<void> {
    const pending = yield* take(tx, place)
    if (pending !== undefined) dropMap(tx, pending.map)
  }

  /** Drops a copy whose destination was deleted or replaced. */
  function* dropLost(tx: Tx, place: Place): Step<void> {
    if ((yield* find(tx, place)) === undefined) yield* drop(tx, place)
  }

  /** The copy whose job has finished, with its record deleted; undefined if the destination doesn't wait for it. */
  function* finish(tx: Tx, place: Place, copyId: string): Step<Found | undefined> {
    const found = yield* find(tx, place)
    if (found === undefined) yield* drop(tx, place)
    if (found?.pending.copyId !== copyId) return undefined
    tx.delete(key(place))
    return found
  }

  /** Copies in progress, in the order of their keys, after `after`. */
  function* list(
    tx: ReadTx,
    after: Key | undefined,
    countMax: number,
  ): Step<readonly { readonly key: Key; readonly place: Place }[]> {
    const from = after === undefined ? range.from : keyAfter(after)
    const keys = yield* tx.scanKeys({ from, to: range.to, countMax })
    return keys.map((each) => ({ key: each, place: placeAt(each) }))
  }

  return { put, find, add, restart, take, drop, dropLost, finish, list }
}

function isSameState(a: CopyProgress, b: CopyProgress): boolean {
  return a.copyId === b.copyId && a.map === b.map && a.copiedBytes === b.copiedBytes
}

/** A source on another server, as far as the job needs to know it. */
export type CopyRemote = Pick<PendingCopy, 'url' | 'etag' | 'isResumable' | 'isUnconditional'> & {
  readonly lengthBytes: number
}

/** The record of a copy that starts. */
export function newPendingCopy(
  { url, etag, isResumable, isUnconditional, lengthBytes }: CopyRemote,
  start: Pick<PendingCopy, 'account' | 'copyId' | 'map' | 'startedMs'>,
): PendingCopy {
  return {
    ...start,
    url,
    ...(etag !== undefined && { etag }),
    ...(isResumable === true && { isResumable }),
    ...(isUnconditional === true && { isUnconditional }),
    copiedBytes: 0,
    totalBytes: lengthBytes,
  }
}

/** An abort has to name the copy that is in progress. */
export function requirePendingCopy(copy: CopyState | undefined, copyId: string): CopyState {
  if (copy?.status !== 'pending') throw new StorageError('NoPendingCopyOperation')
  if (copy.id !== copyId) throw new StorageError('CopyIdMismatch')
  return copy
}

export type CopyEnd = CopyOutcome | { readonly status: 'aborted' }

export function endedCopy(copy: CopyState, end: CopyEnd, nowMs: number): CopyState {
  const copiedBytes = end.status === 'success' ? copy.totalBytes : copy.copiedBytes
  return { ...copy, ...end, copiedBytes, completedMs: nowMs }
}
