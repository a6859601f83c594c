// What deletes, clears and the clock leave of queues, taken away in bounded transactions while others write:
// the messages of queues that were deleted or cleared, and messages that have expired. Nobody can see any of
// it meanwhile.
import { decodeKey } from '../../kv/key.ts'
import type { Kv, Step, Tx } from '../../kv/kv.ts'
import { removeExpired } from './expiry.ts'
import { DELETED_QUEUES, deletedQueueKey, messageIdsFrom, messageRanges, tallyKey } from './keys.ts'
import { expiryOf } from './message-id.ts'

/** Small enough that a write that comes meanwhile waits a few milliseconds only. */
const RECORDS_PER_STEP = 500

export type SweptQueues = { readonly recordCount: number }

/** One pass, at the time of the store's clock. */
export async function sweepQueues(kv: Kv, nowMs: number): Promise<SweptQueues> {
  let recordCount = 0
  for (;;) {
    const queueId = await firstDeleted(kv)
    if (queueId === undefined) break
    recordCount += await removeMessages(kv, queueId)
  }
  return { recordCount: recordCount + (await sweepExpired(kv, nowMs)) }
}

async function firstDeleted(kv: Kv): Promise<number | undefined> {
  const range = { ...DELETED_QUEUES, countMax: 1 }
  const [first] = await kv.read((tx) => tx.scanKeys(range))
  return first && Number(decodeKey(first)[1])
}

async function removeMessages(kv: Kv, queueId: number): Promise<number> {
  let count = 0
  for (;;) {
    const removed = await kv.write((tx) => removeSome(tx, queueId))
    count += removed
    if (removed === 0) return count
  }
}

/** The last step, which finds none, takes the tally and the mark away. */
function* removeSome(tx: Tx, queueId: number): Step<number> {
  for (const range of messageRanges(queueId)) {
    const bounded = { ...range, countMax: RECORDS_PER_STEP }
    const keys = yield* tx.scanKeys(bounded)
    for (const key of keys) tx.delete(key)
    if (keys.length > 0) return keys.length
  }
  tx.delete(tallyKey(queueId))
  tx.delete(deletedQueueKey(queueId))
  return 0
}

/** From queue to queue, of those that have messages: one seek each. */
async function sweepExpired(kv: Kv, nowMs: number): Promise<number> {
  let count = 0
  let next = await firstExpiry(kv, 0)
  while (next !== undefined) {
    const { queueId, expiresMs } = next
    if (expiresMs !== undefined && expiresMs <= nowMs)
      count += await removeExpired(kv, queueId, nowMs)
    next = await firstExpiry(kv, queueId + 1)
  }
  return count
}

/** The message of a queue that expires first, if any does. */
type Expiry = { readonly queueId: number; readonly expiresMs: number | undefined }

async function firstExpiry(kv: Kv, fromQueueId: number): Promise<Expiry | undefined> {
  const range = { ...messageIdsFrom(fromQueueId), countMax: 1 }
  const [key] = await kv.read((tx) => tx.scanKeys(range))
  const first = key && decodeKey(key)
  return first && { queueId: Number(first[1]), expiresMs: expiryOf(String(first[2])) }
}
