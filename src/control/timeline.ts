// What happened to one resource, for a picture: its requests, and the periods in which a client held something of it. All of
// it is read from the notes of the journal, so it costs nothing until somebody asks.
import { clientName } from './client.ts'
import { objectName, resourceOf, type Entry, type JournalEntry } from './entry.ts'
import type { Journal } from './journal.ts'
import type { Note, ObjectState } from './object.ts'

export type Timeline = {
  /** Oldest first. */
  readonly entries: readonly JournalEntry[]
  readonly periods: readonly Period[]
}

/** A lease, an invisible message, an open file or a locked range. */
export type Period = {
  readonly kind: 'lease' | 'message' | 'open' | 'lock'
  /** The name of the object below its container; of an open or a lock, the resource. */
  readonly object: string
  readonly client: string
  /** The entry with which it began. */
  readonly entry: number
  readonly from: string
  /** When it ended, or will end by itself. Left out: it goes on until its client ends it. */
  readonly to?: string
  /** Left out: nobody ended it. */
  readonly endedBy?: 'its client' | 'another client'
}

/** The newest entries of a resource and of what is below it. */
export function timelineOf(journal: Journal, resource: string, countMax: number): Timeline {
  const all = [...journal.entries()].filter((entry) => journal.matches(entry, { resource }))
  const entries = all.slice(-countMax)
  const fromMs = entries[0]?.startedMs ?? 0
  return {
    entries: entries.map((entry) => journal.view(entry)),
    // What ended before the first entry is out of the picture.
    periods: periodsOf(all, journal).filter(
      ({ to }) => to === undefined || Date.parse(to) >= fromMs,
    ),
  }
}

type Growing = { -readonly [K in keyof Period]: Period[K] }

function periodsOf(entries: readonly Entry[], { clientBy }: Journal): readonly Period[] {
  const periods: Growing[] = []
  /** By the key of the object. */
  const running = new Map<string, { readonly period: Growing; readonly id: string }>()
  for (const entry of entries) {
    const client = clientName(entry, clientBy)
    for (const note of entry.notes) {
      const kind = kindOf(note)
      if (kind === undefined) continue
      const is = holdOf(kind, note.isWritten ? note.after : note.before, entry)
      const known = running.get(note.key)
      if (known !== undefined && known.id === is?.id) setEnd(known.period, is.endsAtMs)
      else {
        if (known !== undefined) end(known.period, entry, client)
        running.delete(note.key)
        if (is === undefined || !note.isWritten || isSame(is, holdOf(kind, note.before, entry)))
          continue
        const period = begin(kind, note, entry, client)
        setEnd(period, is.endsAtMs)
        periods.push(period)
        running.set(note.key, { period, id: is.id })
      }
    }
  }
  return periods
}

function kindOf({ kind, before, after }: Note): Period['kind'] | undefined {
  if (kind === 'message' || kind === 'open' || kind === 'lock') return kind
  return before?.lease === undefined && after?.lease === undefined ? undefined : 'lease'
}

/** What a state says that somebody holds. `id`: another one is another period. */
type Hold = { readonly id: string; readonly endsAtMs: number | undefined }

function holdOf(
  kind: Period['kind'],
  state: ObjectState | undefined,
  entry: Entry,
): Hold | undefined {
  if (state === undefined) return undefined
  if (kind === 'lease') return state.lease && { id: state.lease.id, endsAtMs: state.lease.endsAtMs }
  if (kind !== 'message') return { id: '', endsAtMs: undefined }
  const endsAtMs = state.visibleAtMs ?? 0
  // A message that anyone can get is held by nobody.
  return endsAtMs > endOf(entry) ? { id: String(state.version), endsAtMs } : undefined
}

function isSame(a: Hold, b: Hold | undefined): boolean {
  return a.id === b?.id
}

function begin(kind: Period['kind'], note: Note, entry: Entry, client: string): Growing {
  const isFile = kind === 'open' || kind === 'lock'
  const object = isFile ? resourceOf(entry) : objectName(note)
  return { kind, object, client, entry: entry.id, from: timeOf(endOf(entry)) }
}

function setEnd(period: Growing, endsAtMs: number | undefined): void {
  if (endsAtMs === undefined) delete period.to
  else period.to = timeOf(endsAtMs)
}

/** Unless it had ended by itself. */
function end(period: Growing, entry: Entry, client: string): void {
  const nowMs = endOf(entry)
  if (period.to !== undefined && Date.parse(period.to) <= nowMs) return
  period.to = timeOf(nowMs)
  period.endedBy = client === period.client ? 'its client' : 'another client'
}

function endOf({ startedMs, durationMs }: Entry): number {
  return startedMs + durationMs
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString()
}
