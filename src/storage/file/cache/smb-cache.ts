// What SMB clients may cache: oplocks and leases, seen alike as leave to cache reads, writes and the handle
// itself ([MS-SMB2] 3.3.1.4, [MS-FSA] 2.1.5.17). Which of it has to go before somebody else may open, write or
// rename, and what a new open is granted.
import type { ReadTx, Step } from '../../../kv/kv.ts'
import { breakHolder, type FilePlace } from './cache-break.ts'
import { locksRange } from '../keys.ts'
import {
  CACHE_HANDLE,
  CACHE_READ,
  CACHE_WRITE,
  holdersOf,
  type CacheHolder,
  type FileOpen,
  type FileTx,
} from '../open/open.ts'

export type Break = { readonly holder: CacheHolder; readonly to: number }

/** SYNCHRONIZE, FILE_READ_ATTRIBUTES, FILE_WRITE_ATTRIBUTES: who has no more sees nothing that is cached. */
const STAT_ACCESS = 0x10_0000 | 0x80 | 0x100
const READ_CONTROL = 0x2_0000

function isStatOpen(access: number): boolean {
  return (access & ~STAT_ACCESS) === 0
}

/** To read the security descriptor breaks an oplock, but no lease. */
function isLeaseStatOpen(access: number): boolean {
  return (access & ~(STAT_ACCESS | READ_CONTROL)) === 0
}

export type OpenForCache = {
  readonly access: number
  readonly hasSharingViolation: boolean
  readonly willOverwrite: boolean
  readonly deletesOnClose: boolean
  /** Its own lease is never broken by it. */
  readonly holder: string | undefined
  /** It has not waited yet. */
  readonly isFirst: boolean
}

/** Which holders have to give up what, and whether the open waits until they have. */
export function breaksForOpen(
  holders: readonly CacheHolder[],
  { access, hasSharingViolation, willOverwrite, deletesOnClose, holder, isFirst }: OpenForCache,
): { readonly breaks: readonly Break[]; readonly mustWait: boolean } {
  if (isStatOpen(access) && !willOverwrite) return { breaks: [], mustWait: false }
  const breaks: Break[] = []
  let mustWait = false
  for (const other of holders) {
    const { state, kind } = other
    if (other.holder === holder) continue
    if (kind === 'lease' && isLeaseStatOpen(access) && !willOverwrite) continue
    // The name is to go: who keeps the handle would keep the file.
    const waitsFor =
      (hasSharingViolation ? CACHE_HANDLE : CACHE_WRITE) |
      (deletesOnClose && kind === 'lease' ? CACHE_HANDLE : 0)
    const drops = waitsFor | (willOverwrite ? CACHE_READ | CACHE_HANDLE : 0)
    const isBreaking = kind === 'lease' && other.breakingTo !== undefined
    if ((state & drops) === 0) {
      mustWait ||= isBreaking
      continue
    }
    breaks.push({ holder: other, to: willOverwrite ? 0 : state & ~drops })
    mustWait ||= (state & waitsFor) !== 0 || (isBreaking && !isFirst)
  }
  return { breaks, mustWait }
}

/** Has the clients told, each once. */
export function breakHolders(
  tx: FileTx,
  at: FilePlace,
  breaks: readonly Break[],
  isAwaited: boolean,
): void {
  for (const { holder, to } of breaks) breakHolder(tx, at, holder, to, isAwaited)
}

/**
 * Before bytes, length or locks of a file change: nobody else may go on reading from a cache. Nobody is waited
 * for. The writer's own oplock of level II ends, too; its own lease stays.
 */
export function* breakForWrite(
  tx: FileTx,
  at: FilePlace,
  ownHolder: string | undefined,
): Step<void> {
  for (const holder of yield* holdersOf(tx, at.shareId, at.nodeId)) {
    const isOwn = holder.holder === ownHolder
    if (isOwn && (holder.kind === 'lease' || (holder.state & CACHE_WRITE) !== 0)) continue
    if ((holder.state & CACHE_READ) !== 0) breakHolder(tx, at, holder, 0, false)
  }
}

/** Breaks are under way on this node; to be run again at the next 'released' of it. */
export type MustWait = { readonly kind: 'wait'; readonly shareId: number; readonly nodeId: number }

/** Before a name goes or changes: leases that keep the handle give that up. True: to be run again when they have. */
export function* breakForRename(
  tx: FileTx,
  at: FilePlace,
  ownHolder: string | undefined,
): Step<boolean> {
  let mustWait = false
  for (const holder of yield* holdersOf(tx, at.shareId, at.nodeId)) {
    const { kind, state } = holder
    if (kind !== 'lease' || holder.holder === ownHolder || (state & CACHE_HANDLE) === 0) continue
    mustWait = true
    breakHolder(tx, at, holder, state & ~CACHE_HANDLE, true)
  }
  return mustWait
}

/** An oplock or a lease that is asked for. */
export type CacheRequest = Pick<CacheHolder, 'holder' | 'kind' | 'state' | 'version' | 'epoch'>

export type GrantedAgainst = {
  /** All others of the file, and theirs. */
  readonly opens: readonly Pick<FileOpen, 'access' | 'holder' | 'snapshot'>[]
  readonly holders: readonly CacheHolder[]
  readonly hasLocks: boolean
}

/** What could be granted to somebody new; a lease that is there is only ever extended (grantLease). */
export function grantedState(
  { kind, state, holder }: CacheRequest,
  { opens, holders, hasLocks }: GrantedAgainst,
): number {
  // Nothing is cached without the bytes; and bytes under locks are not.
  if ((state & CACHE_READ) === 0 || hasLocks) return 0
  // A stat open that caches nothing is in nobody's way.
  const counts = (open: Pick<FileOpen, 'access' | 'holder'>): boolean =>
    open.holder === undefined ? !isStatOpen(open.access) : open.holder !== holder
  const others = opens.filter((open) => open.snapshot === undefined && counts(open))
  // A stat open has broken nothing: what it reads may be out of date already.
  const isWritten = holders.some(
    (each) => each.holder !== holder && (each.state & CACHE_WRITE) !== 0,
  )
  if (isWritten) return 0
  const alone = others.length === 0 ? state : state & ~CACHE_WRITE
  if (kind === 'lease') {
    const isLeased = (open: Pick<FileOpen, 'holder'>): boolean =>
      holders.some((each) => each.holder === open.holder && each.kind === 'lease')
    return others.every(isLeased) ? alone : alone & ~CACHE_HANDLE
  }
  const keepsHandle = others.some((open) =>
    holders.some((each) => each.holder === open.holder && (each.state & CACHE_HANDLE) !== 0),
  )
  if (keepsHandle) return 0
  // Batch, exclusive, or level II: no oplock keeps the handle without leave to write.
  return (alone & CACHE_WRITE) === 0 ? CACHE_READ : alone
}

/** A lease is extended to more, and only as a whole and while no break of it is under way. */
export function grantLease(
  known: CacheHolder | undefined,
  request: CacheRequest,
  granted: number,
): CacheHolder {
  if (known === undefined) {
    return { ...request, state: granted, epoch: (request.epoch ?? 0) + 1 }
  }
  const isMore = (known.state & ~request.state) === 0 && granted !== known.state
  if (!isMore || granted !== request.state || known.breakingTo !== undefined) return known
  return { ...known, state: granted, epoch: (known.epoch ?? 0) + 1 }
}

export function* hasLocks(tx: ReadTx, { shareId, nodeId }: FilePlace): Step<boolean> {
  const range = locksRange(shareId, nodeId)
  return (yield* tx.scan({ ...range, countMax: 1 })).length > 0
}
