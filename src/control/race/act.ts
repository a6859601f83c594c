// One journal entry together with the client that sent it, and what its request line and headers say.
import { mainNote, type Entry } from '../entry.ts'
import type { Note } from '../object.ts'
import { clientName, type ClientSource } from '../client.ts'

export type ClientAct = {
  readonly entry: Entry
  readonly client: string
  /**
   * The client has a name of its own. Otherwise only its connection is known, and the connections of a pool may serve
   * several clients in turn, so a detector needs more evidence.
   */
  readonly isNamed: boolean
}

/** Both ends are included. */
export type ByteSpan = { readonly first: number; readonly last: number }

export function clientAct(entry: Entry, by: readonly ClientSource[]): ClientAct {
  const client = clientName(entry, by)
  return { entry, client, isNamed: by[0] === 'connection' || client !== clientName(entry, []) }
}

/** The objects of the kind that the request is about, if it stored a new state of them. */
export function changedNotes(entry: Entry): readonly Note[] {
  if (!entry.writes || entry.errorCode !== undefined) return []
  const main = mainNote(entry)
  return entry.notes.filter(
    ({ kind, isWritten, before, after }) =>
      kind === main?.kind && isWritten && before?.version !== after?.version,
  )
}

export function headerOfEntry({ headers }: Entry, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' ? value : value?.[0]
}

/** A field of the query; names are in any case. */
export function queryField({ target }: Entry, name: string): string | undefined {
  const question = target.indexOf('?')
  if (question < 0) return undefined
  for (const [field, value] of new URLSearchParams(target.slice(question + 1))) {
    if (field.toLowerCase() === name) return value
  }
  return undefined
}

/** Without braces and in lower case, as leases keep it. */
export function sentLeaseId(entry: Entry): string | undefined {
  return headerOfEntry(entry, 'x-ms-lease-id')
    ?.toLowerCase()
    .replaceAll(/[{}()]/g, '')
}

export function sentRange(entry: Entry): ByteSpan | undefined {
  const text = headerOfEntry(entry, 'x-ms-range') ?? headerOfEntry(entry, 'range') ?? ''
  const [, first, last] = /^bytes=(\d{1,16})-(\d{0,16})$/.exec(text) ?? []
  if (first === undefined) return undefined
  return { first: Number(first), last: last === '' ? Infinity : Number(last) }
}

/** Of the current state, not of a snapshot or an earlier version. */
export function isAboutCurrentState(entry: Entry): boolean {
  return !/[?&](?:share)?(?:snapshot|versionid)=/i.test(entry.target)
}

/** Conditions that only one state of the object meets, so that the server notices any change. */
const EXACT_CONDITIONS = [
  'x-ms-if-tags',
  'x-ms-blob-condition-appendpos',
  'x-ms-if-sequence-number-eq',
] as const

/** `If-Match: *` is met by any state, and dates are met by every state of the same second. */
export function isConditional(entry: Entry): boolean {
  const etag = headerOfEntry(entry, 'if-match')
  if (etag !== undefined && etag !== '*') return true
  if (headerOfEntry(entry, 'if-none-match') === '*') return true
  return EXACT_CONDITIONS.some((name) => headerOfEntry(entry, name) !== undefined)
}
