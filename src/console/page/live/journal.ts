// The newest entries of the journal, live: one stream of events, which begins again where it ended when the connection is
// lost. All pages read the same list.
import type { JournalEntry } from '../../../control/api.ts'
import type { Overview } from '../../../control/overview.ts'
import { ApiFailure, get, messageOf, sent } from '../api/call.ts'
import { isTokenNeeded, token } from '../api/token.ts'
import { batch, effect, signal } from '../library.ts'
import { connection, firstAccount, runId } from './connection.ts'
import { eventDecoder, type ServerEvent } from './sse.ts'

/** As many as a journal keeps by default. */
const KEPT_MAX = 2_000
const BACKOFF_MS = [250, 500, 1_000, 2_000, 4_000] as const
/** More changes a second can't be read anyway. */
const FLUSH_MS = 100
const WATCH_MS = 2_000
const OFF = 'This server keeps no journal: it was started with --journal off.'

/** Oldest first. */
export const entries = signal<readonly JournalEntry[]>([])
/** How many entries the page never saw, because the journal had dropped them. */
export const missedCount = signal(0)
/** Why there is no journal to show. */
export const journalFailure = signal<string | undefined>(undefined)
/** The first page of entries is there. */
export const isJournalLoaded = signal(false)

type Page = { readonly entries: readonly JournalEntry[]; readonly lastId: number }

let isOff = false
let lastId = 0
let pending: JournalEntry[] = []
let flushing: ReturnType<typeof setTimeout> | undefined

/** Never ends. */
export async function followJournal(): Promise<void> {
  let failures = 0
  for (;;) {
    try {
      await whenAllowed()
      await begin()
      await (isOff ? watch : stream)(() => (failures = 0))
      connection.value = 'disconnected'
    } catch (error) {
      const isRefused = error instanceof ApiFailure && error.status === 403
      if (isRefused) journalFailure.value = messageOf(error)
      connection.value = isRefused ? 'refused' : 'disconnected'
    }
    await pause(BACKOFF_MS[Math.min(failures, BACKOFF_MS.length - 1)] ?? 0)
    failures += 1
  }
}

/** Waits while the page has to ask for a token. */
function whenAllowed(): Promise<void> {
  return new Promise((resolve) => {
    const stop = effect(() => {
      if (isTokenNeeded.value && token.value !== undefined) return
      if (!isTokenNeeded.value) queueMicrotask(() => (stop(), resolve()))
    })
  })
}

/** A server that has been started again has a journal of its own. */
async function begin(): Promise<void> {
  const { runId: current, accounts } = await get<Overview>('overview')
  if (runId.value === current) return
  const page = await get<Page>('journal', { countMax: KEPT_MAX }).catch(nothingIfOff)
  isOff = page === undefined
  lastId = page?.lastId ?? 0
  pending = []
  batch(() => {
    runId.value = current
    firstAccount.value = accounts[0]
    entries.value = page?.entries ?? []
    missedCount.value = 0
    journalFailure.value = isOff ? OFF : undefined
    isJournalLoaded.value = true
  })
}

function nothingIfOff(error: unknown): undefined {
  if (!(error instanceof ApiFailure && error.status === 404)) throw error
}

/** Where there is no stream, regular questions tell whether the server is there. */
async function watch(connected: () => void): Promise<void> {
  const run = runId.peek()
  for (;;) {
    const { runId: current } = await get<Overview>('overview')
    if (current !== run) return
    connection.value = 'live'
    connected()
    await pause(WATCH_MS)
  }
}

async function stream(connected: () => void): Promise<void> {
  const answer = await sent('GET', `journal/stream?since=${lastId}`)
  if (answer.body === null) return
  connection.value = 'live'
  connected()
  const decode = eventDecoder()
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    for (const event of decode(value)) take(event)
  }
}

function take({ event, data }: ServerEvent): void {
  if (event === 'dropped') {
    missedCount.value += (JSON.parse(data) as { readonly count: number }).count
    return
  }
  const entry = JSON.parse(data) as JournalEntry
  lastId = entry.id
  pending.push(entry)
  flushing ??= setTimeout(flush, FLUSH_MS)
}

function flush(): void {
  flushing = undefined
  entries.value = [...entries.value, ...pending].slice(-KEPT_MAX)
  pending = []
}

function pause(forMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, forMs))
}
