// Sends new entries of the journal to one client. The journal itself is the buffer: a slow client holds only its
// position. If the journal drops entries before the client has read them, the client gets their count.
import type { Journal, JournalFilter } from '../../../control/journal.ts'
import type { Exchange } from '../../../http/protocol/exchange.ts'

export type StreamTimes = {
  /** A comment this often keeps proxies and the connection's own timeout from ending a quiet stream. */
  readonly heartbeatMs: number
}

type Streamed = {
  readonly journal: Journal
  readonly filter: JournalFilter
  /** The id after which it begins; by default, only new entries are sent. */
  readonly from: number | undefined
  readonly times: StreamTimes
}

const HEADERS = ['Content-Type', 'text/event-stream', 'Cache-Control', 'no-store']

/** What is done before other work of the server gets its turn. */
const LOOKED_AT_MAX = 200
const TEXT_MAX = 64 * 1024

export async function streamEntries(
  { journal, filter, from = journal.lastId, times }: Streamed,
  exchange: Exchange,
): Promise<void> {
  const client = { isGone: false, isFull: false }
  let wake = (): void => undefined
  const send = (text: string): void => {
    client.isFull = !exchange.write(Buffer.from(text))
  }
  exchange.begin(200, [HEADERS], { isLast: true })
  send(': entries of the journal\n\n')
  const stopListening = journal.listen(() => wake())
  // A client that does not read at all is cut off by the timeout, and may resume.
  const heartbeat = setInterval(() => !client.isFull && send(': heartbeat\n\n'), times.heartbeatMs)
  exchange.whenGone(() => {
    client.isGone = true
    wake()
  })
  try {
    // A greater id is one of the server's last run: ids have begun again.
    let at = from > journal.lastId ? 0 : from
    while (!client.isGone) {
      const batch = nextBatch(journal, filter, at)
      at = batch.at
      if (batch.text !== '') send(batch.text)
      if (client.isFull) await exchange.drained()
      client.isFull = false
      if (at === journal.lastId && !client.isGone)
        await new Promise<void>((resolve) => (wake = resolve))
      // Entries of the same turn are sent together.
      await new Promise((resolve) => setImmediate(resolve))
    }
  } finally {
    stopListening()
    clearInterval(heartbeat)
  }
}

type Batch = { readonly at: number; readonly text: string }

/** The events behind `from`, as far as they fit into one turn of the event loop. */
function nextBatch(journal: Journal, filter: JournalFilter, from: number): Batch {
  const { droppedCount } = journal
  const lost = Math.max(0, droppedCount - from)
  let text = lost === 0 ? '' : `event: dropped\ndata: ${JSON.stringify({ count: lost })}\n\n`
  let at = from + lost
  let lookedAt = 0
  for (const entry of journal.entries(at)) {
    at = entry.id
    if (journal.matches(entry, filter)) {
      text += `id: ${entry.id}\ndata: ${JSON.stringify(journal.view(entry))}\n\n`
    }
    lookedAt += 1
    if (lookedAt === LOOKED_AT_MAX || text.length > TEXT_MAX) break
  }
  return { at, text }
}
