// Removes queues with their messages. Only the names go at once; the sweep removes the messages.
import type { Entry, Kv, Step, Tx } from '../../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../../kv/record.ts'
import { removeRange } from '../shared/remove-range.ts'
import { deletedQueueKey, queuesRange } from './keys.ts'
import type { Queue } from './queue.ts'

/** `names`: the account and the queue; without them, those of all accounts, or all of the account. */
export function resetQueues(kv: Kv, ...names: readonly string[]): Promise<number> {
  return removeRange(kv, queuesRange(...names), dropMessages)
}

function* dropMessages(tx: Tx, { value }: Entry): Step<void> {
  tx.put(deletedQueueKey(decodeRecord<Queue>(value).id), encodeRecord({}))
}
