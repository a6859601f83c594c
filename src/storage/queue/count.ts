// The approximate count of a queue's messages: of all, those that are invisible at the moment too. Like the
// service's "this number is not lower than the actual number of messages in the queue, but could be higher":
// it is exact unless thousands have just expired and are still to be swept.
// https://learn.microsoft.com/rest/api/storageservices/get-queue-metadata
import type { ReadTx, Step } from '../../kv/kv.ts'
import { countExpired } from './expiry.ts'
import { requireQueue, type Queue, type QueueAddress } from './queue.ts'
import { getTally } from './tally.ts'

/** So many take some milliseconds to count, for which others wait. */
const EXPIRED_COUNT_MAX = 5_000

export type CountedQueue = { readonly queue: Queue; readonly messageCount: number }

export function* readQueueCount(
  tx: ReadTx,
  address: QueueAddress,
  nowMs: number,
): Step<CountedQueue> {
  const queue = yield* requireQueue(tx, address)
  const tally = yield* getTally(tx, queue.id)
  const expiredCount = yield* countExpired(tx, queue.id, nowMs, EXPIRED_COUNT_MAX)
  return { queue, messageCount: tally.messageCount - expiredCount }
}
