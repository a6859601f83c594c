// Rules for SMB client caching. Oplocks and leases are treated alike, as permission to cache reads, writes and the
// handle itself ([MS-SMB2] 3.3.1.4, [MS-FSA] 2.1.5.17): which of these break before another client may open, write or
// rename, and which a new open is granted.
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

/** SYNCHRONIZE, FILE_READ_ATTRIBUTES, FILE_WRITE_ATTRIBUTES: none of them touches cached data. */
const STAT_ACCESS = 0x10_0000 | 0x80 | 0x100
const READ_CONTROL = 0x2_0000

function isStatOpen(access: number): boolean {
  return (access & ~STAT_ACCESS) === 0
}

/** An open to read the security descriptor breaks an oplock, but not a lease. */
function isLeaseStatOpen(access: number): boolean {
  return (access & ~(STAT_ACCESS | READ_CONTROL)) === 0
}

export type OpenForCache = {
  readonly access: number
  readonly hasSharingViolation: boolean
  readonly willOverwrite: boolean
  readonly deletesOnClose: boolean
  /** The open never breaks its own lease. */
  readonly holder: string | undefined
  /** The open has not waited yet. */
  readonly isFirst: boolean
}

/** The breaks that an open causes, and whether it must wait for them. */
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
    // The open will delete the file, which a cached handle would prevent.
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

export function breakHolders(
  tx: FileTx,
  at: FilePlace,
  breaks: readonly Break[],
  isAwaited: boolean,
): void {
  for (const { holder, to } of breaks) breakHolder(tx, at, holder, to, isAwaited)
}

/**
 * Called before the bytes, length or locks of a file change: breaks all read caches, without waiting. That includes the
 * writer's own level II oplock, but not its own lease.
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

/** Breaks are in progress on this node; the caller retries at its next 'released' event. */
export type MustWait = { readonly kind: 'wait'; readonly shareId: number; readonly nodeId: number }

/** Called before a rename or delete: breaks the handle caching of leases. True: the caller must wait and retry. */
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

/** A requested oplock or lease. */
export type CacheRequest = Pick<CacheHolder, 'holder' | 'kind' | 'state' | 'version' | 'epoch'>

type GrantContext = {
  /** All other opens of the file. */
  readonly opens: readonly Pick<FileOpen, 'access' | 'holder' | 'snapshot'>[]
  readonly holders: readonly CacheHolder[]
  readonly hasLocks: boolean
}

/** The state that a new holder could be granted; an existing lease can only be upgraded (grantLease). */
export function grantedState(
  { kind, state, holder }: CacheRequest,
  { opens, holders, hasLocks }: GrantContext,
): number {
  // There is no caching without read caching, and none of a file with byte-range locks.
  if ((state & CACHE_READ) === 0 || hasLocks) return 0
  // A stat open without caching does not conflict.
  const counts = (open: Pick<FileOpen, 'access' | 'holder'>): boolean =>
    open.holder === undefined ? !isStatOpen(open.access) : open.holder !== holder
  const others = opens.filter((open) => open.snapshot === undefined && counts(open))
  // Nothing is granted beside a write cache: a stat open does not break it, so what it reads may be stale.
  const hasWriteCache = holders.some(
    (each) => each.holder !== holder && (each.state & CACHE_WRITE) !== 0,
  )
  if (hasWriteCache) return 0
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
  // Batch, exclusive or level II: no oplock has handle caching without write caching.
  return (alone & CACHE_WRITE) === 0 ? CACHE_READ : alone
}

/** An existing lease is only upgraded, only to the full requested state, and not while it is breaking. */
export function grantLease(
  current: CacheHolder | undefined,
  request: CacheRequest,
  granted: number,
): CacheHolder {
  if (current === undefined) {
    return { ...request, state: granted, epoch: (request.epoch ?? 0) + 1 }
  }
  const isUpgrade = (current.state & ~request.state) === 0 && granted !== current.state
  if (!isUpgrade || granted !== request.state || current.breakingTo !== undefined) return current
  return { ...current, state: granted, epoch: (current.epoch ?? 0) + 1 }
}

export function* hasLocks(tx: ReadTx, { shareId, nodeId }: FilePlace): Step<boolean> {
  const range = locksRange(shareId, nodeId)
  return (yield* tx.scan({ ...range, countMax: 1 })).length > 0
}
