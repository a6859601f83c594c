// How many messages a queue has, the last sequence number that one of them got, and what lets a get step over
// expired ones without looking at each. A record of its own: every put changes it, and the queue's own, which
// every request reads, stays as it is.
import { getFields } from '../../kv/fields.ts'
import type { ReadTx, Step, Tx } from '../../kv/kv.ts'
import { encodeSharedRecord } from '../../kv/record.ts'
import { tallyKey, type Position } from './keys.ts'

export type Tally = {
  /** With those that have expired and are still to be swept. */
  readonly messageCount: number
  readonly lastSequence: number
  /** No message expires later than this after it has become visible. Left out, one may. */
  readonly visibleMsMax?: number
  /** All messages that stand before it have expired. */
  readonly passed?: Position
}

const EMPTY: Tally = { messageCount: 0, lastSequence: 0 }

export function* getTally(tx: ReadTx, queueId: number): Step<Tally> {
  return (yield* getFields<Tally>(tx, tallyKey(queueId))) ?? EMPTY
}

export function saveTally(tx: Tx, queueId: number, tally: Tally): void {
  tx.put(tallyKey(queueId), encodeSharedRecord(tally))
}

type Placed = Position & { readonly expiresMs?: number }

/** What stays true when a message gets a place: the last of all, or not if the clock was set back. */
export function tallyOfPlaced(tally: Tally, placed: Placed): Tally {
  const visibleMsMax = longestVisibleMs(tally, placed)
  const { messageCount, passed } = tally
  return {
    messageCount,
    lastSequence: placed.sequence,
    ...(visibleMsMax !== undefined && { visibleMsMax }),
    ...(passed !== undefined && { passed: isBefore(placed, passed) ? placeOf(placed) : passed }),
  }
}

/** Of a queue that was never empty since one came that lives for ever, nothing is known. */
function longestVisibleMs(tally: Tally, { expiresMs, visibleAtMs }: Placed): number | undefined {
  if (expiresMs === undefined) return undefined
  const ownMs = Math.max(expiresMs - visibleAtMs, 0)
  if (tally.messageCount === 0) return ownMs
  return tally.visibleMsMax === undefined ? undefined : Math.max(tally.visibleMsMax, ownMs)
}

export function placeOf({ visibleAtMs, sequence }: Position): Position {
  return { visibleAtMs, sequence }
}

export function isBefore(a: Position, b: Position): boolean {
  if (a.visibleAtMs !== b.visibleAtMs) return a.visibleAtMs < b.visibleAtMs
  return a.sequence < b.sequence
}
