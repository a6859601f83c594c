// How a client is made to give up what it caches, and what its acknowledgement does ([MS-SMB2] 3.3.4.6, 3.3.4.7,
// 3.3.5.22). One notification is under way for a holder at a time; what else is asked of it meanwhile is kept in
// its record and told when the client has acknowledged, one step after the other, as Windows does.
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

/** The holder as it is from now on, and what its client is told. */
type Change = {
  readonly holder: CacheHolder
  readonly tells?: { readonly from: number; readonly to: number }
}

/** Leave to write or to keep the handle has to be given back; leave to read just ends. */
export function isAcknowledged(from: number): boolean {
  return (from & (CACHE_WRITE | CACHE_HANDLE)) !== 0
}

/** Asks the holder to keep no more than `wanted`, once. */
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
  // An oplock goes down to level II or to nothing.
  const to = wanted & state & (kind === 'oplock' ? CACHE_READ : ~0)
  if (breakingToRequired !== undefined) {
    const required = breakingToRequired & to
    if (kind === 'oplock' || required === breakingToRequired) return undefined
    return { holder: { ...holder, breakingToRequired: required } }
  }
  if (to === state) return undefined
  const epoch = (holder.epoch ?? 0) + 1
  const tells = { from: state, to }
  if (!isAcknowledged(state)) return { holder: { ...holder, state: to, epoch }, tells }
  return { holder: { ...holder, breakingTo: to, epoch }, tells }
}

export type Acknowledgement = 'taken' | 'not breaking' | 'too much'

/** The client keeps no more than `state` from now on; who waits looks again. */
export function acknowledgeBreak(
  tx: FileTx,
  at: FilePlace,
  holder: CacheHolder,
  state: number,
): Acknowledgement {
  const { breakingTo } = holder
  if (breakingTo === undefined) return 'not breaking'
  if ((state & ~breakingTo) !== 0) return 'too much'
  apply(tx, at, acknowledged(holder, state), true)
  tx.announce({ kind: 'released', ...at })
  return 'taken'
}

/** The next step, where more was asked for meanwhile: first down to R, then from R to nothing. */
export function acknowledged(holder: CacheHolder, state: number): Change {
  const { breakingTo, breakingToRequired = breakingTo ?? 0, ...rest } = holder
  if ((state & ~breakingToRequired) === 0) return { holder: { ...rest, state } }
  if (!isAcknowledged(state)) {
    return { holder: { ...rest, state: 0 }, tells: { from: state, to: 0 } }
  }
  const to = breakingToRequired | CACHE_READ
  return {
    holder: { ...rest, state, breakingTo: to, breakingToRequired },
    tells: { from: state, to },
  }
}

/** The client has not answered in time: it caches nothing any more, whatever it believes. */
export function forceBreak(tx: FileTx, at: FilePlace, holder: CacheHolder): void {
  const { breakingTo: _to, breakingToRequired: _required, ...rest } = holder
  apply(tx, at, { holder: { ...rest, state: 0 } }, false)
  tx.announce({ kind: 'released', ...at })
}

/** A lease that grants nothing is still the lease of its opens; an oplock is no more. */
function apply(tx: FileTx, at: FilePlace, { holder, tells }: Change, isAwaited: boolean): void {
  if (holder.kind === 'oplock' && holder.state === 0) deleteHolder(tx, at, holder.holder)
  else putHolder(tx, at, holder)
  if (tells === undefined) return
  const { shareId, nodeId } = at
  const { holder: name, epoch = 0 } = holder
  tx.announce({ kind: 'break', shareId, nodeId, holder: name, ...tells, epoch, isAwaited })
}
