// The tally of a queue: the number of its messages, the last sequence number, and bounds that let a get skip
// expired messages. It is a record of its own, since every put changes it and every request reads the queue's
// record.
import type { ReadTx, Step, Tx } from '../../kv/kv.ts'
import { encodeSharedRecord } from '../../kv/record.ts'
import { tallyKey, type Position } from './keys.ts'

export type Tally = {
  /** Includes expired messages that are still to be swept. */
  readonly messageCount: number
  readonly lastSequence: number
  /** No message expires later than this after becoming visible. Undefined: unknown. */
  readonly visibleMsMax?: number
  /** All messages before this position have expired. */
  readonly passed?: Position
}

const EMPTY: Tally = { messageCount: 0, lastSequence: 0 }

export function* getTally(tx: ReadTx, queueId: number): Step<Tally> {
  return (yield* tx.getFields<Tally>(tallyKey(queueId))) ?? EMPTY
}

export function saveTally(tx: Tx, queueId: number, tally: Tally): void {
  tx.put(tallyKey(queueId), encodeSharedRecord(tally))
}

type Moved = Position & { readonly expiresMs?: number }

/** The tally after a message got a new position, which may be before `passed` if the clock was set back. */
export function tallyAfterMove(tally: Tally, moved: Moved): Tally {
  const visibleMsMax = longestVisibleMs(tally, moved)
  const { messageCount, passed } = tally
  return {
    messageCount,
    lastSequence: moved.sequence,
    ...(visibleMsMax !== undefined && { visibleMsMax }),
    ...(passed !== undefined && { passed: isBefore(moved, passed) ? barePosition(moved) : passed }),
  }
}

/** Unknown from the put of a message that never expires until the queue is empty again. */
function longestVisibleMs(tally: Tally, { expiresMs, visibleAtMs }: Moved): number | undefined {
  if (expiresMs === undefined) return undefined
  const ownMs = Math.max(expiresMs - visibleAtMs, 0)
  if (tally.messageCount === 0) return ownMs
  return tally.visibleMsMax === undefined ? undefined : Math.max(tally.visibleMsMax, ownMs)
}

export function barePosition({ visibleAtMs, sequence }: Position): Position {
  return { visibleAtMs, sequence }
}

export function isBefore(a: Position, b: Position): boolean {
  if (a.visibleAtMs !== b.visibleAtMs) return a.visibleAtMs < b.visibleAtMs
  return a.sequence < b.sequence
}
