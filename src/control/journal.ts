// The journal: what happened to each request, in a ring in memory. Entries get numbers in the order in which the requests
// ended.
import {
  Entry,
  resourceOf,
  type Head,
  type JournalEntry,
  type JournalWinner,
  type NewEntry,
} from './entry.ts'
import { viewOf } from './entry-view.ts'
import { clientName, type ClientSource } from './client.ts'
import { isConflict } from './refusal.ts'
import { findWinner } from './winner.ts'

export type JournalSettings = {
  readonly countMax: number
  readonly bytesMax: number
  /** Decodes the head of a request over HTTP. */
  decodeHead(text: string): Head
  /** What names a client, in this order. */
  readonly clientBy: readonly ClientSource[]
}

export const JOURNAL_COUNT_MAX = 2_000
export const JOURNAL_BYTES_MAX = 16 * 1024 * 1024

export type JournalFilter = {
  /** Only entries with a greater id. */
  readonly since?: number
  /** The resource, or a folder above it: `/account/container`. */
  readonly resource?: string
  readonly operation?: string
  readonly client?: string
  readonly status?: number | string
  readonly conflicts?: boolean
  /** The newest ones are returned. */
  readonly countMax?: number
}

type Listener = (entry: Entry) => void

export class Journal {
  readonly #settings: JournalSettings
  /** By id modulo `countMax`. */
  readonly #ring: (Entry | undefined)[] = []
  /** What each place of the ring holds. Looking at the old entry itself would cost more than all the rest. */
  readonly #bytesAt: number[] = []
  #firstId = 1
  #nextId = 1
  #bytes = 0
  #displacedCount = 0
  readonly #listeners = new Set<Listener>()

  constructor(settings: JournalSettings) {
    this.#settings = settings
  }

  record(entry: NewEntry): void {
    const id = this.#nextId
    const { countMax, decodeHead } = this.#settings
    const lostTo = entry.errorCode === undefined ? undefined : this.#winnerOf(id, entry)
    const bytes = bytesOf(entry)
    if (id - this.#firstId >= countMax) this.#displace()
    while (this.#isOverBytes(bytes)) this.#displace()
    const recorded = new Entry(id, lostTo, entry, decodeHead)
    const at = id % countMax
    this.#ring[at] = recorded
    this.#bytesAt[at] = bytes
    this.#bytes += bytes
    this.#nextId = id + 1
    if (this.#listeners.size > 0) for (const listener of this.#listeners) listener(recorded)
  }

  #winnerOf(id: number, refused: NewEntry): number | undefined {
    const { decodeHead, clientBy } = this.#settings
    const lost = new Entry(id, undefined, refused, decodeHead)
    return findWinner(lost, this.#backwards(), clientBy)
  }

  #isOverBytes(added: number): boolean {
    return this.#bytes + added > this.#settings.bytesMax && this.#firstId < this.#nextId
  }

  #displace(): void {
    this.#drop()
    this.#displacedCount += 1
  }

  #drop(): void {
    const at = this.#firstId % this.#settings.countMax
    this.#bytes -= this.#bytesAt[at] ?? 0
    // Not `undefined`, which would make the array a mix of kinds for a moment.
    this.#ring[at] = undefined
    this.#firstId += 1
  }

  get lastId(): number {
    return this.#nextId - 1
  }

  /** Entries that are no longer in memory. */
  get droppedCount(): number {
    return this.#firstId - 1
  }

  /** Entries that newer ones have displaced since the journal was cleared. */
  get displacedCount(): number {
    return this.#displacedCount
  }

  get clientBy(): readonly ClientSource[] {
    return this.#settings.clientBy
  }

  find(id: number): Entry | undefined {
    const kept = this.#ring[id % this.#settings.countMax]
    return kept?.id === id ? kept : undefined
  }

  /** Oldest first. */
  *entries(since = 0): Generator<Entry> {
    for (let id = Math.max(since + 1, this.#firstId); id < this.#nextId; id += 1) {
      const entry = this.find(id)
      if (entry !== undefined) yield entry
    }
  }

  *#backwards(): Generator<Entry> {
    for (let id = this.#nextId - 1; id >= this.#firstId; id -= 1) {
      const entry = this.find(id)
      if (entry !== undefined) yield entry
    }
  }

  view(entry: Entry): JournalEntry {
    const view = viewOf(entry, this.#settings.clientBy)
    const winner = entry.lostTo === undefined ? undefined : this.find(entry.lostTo)
    return winner === undefined ? view : { ...view, winner: this.#winner(winner, entry) }
  }

  #winner(winner: Entry, loser: Entry): JournalWinner {
    const beforeMs = loser.startedMs + loser.durationMs - winner.startedMs - winner.durationMs
    return {
      client: clientName(winner, this.#settings.clientBy),
      operation: winner.operation,
      // Times are whole milliseconds plus a duration, so it could be a fraction below zero.
      beforeMs: Math.max(0, Math.round(beforeMs * 1_000) / 1_000),
    }
  }

  /** Oldest first. */
  list(filter: JournalFilter = {}): readonly JournalEntry[] {
    const { since = 0, countMax = Infinity } = filter
    const found: JournalEntry[] = []
    for (const entry of this.#backwards()) {
      if (entry.id <= since || found.length >= countMax) break
      if (this.matches(entry, filter)) found.push(this.view(entry))
    }
    return found.reverse()
  }

  matches(entry: Entry, filter: JournalFilter): boolean {
    return matches(entry, filter, this.#settings.clientBy)
  }

  /** Calls `listener` with every new entry until the returned function is called. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Forgets all entries; ids go on. */
  clear(): void {
    while (this.#firstId < this.#nextId) this.#drop()
    this.#displacedCount = 0
  }
}

/** Besides its texts (measured with 10,000 entries). */
const ENTRY_BYTES = 500
const NOTE_BYTES = 250

/** The memory that an entry holds, roughly. */
function bytesOf({ headText, notes }: NewEntry): number {
  return ENTRY_BYTES + headText.length + notes.length * NOTE_BYTES
}

function matches(
  entry: Entry,
  { resource, operation, client, status, conflicts }: JournalFilter,
  by: readonly ClientSource[],
): boolean {
  if (conflicts === true && !isConflict(entry)) return false
  if (operation !== undefined && entry.operation !== operation) return false
  if (status !== undefined && String(entry.status) !== String(status)) return false
  if (client !== undefined && clientName(entry, by) !== client) return false
  if (resource === undefined) return true
  const own = resourceOf(entry)
  return own === resource || own.startsWith(resource.endsWith('/') ? resource : `${resource}/`)
}
