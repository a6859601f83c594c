// Breaks of oplocks and leases, and their acknowledgement ([MS-SMB2] 3.3.4.6, 3.3.4.7, 3.3.5.22). A holder has at most
// one outstanding notification. Further breaks are stored in its record and sent step by step after the client has
// acknowledged, as Windows does.
import {
  CACHE_HANDLE,
  CACHE_READ,
  CACHE_WRITE,
  deleteHolder,
  putHolder,
  type CacheHolder,
  type FileOpen,
  type FileTx,
} from '../open/open.ts'

export type FilePlace = Pick<FileOpen, 'shareId' | 'nodeId'>

/** The new state of the holder, and the notification to its client. */
type Change = {
  readonly holder: CacheHolder
  readonly notification?: { readonly from: number; readonly to: number }
}

/** Losing write or handle caching must be acknowledged; read caching just ends. */
export function isAcknowledged(from: number): boolean {
  return (from & (CACHE_WRITE | CACHE_HANDLE)) !== 0
}

/** Breaks the holder down to at most `wanted`, unless such a break is already in progress. */
export function breakHolder(
  tx: FileTx,
  at: FilePlace,
  holder: CacheHolder,
  wanted: number,
  isAwaited: boolean,
): void {
  const change = breakTo(holder, wanted)
  if (change !== undefined) apply(tx, at, change, isAwaited)
}

export function breakTo(holder: CacheHolder, wanted: number): Change | undefined {
  const { state, kind, breakingTo, breakingToRequired = breakingTo } = holder
  // An oplock breaks to level II or to none.
  const to = wanted & state & (kind === 'oplock' ? CACHE_READ : ~0)
  if (breakingToRequired !== undefined) {
    const required = breakingToRequired & to
    if (kind === 'oplock' || required === breakingToRequired) return undefined
    return { holder: { ...holder, breakingToRequired: required } }
  }
  if (to === state) return undefined
  const epoch = (holder.epoch ?? 0) + 1
  const notification = { from: state, to }
  if (!isAcknowledged(state)) return { holder: { ...holder, state: to, epoch }, notification }
  return { holder: { ...holder, breakingTo: to, epoch }, notification }
}

export type Acknowledgement = 'taken' | 'not breaking' | 'too much'

/** From now on the client caches no more than `state`; waiting operations try again. */
export function acknowledgeBreak(
  tx: FileTx,
  at: FilePlace,
  holder: CacheHolder,
  state: number,
): Acknowledgement {
  const { breakingTo } = holder
  if (breakingTo === undefined) return 'not breaking'
  if ((state & ~breakingTo) !== 0) return 'too much'
  apply(tx, at, afterAcknowledgement(holder, state), true)
  tx.announce({ kind: 'released', ...at })
  return 'taken'
}

/** The next step, if a further break was requested in the meantime: first down to R, then from R to none. */
export function afterAcknowledgement(holder: CacheHolder, state: number): Change {
  const { breakingTo, breakingToRequired = breakingTo ?? 0, ...rest } = holder
  if ((state & ~breakingToRequired) === 0) return { holder: { ...rest, state } }
  if (!isAcknowledged(state)) {
    return { holder: { ...rest, state: 0 }, notification: { from: state, to: 0 } }
  }
  const to = breakingToRequired | CACHE_READ
  return {
    holder: { ...rest, state, breakingTo: to, breakingToRequired },
    notification: { from: state, to },
  }
}

/** The client has not acknowledged in time: it loses all its caching rights. */
export function forceBreak(tx: FileTx, at: FilePlace, holder: CacheHolder): void {
  const { breakingTo: _to, breakingToRequired: _required, ...rest } = holder
  apply(tx, at, { holder: { ...rest, state: 0 } }, false)
  tx.announce({ kind: 'released', ...at })
}

/** A lease without caching rights still exists; an oplock without them does not. */
function apply(
  tx: FileTx,
  at: FilePlace,
  { holder, notification }: Change,
  isAwaited: boolean,
): void {
  if (holder.kind === 'oplock' && holder.state === 0) deleteHolder(tx, at, holder.holder)
  else putHolder(tx, at, holder)
  if (notification === undefined) return
  const { shareId, nodeId } = at
  const { holder: name, epoch = 0 } = holder
  tx.announce({ kind: 'break', shareId, nodeId, holder: name, ...notification, epoch, isAwaited })
}
