// Get and Peek Messages return the first visible messages. Until the sweep removes them (sweep.ts), expired
// messages may be among them, a million perhaps. If all messages of a queue have the same time to live, the
// expired ones come first, and one seek skips them. Otherwise each is read once, a bounded number per
// transaction, and the tally records how far gets have come.
import type { Entry, Key, Kv, ReadTx, Step, Tx } from '../../kv/kv.ts'
import { decodeRecord } from '../../kv/record.ts'
import { decodePosition, messageKey, visibleRange, type Position } from './keys.ts'
import {
  decodeMessage,
  isMessageExpired,
  saveMessage,
  type Message,
  type MessageRecord,
} from './message.ts'
import { requireQueue, type QueueAddress } from './queue.ts'
import { barePosition, getTally, isBefore, saveTally, tallyAfterMove, type Tally } from './tally.ts'

/** Reading this many records takes a few milliseconds, during which others wait. */
const RECORDS_PER_STEP = 5_000
/** Gives up after this many steps and reports the queue as empty. */
const STEPS_MAX = 20
const RECORDS_PER_SCAN = 500

export type Visible = {
  readonly messages: readonly Message[]
  /** The step ended after many expired messages: there may be more messages after them. */
  readonly isCut: boolean
}

type GetMessages = { readonly countMax: number; readonly visibilityTimeoutMs: number }

/** Hides the messages in the same transaction, so a visible message goes to exactly one get. */
export function* getMessages(
  tx: Tx,
  address: QueueAddress,
  { countMax, visibilityTimeoutMs }: GetMessages,
  nowMs: number,
): Step<Visible> {
  const { id: queueId } = yield* requireQueue(tx, address)
  const tally = yield* getTally(tx, queueId)
  const found = yield* scanVisible(tx, queueId, tally, { countMax, nowMs })
  const visibleAtMs = nowMs + visibilityTimeoutMs
  let after: Tally = found.passed === undefined ? tally : { ...tally, passed: found.passed }
  const messages: Message[] = []
  for (const message of found.messages) {
    const [dequeueCount, sequence] = [message.dequeueCount + 1, after.lastSequence + 1]
    const got = { ...message, dequeueCount, visibleAtMs, sequence }
    tx.delete(messageKey(queueId, message))
    saveMessage(tx, queueId, got)
    after = tallyAfterMove(after, got)
    messages.push(got)
  }
  if (after !== tally) saveTally(tx, queueId, after)
  return { messages, isCut: found.isCut }
}

export function* peekMessages(
  tx: ReadTx,
  address: QueueAddress,
  countMax: number,
  nowMs: number,
): Step<Visible> {
  const { id: queueId } = yield* requireQueue(tx, address)
  const tally = yield* getTally(tx, queueId)
  return yield* scanVisible(tx, queueId, tally, { countMax, nowMs })
}

/** Get Messages, in several steps if there are many expired messages. */
export async function getFirstMessages(
  kv: Pick<Kv, 'read' | 'write'>,
  address: QueueAddress,
  get: GetMessages,
  nowMs: number,
): Promise<readonly Message[]> {
  for (let step = 1; ; step += 1) {
    const visible = await kv.write((tx) => getMessages(tx, address, get, nowMs))
    if (!needsAnotherStep(visible) || step === STEPS_MAX) return visible.messages
  }
}

/** Peek Messages, in several steps if there are many expired messages. It only writes how far it has come. */
export async function peekFirstMessages(
  kv: Pick<Kv, 'read' | 'write'>,
  address: QueueAddress,
  countMax: number,
  nowMs: number,
): Promise<readonly Message[]> {
  for (let step = 1; ; step += 1) {
    const visible = await kv.read((tx) => peekMessages(tx, address, countMax, nowMs))
    if (!needsAnotherStep(visible)) return visible.messages
    await kv.write((tx) => passExpired(tx, address, nowMs))
    if (step === STEPS_MAX) return visible.messages
  }
}

function needsAnotherStep({ messages, isCut }: Visible): boolean {
  return isCut && messages.length === 0
}

function* passExpired(tx: Tx, address: QueueAddress, nowMs: number): Step<void> {
  const { id: queueId } = yield* requireQueue(tx, address)
  const tally = yield* getTally(tx, queueId)
  const { passed } = yield* scanVisible(tx, queueId, tally, { countMax: 1, nowMs })
  if (passed !== undefined) saveTally(tx, queueId, { ...tally, passed })
}

type Found = Visible & {
  /** The position of the first live message, if there are expired ones before it. */
  readonly passed: Position | undefined
}

type Wanted = { readonly countMax: number; readonly nowMs: number }

function* scanVisible(
  tx: ReadTx,
  queueId: number,
  tally: Tally,
  { countMax, nowMs }: Wanted,
): Step<Found> {
  const live: Message[] = []
  // Neither position nor text of expired messages is decoded: there may be many large ones.
  const visit = ({ key, value }: Entry): Visited => {
    const isLive = !isMessageExpired(decodeRecord<MessageRecord>(value), nowMs)
    if (isLive && live.length < countMax) live.push(decodeMessage({ key, value }))
    return { key, isLive }
  }
  let from = firstLivePosition(tally, nowMs)
  let [visitedCount, scanCount, hasPassed] = [0, countMax, false]
  for (;;) {
    const range = { ...visibleRange(queueId, from, nowMs), countMax: scanCount }
    const visited = (yield* tx.scan(range)).map(visit)
    visitedCount += visited.length
    hasPassed ||= visited.some(({ isLive }) => !isLive)
    const last = visited.at(-1)
    if (last !== undefined) from = positionAfter(last)
    const [isEnd, isFull] = [visited.length < scanCount, live.length === countMax]
    if (isEnd || isFull || visitedCount >= RECORDS_PER_STEP) {
      const passed = hasPassed ? barePosition(live[0] ?? from) : undefined
      return { messages: live, isCut: !isEnd && !isFull, passed }
    }
    scanCount = RECORDS_PER_SCAN
  }
}

type Visited = { readonly key: Key; readonly isLive: boolean }

/** All messages before it have expired. */
function firstLivePosition({ passed, visibleMsMax }: Tally, nowMs: number): Position {
  const leastMs = visibleMsMax === undefined ? 0 : Math.max(nowMs - visibleMsMax + 1, 0)
  const least = { visibleAtMs: leastMs, sequence: 0 }
  return passed !== undefined && isBefore(least, passed) ? passed : least
}

function positionAfter({ key }: Visited): Position {
  const { visibleAtMs, sequence } = decodePosition(key)
  return { visibleAtMs, sequence: sequence + 1 }
}
