// Expired messages. Readers ignore them from that millisecond on (visible.ts), and the sweep removes their
// records in bounded transactions, so that a million messages that expire at once delay no request.
import { decodeKey } from '../../kv/key.ts'
import type { Entry, Kv, ReadTx, Step, Tx } from '../../kv/kv.ts'
import { decodeRecord } from '../../kv/record.ts'
import { expiredRange, type Position } from './keys.ts'
import { removeMessage } from './message.ts'
import { getTally, saveTally } from './tally.ts'

/** Small enough that concurrent requests wait only a few milliseconds. */
const MESSAGES_PER_STEP = 200

/** Returns the number of removed messages. */
export async function removeExpired(kv: Kv, queueId: number, nowMs: number): Promise<number> {
  let count = 0
  for (;;) {
    const removed = await kv.write((tx) => removeSomeExpired(tx, queueId, nowMs))
    count += removed
    if (removed < MESSAGES_PER_STEP) return count
  }
}

/** The number of expired messages that are still to be removed, at most `countMax`. */
export function* countExpired(
  tx: ReadTx,
  queueId: number,
  nowMs: number,
  countMax: number,
): Step<number> {
  const range = { ...expiredRange(queueId, nowMs), countMax }
  return (yield* tx.scanKeys(range)).length
}

function* removeSomeExpired(tx: Tx, queueId: number, nowMs: number): Step<number> {
  const range = { ...expiredRange(queueId, nowMs), countMax: MESSAGES_PER_STEP }
  const expired = (yield* tx.scan(range)).map(expiredMessage)
  // If the queue was cleared and swept meanwhile, there is no tally to change.
  if (expired.length === 0) return 0
  for (const { id, position } of expired) removeMessage(tx, queueId, id, position)
  const tally = yield* getTally(tx, queueId)
  saveTally(tx, queueId, { ...tally, messageCount: tally.messageCount - expired.length })
  return expired.length
}

function expiredMessage({ key, value }: Entry) {
  return { id: String(decodeKey(key)[2]), position: decodeRecord<Position>(value) }
}
