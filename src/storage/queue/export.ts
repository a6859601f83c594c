// All messages of a queue with the time they live, also those that are invisible, in the order in which they become visible.
import { keyAfter, type Entry, type Key, type Kv, type ReadTx, type Step } from '../../kv/kv.ts'
import { messageRanges } from './keys.ts'
import { decodeMessage } from './message.ts'
import { requireQueue, type QueueAddress } from './queue.ts'

export type ExportedMessage = {
  readonly text: string
  /** -1: it never expires. */
  readonly timeToLiveSeconds: number
}

const PAGE_COUNT = 32

export async function* messagesOf(kv: Kv, address: QueueAddress): AsyncGenerator<ExportedMessage> {
  let from: Key | undefined
  for (;;) {
    const start = from
    const page = await kv.read((tx) => readPage(tx, address, start))
    for (const entry of page) yield exportedOf(entry)
    from = page.at(-1)?.key
    if (page.length < PAGE_COUNT) return
  }
}

function* readPage(
  tx: ReadTx,
  address: QueueAddress,
  after: Key | undefined,
): Step<readonly Entry[]> {
  const { id } = yield* requireQueue(tx, address)
  const [range] = messageRanges(id)
  if (range === undefined) return []
  const from = after === undefined ? range.from : keyAfter(after)
  return yield* tx.scan({ from, to: range.to, countMax: PAGE_COUNT })
}

function exportedOf(entry: Entry): ExportedMessage {
  const { text, insertedMs, expiresMs } = decodeMessage(entry)
  const seconds = expiresMs === undefined ? -1 : Math.ceil((expiresMs - insertedMs) / 1_000)
  return { text: Buffer.from(text).toString('utf8'), timeToLiveSeconds: seconds }
}
