// Messages whose time to live is over. Nobody gets them from that millisecond on, and before anybody gets,
// peeks or counts what is left, their records are removed: in bounded transactions, so that a million that
// expire at once hold up no other request. What nobody asks for, the sweep removes.
import { decodeKey } from '../../kv/key.ts'
import type { Kv, ReadTx, Step, Tx } from '../../kv/kv.ts'
import { expiredRange } from './keys.ts'
import { positionOf, removeMessage } from './message.ts'
import { requireQueue, type QueueAddress } from './queue.ts'
import { getTally, saveTally } from './tally.ts'

/** Small enough that a request that comes meanwhile waits a few milliseconds only. */
const MESSAGES_PER_STEP = 500

/** What is expired at this time is removed when this resolves, from the queue as it is now. */
export async function removeExpiredOf(kv: Kv, address: QueueAddress, nowMs: number): Promise<void> {
  const queueId = await kv.read(function* (tx) {
    const { id } = yield* requireQueue(tx, address)
    return (yield* hasExpired(tx, id, nowMs)) ? id : undefined
  })
  if (queueId !== undefined) await removeExpired(kv, queueId, nowMs)
}

/** How many there were. */
export async function removeExpired(kv: Kv, queueId: number, nowMs: number): Promise<number> {
  let count = 0
  for (;;) {
    const removed = await kv.write((tx) => removeSomeExpired(tx, queueId, nowMs))
    count += removed
    if (removed < MESSAGES_PER_STEP) return count
  }
}

function* hasExpired(tx: ReadTx, queueId: number, nowMs: number): Step<boolean> {
  const found = yield* tx.scanWith({ ...expiredRange(queueId, nowMs), countMax: 1 }, () => true)
  return found.length > 0
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
