// Messages whose time to live is over. Nobody gets them from that millisecond on (visible.ts), and the sweep
// removes their records: in bounded transactions, so that a million that expire at once hold up no request.
import { decodeKey } from '../../kv/key.ts'
import type { Kv, ReadTx, Step, Tx } from '../../kv/kv.ts'
import { expiredRange } from './keys.ts'
import { positionOf, removeMessage } from './message.ts'
import { getTally, saveTally } from './tally.ts'

/** Small enough that a request that comes meanwhile waits a few milliseconds only. */
const MESSAGES_PER_STEP = 500

/** How many there were. */
export async function removeExpired(kv: Kv, queueId: number, nowMs: number): Promise<number> {
  let count = 0
  for (;;) {
    const removed = await kv.write((tx) => removeSomeExpired(tx, queueId, nowMs))
    count += removed
    if (removed < MESSAGES_PER_STEP) return count
  }
}

/** How many are still to be removed; of more than `countMax`, so many. */
export function* countExpired(
  tx: ReadTx,
  queueId: number,
  nowMs: number,
  countMax: number,
): Step<number> {
  const range = { ...expiredRange(queueId, nowMs), countMax }
  return (yield* tx.scanWith(range, () => true)).length
}

function* removeSomeExpired(tx: Tx, queueId: number, nowMs: number): Step<number> {
  const range = { ...expiredRange(queueId, nowMs), countMax: MESSAGES_PER_STEP }
  const keys = yield* tx.scanWith(range, (key) => Buffer.from(key))
  // The queue may have been cleared and swept: then there is no tally to change.
  if (keys.length === 0) return 0
  let removedCount = 0
  for (const key of keys) {
    const messageId = String(decodeKey(key)[3])
    const position = yield* positionOf(tx, queueId, messageId)
    tx.delete(key)
    if (position === undefined) continue
    removeMessage(tx, queueId, messageId, position)
    removedCount += 1
  }
  const tally = yield* getTally(tx, queueId)
  saveTally(tx, queueId, { ...tally, messageCount: tally.messageCount - removedCount })
  return keys.length
}
