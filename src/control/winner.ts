// Finds the entry to which a refused request lost: of the write, the lease, the open or the get that stood in its way.
import { clientName, type ClientSource } from './client.ts'
import { mainNote, resourceOf, type Entry } from './entry.ts'
import type { Note, ObjectState } from './object.ts'
import {
  isConditionCode,
  isLeasedAgainstSmb,
  isRefusedByState,
  unmetConditions,
} from './refusal.ts'
import { renameSource } from './rename-source.ts'

/** `backwards`: the entries before, newest first. */
export function findWinner(
  lost: Entry,
  backwards: Iterable<Entry>,
  by: readonly ClientSource[],
): number | undefined {
  const isWinner = isRefusedByState(lost) ? winnerOf(lost) : removedByOther(lost, by)
  if (isWinner === undefined) return undefined
  for (const entry of backwards) if (isWinner(entry)) return entry.id
  return undefined
}

type Test = (entry: Entry) => boolean

function winnerOf(lost: Entry): Test | undefined {
  const code = lost.errorCode ?? ''
  const inSmb = overSmb(lost, code)
  if (inSmb !== undefined) return inSmb
  if (/NotEmpty$|NOT_EMPTY$/.test(code)) return wroteBelow(lost)
  if (code === 'PathConflict') return madeParent(lost)
  // An expired lease that nobody else has taken.
  if (code === 'LeaseLost') return undefined
  if (isConditionCode(code)) return changedCondition(lost)
  const note = mainNote(lost)
  if (note === undefined) return removedResource(lost)
  const { before } = note
  if (before === undefined) return removed(note)
  if (code.startsWith('Lease')) {
    return before.lease === undefined ? endedLease(note) : tookLease(note, before)
  }
  const holds = HOLDS[code]
  return holds === undefined ? madeVersion(note, before) : wroteBy(note, holds)
}

/** What SMB clients have open, locked or marked stands in the way of others, and a lease over REST in theirs. */
function overSmb(lost: Entry, code: string): Test | undefined {
  const met = (...kinds: readonly Note['kind'][]): readonly Note[] =>
    lost.notes.filter(({ kind, before }) => kinds.includes(kind) && before !== undefined)
  if (/delete_?pending/i.test(code)) return made(met('deletion'))
  if (/lock_?conflict|^LOCK_NOT/i.test(code)) {
    const locks = met('lock')
    return made(locks.filter((note) => isInRange(note, lost))) ?? made(locks) ?? made(met('open'))
  }
  if (!/sharing_?violation/i.test(code)) return undefined
  const note = mainNote(lost)
  if (note?.before !== undefined && isLeasedAgainstSmb(lost)) return tookLease(note, note.before)
  const opens = met('open')
  return made(opens.filter(({ before }) => before?.open?.shareAccess !== SHARES_ALL)) ?? made(opens)
}

const SHARES_ALL = 0x7

/** The ranges of SMB commands are not in the journal. */
function isInRange({ before }: Note, { headers }: Entry): boolean {
  const range = headers['x-ms-range'] ?? headers.range
  const [, first, last] = /^bytes=(\d{1,16})-(\d{0,16})$/.exec(String(range)) ?? []
  if (first === undefined || before?.lock === undefined) return false
  const [offset, length] = [Number(before.lock.offset), Number(before.lock.length)]
  return Number(first) < offset + length && (last === '' || offset <= Number(last))
}

/** Operations that keep others from writing, without a new version. */
const HOLDS: Readonly<Record<string, readonly string[]>> = {
  BlobImmutableDueToLegalHold: ['Set Blob Legal Hold'],
  BlobImmutableDueToPolicy: ['Set Blob Immutability Policy'],
}

function changedCondition(lost: Entry): Test | undefined {
  const unmet = unmetConditions(lost)
  const isOfSource = unmet.some((name) => name.startsWith('x-ms-source-'))
  const note = isOfSource ? sourceNote(lost) : mainNote(lost)
  if (note === undefined) return removedResource(lost)
  if (note.before === undefined) return removed(note)
  const version = madeVersion(note, note.before)
  if (!unmet.includes('x-ms-if-tags')) return version
  const tags = wroteBy(note, ['Set Blob Tags'])
  return (entry) => tags(entry) || version(entry)
}

/** A copy reads its destination first. */
function sourceNote({ notes }: Entry): Note | undefined {
  return notes.findLast(({ kind, before }) => (kind === 'blob' || kind === 'file') && before)
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

function wroteBy({ key }: Note, operations: readonly string[]): Test {
  return (entry) => operations.includes(entry.operation) && written(entry, key) !== undefined
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

/** The last one of these records that was made: an open, a lock, a mark. undefined: there are none. */
function made(notes: readonly Note[]): Test | undefined {
  if (notes.length === 0) return undefined
  const keys = new Set(notes.map(({ key }) => key))
  return (entry) =>
    entry.notes.some(({ isWritten, key, before, after }) => {
      return isWritten && before === undefined && after !== undefined && keys.has(key)
    })
}

/** Nothing was read of an object that its container no longer has. */
function removedResource(lost: Entry): Test {
  const resource = resourceOf(lost)
  return (entry) => succeeded(entry) && resource === resourceOf(entry)
}

function succeeded({ writes, errorCode }: Entry): boolean {
  return writes && errorCode === undefined
}

function wroteBelow(lost: Entry): Test {
  const resource = resourceOf(lost)
  return (entry) => succeeded(entry) && isBelow(resourceOf(entry), resource)
}

/** What was made where a path has a directory. */
function madeParent(lost: Entry): Test {
  const resource = resourceOf(lost)
  return (entry) =>
    succeeded(entry) && entry.path.length > 1 && isBelow(resource, resourceOf(entry))
}

/** A write to what another client has deleted, or moved away. */
function removedByOther(lost: Entry, by: readonly ClientSource[]): Test | undefined {
  if (!lost.writes || lost.status !== 404) return undefined
  const client = clientName(lost, by)
  const note = mainNote(lost)
  const resource = renameSource(lost) ?? resourceOf(lost)
  const isRemoved = note === undefined ? removedPath(resource) : removed(note)
  return (entry) => isRemoved(entry) && clientName(entry, by) !== client
}

function removedPath(resource: string): Test {
  return (entry) => {
    if (!succeeded(entry)) return false
    const gone = entry.operation.startsWith('Delete ') ? resourceOf(entry) : renameSource(entry)
    return gone !== undefined && (gone === resource || isBelow(resource, gone))
  }
}

function isBelow(resource: string, folder: string): boolean {
  return resource.startsWith(`${folder}/`)
}
