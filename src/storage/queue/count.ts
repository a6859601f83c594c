// The approximate number of messages in a queue, including invisible ones. As the service says, "this number is
// not lower than the actual number of messages in the queue, but could be higher": it is exact unless thousands
// have just expired and are still to be swept.
// https://learn.microsoft.com/rest/api/storageservices/get-queue-metadata
import type { ReadTx, Step } from '../../kv/kv.ts'
import { countExpired } from './expiry.ts'
import { requireQueue, type Queue, type QueueAddress } from './queue.ts'
import { getTally } from './tally.ts'

/** Counting this many takes a few milliseconds, during which others wait. */
const EXPIRED_COUNT_MAX = 5_000

type CountedQueue = { readonly queue: Queue; readonly messageCount: number }

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
