// Removes the messages of deleted and cleared queues, and expired messages, in bounded transactions. Clients
// already see none of them.
import { decodeKey } from '../../kv/key.ts'
import type { Kv, Step, Tx } from '../../kv/kv.ts'
import { removeExpired } from './expiry.ts'
import { DELETED_QUEUES, deletedQueueKey, messageIdsFrom, messageRanges, tallyKey } from './keys.ts'
import { expiryOf } from './message-id.ts'

/** Small enough that concurrent writes wait only a few milliseconds. */
const RECORDS_PER_STEP = 200

type SweptQueues = { readonly recordCount: number }

/** One pass. `nowMs` is by the store's clock. */
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

/** The last step, which finds nothing more, deletes the tally and the mark. */
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

/** Visits every queue that has messages, with one seek each. */
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

/** When the first message of a queue expires; undefined if none does. */
type Expiry = { readonly queueId: number; readonly expiresMs: number | undefined }

async function firstExpiry(kv: Kv, fromQueueId: number): Promise<Expiry | undefined> {
  const range = { ...messageIdsFrom(fromQueueId), countMax: 1 }
  const [key] = await kv.read((tx) => tx.scanKeys(range))
  const first = key && decodeKey(key)
  return first && { queueId: Number(first[1]), expiresMs: expiryOf(String(first[2])) }
}
