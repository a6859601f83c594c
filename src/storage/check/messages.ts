// The ids of messages lead to their messages, and the tally of a queue counts them.
import { decodeKey, encodeKey } from '../../kv/key.ts'
import { prefixRange, type Key, type Kv, type ReadTx, type Step, type Tx } from '../../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../../kv/record.ts'
import { problem, repairBy, type Problem, type Report } from '../../extent/sweep/problem.ts'
import { scanSteps } from '../../extent/scan.ts'
import {
  decodePosition,
  deletedQueueKey,
  messageIdKey,
  messageKey,
  tallyKey,
} from '../queue/keys.ts'
import { messagePosition } from '../queue/message.ts'
import { getTally, saveTally, type Tally } from '../queue/tally.ts'

export async function checkMessages(kv: Kv, report: Report): Promise<void> {
  const counts = new Map<number, number>()
  for await (const { key, value } of scanSteps(kv, prefixRange(encodeKey('message')))) {
    const queueId = Number(decodeKey(key)[1])
    counts.set(queueId, (counts.get(queueId) ?? 0) + 1)
    const { id } = decodeRecord<{ id: string }>(value)
    const found = await kv.read((tx) => lookAtMessage(tx, queueId, id, key))
    if (found !== undefined) await report(found)
  }
  for await (const { key } of scanSteps(kv, prefixRange(encodeKey('message-id')))) {
    const found = await kv.read((tx) => lookAtId(tx, key))
    if (found !== undefined) await report(found)
  }
  for await (const { key, value } of scanSteps(kv, prefixRange(encodeKey('queue')))) {
    const { id } = decodeRecord<{ id: number }>(value)
    const found = await kv.read((tx) => lookAtTally(tx, key, id, counts.get(id) ?? 0))
    if (found !== undefined) await report(found)
  }
}

function* lookAtMessage(
  tx: ReadTx,
  queueId: number,
  id: string,
  key: Key,
): Step<Problem | undefined> {
  if (yield* isDeleted(tx, queueId)) return undefined
  const position = decodePosition(key)
  const stored = yield* messagePosition(tx, queueId, id)
  if (stored?.sequence === position.sequence && stored.visibleAtMs === position.visibleAtMs)
    return undefined
  const entry = messageIdKey(queueId, id)
  const repair = repairBy('corrected it', (into) => put(into, entry, position))
  return { ...problem('indexEntryMissing', key, 'its id does not lead to it'), repair }
}

function* lookAtId(tx: ReadTx, key: Key): Step<Problem | undefined> {
  const [, id, messageId] = decodeKey(key)
  const queueId = Number(id)
  if (yield* isDeleted(tx, queueId)) return undefined
  const position = yield* messagePosition(tx, queueId, String(messageId))
  const message = position && (yield* tx.get(messageKey(queueId, position)))
  if (message !== undefined) return undefined
  const repair = repairBy('removed it', (into) => remove(into, key))
  return { ...problem('indexEntryStale', key, 'there is no such message'), repair }
}

function* lookAtTally(
  tx: ReadTx,
  queue: Key,
  queueId: number,
  messageCount: number,
): Step<Problem | undefined> {
  const tally = yield* getTally(tx, queueId)
  if (tally.messageCount === messageCount) return undefined
  const detail = `its tally ${JSON.stringify(decodeKey(tallyKey(queueId)))} counts ${tally.messageCount} of ${messageCount} messages`
  const right = { ...tally, messageCount }
  const repair = repairBy('corrected it', (into) => correct(into, queueId, right))
  return { ...problem('totalWrong', queue, detail), repair }
}

function* isDeleted(tx: ReadTx, queueId: number): Step<boolean> {
  return (yield* tx.get(deletedQueueKey(queueId))) !== undefined
}

function* put(tx: Tx, key: Key, fields: object): Step<void> {
  tx.put(key, encodeRecord(fields))
}

function* remove(tx: Tx, key: Key): Step<void> {
  tx.delete(key)
}

function* correct(tx: Tx, queueId: number, tally: Tally): Step<void> {
  saveTally(tx, queueId, tally)
}
