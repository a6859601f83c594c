// The messages that nobody can get now, and their early return by an operator. Messages are sorted by the time at which
// they become visible, so those of a queue are one range.
import { decodeKey } from '../../kv/key.ts'
import { keyAfter, type Key, type Kv, type ReadTx, type Step, type Tx } from '../../kv/kv.ts'
import { decodeRecord } from '../../kv/record.ts'
import { giveWay } from '../../kv/step.ts'
import { ALL_QUEUES, decodePosition, invisibleRange, messageKey, type Position } from './keys.ts'
import {
  decodeMessage,
  isMessageExpired,
  messagePosition,
  saveMessage,
  type MessageRecord,
} from './message.ts'
import { getQueue, type Queue, type QueueAddress } from './queue.ts'
import { getTally, saveTally, tallyAfterMove } from './tally.ts'

/** Hidden by a get, or put with a delay. */
export type HeldMessage = MessageRecord & Position & QueueAddress & { readonly queueId: number }

type HeldMessages = { readonly messages: readonly HeldMessage[]; readonly isCut: boolean }

type ListHeld = {
  readonly countMax: number
  /** One scan each. */
  readonly queuesMax: number
  readonly nowMs: number
}

const QUEUES_PER_STEP = 100

/** Each page of queues is a transaction of its own, so the list is not of one moment. */
export async function listHeldMessages(
  kv: Pick<Kv, 'read'>,
  { countMax, queuesMax, nowMs }: ListHeld,
): Promise<HeldMessages> {
  const messages: HeldMessage[] = []
  let from: Key | undefined = ALL_QUEUES.from
  for (let visited = 0; from !== undefined; visited += QUEUES_PER_STEP) {
    if (visited >= queuesMax || messages.length > countMax) break
    const start: Key = from
    const wanted = { countMax: countMax + 1 - messages.length, nowMs }
    const page = await kv.read((tx) => heldPage(tx, start, wanted))
    messages.push(...page.messages)
    from = page.next
  }
  const isCut = from !== undefined || messages.length > countMax
  return { messages: messages.slice(0, countMax), isCut }
}

type HeldPage = { readonly messages: readonly HeldMessage[]; readonly next: Key | undefined }

function* heldPage(
  tx: ReadTx,
  from: Key,
  { countMax, nowMs }: Pick<ListHeld, 'countMax' | 'nowMs'>,
): Step<HeldPage> {
  const queues = yield* tx.scanFields({ from, to: ALL_QUEUES.to, countMax: QUEUES_PER_STEP })
  const messages: HeldMessage[] = []
  for (const { key, value } of queues) {
    const [, account = '', queue = ''] = decodeKey(key).map(String)
    const { id: queueId } = decodeRecord<Queue>(value)
    const held = yield* heldIn(tx, queueId, { countMax: countMax - messages.length, nowMs })
    messages.push(...held.map((message) => ({ ...message, account, queue, queueId })))
    if (messages.length >= countMax) break
  }
  const last = queues.at(-1)
  const isEnd = last === undefined || queues.length < QUEUES_PER_STEP
  return { messages, next: isEnd ? undefined : keyAfter(last.key) }
}

const MESSAGES_PER_SCAN = 500

/** A message may expire while it is invisible. */
function* heldIn(
  tx: ReadTx,
  queueId: number,
  { countMax, nowMs }: Pick<ListHeld, 'countMax' | 'nowMs'>,
): Step<readonly (MessageRecord & Position)[]> {
  const held: (MessageRecord & Position)[] = []
  let { from, to } = invisibleRange(queueId, nowMs)
  while (held.length < countMax) {
    const entries = yield* tx.scanFields({ from, to, countMax: MESSAGES_PER_SCAN })
    for (const { key, value } of entries) {
      const record = decodeRecord<MessageRecord>(value)
      if (!isMessageExpired(record, nowMs)) held.push({ ...record, ...decodePosition(key) })
    }
    const last = entries.at(-1)
    if (last === undefined || entries.length < MESSAGES_PER_SCAN) break
    from = keyAfter(last.key)
    yield* giveWay()
  }
  return held.slice(0, countMax)
}

/** The next get may have the message. The move makes the receipt of whoever got it stale. */
export function* makeMessageVisible(
  tx: Tx,
  address: QueueAddress,
  messageId: string,
  nowMs: number,
): Step<'moved' | 'visible' | 'none' | 'no queue'> {
  const queue = yield* getQueue(tx, address)
  if (queue === undefined) return 'no queue'
  const { id: queueId } = queue
  const position = yield* messagePosition(tx, queueId, messageId)
  if (position === undefined) return 'none'
  const key = messageKey(queueId, position)
  const value = yield* tx.get(key)
  if (value === undefined) return 'none'
  const current = decodeMessage({ key, value })
  if (isMessageExpired(current, nowMs)) return 'none'
  if (position.visibleAtMs <= nowMs) return 'visible'
  const tally = yield* getTally(tx, queueId)
  const message = { ...current, visibleAtMs: nowMs, sequence: tally.lastSequence + 1 }
  tx.delete(key)
  saveMessage(tx, queueId, message)
  saveTally(tx, queueId, tallyAfterMove(tally, message))
  return 'moved'
}
