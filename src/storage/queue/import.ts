// Messages of another server, with their times and counts. Ids are new, because ours begin with the expiry time
// (message-id.ts); so receipts from before the import are stale.
import type { Step, Tx } from '../../kv/kv.ts'
import { messageIdAt } from './message-id.ts'
import { saveMessage, type Message } from './message.ts'
import { requireQueue, type QueueAddress } from './queue.ts'
import { getTally, saveTally, tallyAfterMove } from './tally.ts'

export type ImportedMessage = Omit<Message, 'id' | 'sequence'> & { readonly randomGuid: string }

export function* importMessages(
  tx: Tx,
  address: QueueAddress,
  messages: readonly ImportedMessage[],
): Step<void> {
  const { id: queueId } = yield* requireQueue(tx, address)
  let tally = yield* getTally(tx, queueId)
  for (const { randomGuid, ...message } of messages) {
    const times = { nowMs: message.insertedMs, expiresMs: message.expiresMs }
    const id = messageIdAt(times, randomGuid)
    const placed = { ...message, id, sequence: tally.lastSequence + 1 }
    saveMessage(tx, queueId, placed)
    const messageCount = tally.messageCount + 1
    tally = { ...tallyAfterMove(tally, placed), messageCount }
  }
  saveTally(tx, queueId, tally)
}
