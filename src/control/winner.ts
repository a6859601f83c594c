// Finds the entry to which a refused request lost: of the write, the lease, the open or the get that stood in its way.
import { mainNote, resourceOf, type Entry, type NewEntry } from './entry.ts'
import type { Note, ObjectState } from './object.ts'

/** `backwards`: the entries before, newest first. */
export function findWinner(lost: NewEntry, backwards: Iterable<Entry>): number | undefined {
  const isWinner = winnerOf(lost)
  if (isWinner === undefined) return undefined
  for (const entry of backwards) if (isWinner(entry)) return entry.id
  return undefined
}

type Test = (entry: Entry) => boolean

function winnerOf(lost: NewEntry): Test | undefined {
  const code = lost.errorCode ?? ''
  const opens = lost.notes.filter(({ kind }) => kind === 'open' || kind === 'lock')
  if (/sharing_?violation|lock|delete_?pending/i.test(code) && opens.length > 0)
    return madeOpen(opens)
  const note = mainNote(lost)
  if (note === undefined) return removedResource(lost)
  const { before } = note
  if (before === undefined) return removed(note)
  if (code.startsWith('Lease')) {
    const holder = note.before?.lease === undefined ? endedLease(note) : tookLease(note, before)
    return holder
  }
  return madeVersion(note, before)
}

function written(entry: Entry, key: string): Note | undefined {
  return entry.notes.find((note) => note.isWritten && note.key === key)
}

function madeVersion({ key }: Note, { version }: ObjectState): Test {
  return (entry) => {
    const note = written(entry, key)
    return note?.after?.version === version && note.before?.version !== version
  }
}

/** The acquire, change or break that the lease is from. */
function tookLease({ key }: Note, { lease }: ObjectState): Test {
  return (entry) => {
    const note = written(entry, key)
    if (note?.after?.lease === undefined || note.after.lease.id !== lease?.id) return false
    const was = note.before?.lease
    return was?.id !== lease.id || was.isBroken !== note.after.lease.isBroken
  }
}

/** Released or dropped by a write. */
function endedLease({ key }: Note): Test {
  return (entry) => {
    const note = written(entry, key)
    return note?.before?.lease !== undefined && note.after?.lease === undefined
  }
}

function removed({ key }: Note): Test {
  return (entry) => {
    const note = written(entry, key)
    return note !== undefined && note.after === undefined
  }
}

/** The opens that it met: the last one of them that was opened or locked. */
function madeOpen(opens: readonly Note[]): Test {
  const keys = new Set(opens.map(({ key }) => key))
  return (entry) =>
    entry.notes.some((note) => note.isWritten && note.after !== undefined && keys.has(note.key))
}

/** Nothing was read of an object that its container no longer has. */
function removedResource(lost: NewEntry): Test {
  const resource = resourceOf(lost)
  return (entry) => entry.writes && entry.errorCode === undefined && resource === resourceOf(entry)
}
