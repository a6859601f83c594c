// Get and Peek Messages: the first ones that are visible. Those that have expired may stand among them until
// the sweep removes them (sweep.ts), a million perhaps. Where all of a queue live equally long, they end where
// the live ones begin, and one seek finds that place. Otherwise they are looked at once, a bounded number in
// a transaction, and the tally says how far everybody has got.
import type { Entry, Key, Kv, ReadTx, Step, Tx } from '../../kv/kv.ts'
import { decodeRecord, recordBytes, type StoredRecord } from '../../kv/record.ts'
import { decodePosition, messageKey, visibleRange, type Position } from './keys.ts'
import { isExpired, saveMessage, type Message, type MessageRecord } from './message.ts'
import { requireQueue, type QueueAddress } from './queue.ts'
import { getTally, isBefore, placeOf, saveTally, tallyOfPlaced, type Tally } from './tally.ts'

/** So many records take some milliseconds, for which others wait. */
const PASSED_PER_STEP = 5_000
/** A get that has passed so many times as many without a find says that there is nothing, for now. */
const STEPS_MAX = 20
const PASSED_PER_SCAN = 500

export type Visible = {
  readonly messages: readonly Message[]
  /** Many expired ones stood in the way: there may be more messages behind them. */
  readonly isCut: boolean
}

export type GetMessages = { readonly countMax: number; readonly visibilityTimeoutMs: number }

/** One step for all of them: a visible message goes to exactly one get. */
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
    after = tallyOfPlaced(after, got)
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

/** Get Messages on a store, however many expired ones stand in the way. */
export function getFirstMessages(
  kv: Pick<Kv, 'read' | 'write'>,
  address: QueueAddress,
  get: GetMessages,
  nowMs: number,
): Promise<readonly Message[]> {
  return behindExpired(() => kv.write((tx) => getMessages(tx, address, get, nowMs)))
}

/** Peek Messages likewise; it writes nothing but how far it has got. */
export function peekFirstMessages(
  kv: Pick<Kv, 'read' | 'write'>,
  address: QueueAddress,
  countMax: number,
  nowMs: number,
): Promise<readonly Message[]> {
  return behindExpired(async () => {
    const seen = await kv.read((tx) => peekMessages(tx, address, countMax, nowMs))
    if (isToBeAskedAgain(seen)) await kv.write((tx) => passExpired(tx, address, nowMs))
    return seen
  })
}

async function behindExpired(ask: () => Promise<Visible>): Promise<readonly Message[]> {
  for (let step = 1; ; step += 1) {
    const seen = await ask()
    if (!isToBeAskedAgain(seen) || step === STEPS_MAX) return seen.messages
  }
}

function isToBeAskedAgain({ messages, isCut }: Visible): boolean {
  return isCut && messages.length === 0
}

function* passExpired(tx: Tx, address: QueueAddress, nowMs: number): Step<void> {
  const { id: queueId } = yield* requireQueue(tx, address)
  const tally = yield* getTally(tx, queueId)
  const { passed } = yield* scanVisible(tx, queueId, tally, { countMax: 1, nowMs })
  if (passed !== undefined) saveTally(tx, queueId, { ...tally, passed })
}

type Found = Visible & {
  /** Where the first live one stands, if expired ones were before it. */
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
  // Of what has expired neither place nor text is decoded: there may be many, and large ones.
  const see = ({ key, value }: Entry): Seen => {
    const record = decodeRecord<MessageRecord>(value)
    const isLive = !isExpired(record, nowMs)
    if (isLive && live.length < countMax) live.push(copyMessage(key, value, record))
    return { key, isLive }
  }
  let from = firstThatMayLive(tally, nowMs)
  let [seenCount, atOnce, hasPassed] = [0, countMax, false]
  for (;;) {
    const range = { ...visibleRange(queueId, from, nowMs), countMax: atOnce }
    const seen = (yield* tx.scan(range)).map(see)
    seenCount += seen.length
    hasPassed ||= seen.some(({ isLive }) => !isLive)
    const last = seen.at(-1)
    if (last !== undefined) from = behind(last)
    const [isEnd, isFull] = [seen.length < atOnce, live.length === countMax]
    if (isEnd || isFull || seenCount >= PASSED_PER_STEP) {
      const passed = hasPassed ? placeOf(live[0] ?? from) : undefined
      return { messages: live, isCut: !isEnd && !isFull, passed }
    }
    atOnce = PASSED_PER_SCAN
  }
}

type Seen = { readonly key: Key; readonly isLive: boolean }

function copyMessage(key: Key, value: StoredRecord, record: MessageRecord): Message {
  return { ...record, ...decodePosition(key), text: recordBytes(value) }
}

function firstThatMayLive({ passed, visibleMsMax }: Tally, nowMs: number): Position {
  const leastMs = visibleMsMax === undefined ? 0 : Math.max(nowMs - visibleMsMax + 1, 0)
  const least = { visibleAtMs: leastMs, sequence: 0 }
  return passed !== undefined && isBefore(least, passed) ? passed : least
}

function behind({ key }: Seen): Position {
  const { visibleAtMs, sequence } = decodePosition(key)
  return { visibleAtMs, sequence: sequence + 1 }
}
