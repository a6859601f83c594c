// Handling of an announced break: which opens and holders it concerns, and how it ends without an acknowledgement.
import type { ReadTx, Step } from '../../../kv/kv.ts'
import { forceBreak } from './cache-break.ts'
import {
  holdersOf,
  opensOf,
  type CacheHolder,
  type FileEvent,
  type FileOpen,
  type FileTx,
} from '../open/open.ts'

export type BreakEvent = Extract<FileEvent, { kind: 'break' }>

type OpensAndHolders = {
  readonly opens: readonly FileOpen[]
  readonly holders: readonly CacheHolder[]
}

export function* opensAndHolders(
  tx: ReadTx,
  { shareId, nodeId }: BreakEvent,
): Step<OpensAndHolders> {
  const opens = yield* opensOf(tx, shareId, nodeId)
  const holders = yield* holdersOf(tx, shareId, nodeId)
  return { opens, holders }
}

/** Ends the break, unless the client has acknowledged it in the meantime. */
export function* forceUnacknowledged(
  tx: FileTx,
  { shareId, nodeId, holder, epoch }: BreakEvent,
): Step<void> {
  const holders = yield* holdersOf(tx, shareId, nodeId)
  const found = holders.find((each) => each.holder === holder)
  if (found?.breakingTo === undefined || found.epoch !== epoch) return
  forceBreak(tx, { shareId, nodeId }, found)
}

export function* announceRelease(tx: FileTx, { shareId, nodeId }: FileOpen): Step<void> {
  tx.announce({ kind: 'released', shareId, nodeId })
}
