// What each client knows of each object: the last version that it has read or written, or that there was none.
import { changedNotes, isAboutCurrentState, type ClientAct } from './act.ts'
import { effectOf } from './effect.ts'
import { mainNote, resourceOf, type Entry } from '../entry.ts'
import { orderOf } from './history.ts'
import type { Note } from '../object.ts'

export type Known = {
  readonly act: ClientAct
  /** Of the version; 0 if there was none. */
  readonly order: number
  /** The client was told the state; otherwise it has written it. */
  readonly isRead: boolean
  readonly isAbsent: boolean
}

export type Knowledge = {
  /** What a client knew of an object before it changed it. */
  before(act: ClientAct, note: Note): Known | undefined
  /**
   * Whether a client has read the state that a write replaced. That is before the write, wherever the entry of the read
   * is: a long answer may end after the next request of its client.
   */
  hasRead(act: ClientAct, replaced: Note): boolean
  /** Whether a client has read any state of an object. */
  hasEverRead(act: ClientAct, note: Note): boolean
  learn(act: ClientAct): void
}

export function createKnowledge(acts: readonly ClientAct[]): Knowledge {
  /** Made when it is first needed: correct programs hardly need it. */
  let reads: ReadonlySet<string> | undefined
  /** By object, then by client. */
  const known = new Map<string, Map<string, Known>>()
  /** The newest version that any client without a name has read. */
  const readByUnnamed = new Map<string, number>()

  const find = ({ client }: ClientAct, key: string): Known | undefined =>
    known.get(key)?.get(client)
  const store = (key: string, { client, isNamed }: ClientAct, what: Known): void => {
    const clients = known.get(key)
    if (clients === undefined) known.set(key, new Map([[client, what]]))
    else clients.set(client, what)
    if (!isNamed && what.isRead) {
      readByUnnamed.set(key, Math.max(what.order, readByUnnamed.get(key) ?? 0))
    }
  }
  const learnRead = (act: ClientAct): void => {
    for (const { key, before } of readNotes(act.entry)) {
      if (before === undefined) continue
      const { version: order } = before
      const last = find(act, key)
      // Of two reads at the same time, the older may end last.
      if (last !== undefined && !last.isAbsent && last.order > order) continue
      store(key, act, { act, order, isRead: true, isAbsent: false })
    }
  }
  const learnWrite = (act: ClientAct): void => {
    for (const note of changedNotes(act.entry)) {
      const last = find(act, note.key)
      if (note.after === undefined) known.get(note.key)?.delete(act.client)
      else if (last === undefined || seesAll(act.entry, note, last)) {
        store(note.key, act, { act, order: orderOf(note), isRead: false, isAbsent: false })
      }
    }
  }
  return {
    before(act, { key }) {
      const own = find(act, key) ?? find(act, absentKey(act.entry))
      if (own === undefined || act.isNamed) return own
      const isShared = (readByUnnamed.get(key) ?? 0) > own.order
      return own.isRead && !isShared ? own : undefined
    },
    hasRead({ client }, { key, before }) {
      reads ??= allReads(acts)
      return reads.has(`${key} ${before?.version ?? 0} ${client}`)
    },
    hasEverRead({ client }, { key }) {
      reads ??= allReads(acts)
      return reads.has(`${key} any ${client}`)
    },
    learn(act) {
      const { entry } = act
      if (entry.errorCode === undefined) {
        known.get(absentKey(entry))?.delete(act.client)
        if (entry.writes) learnWrite(act)
        else learnRead(act)
      } else if (isAbsence(entry)) {
        const key = mainNote(entry)?.key ?? absentKey(entry)
        store(key, act, { act, order: 0, isRead: true, isAbsent: true })
      }
    },
  }
}

/** 0 is the version of what did not exist. */
function allReads(acts: readonly ClientAct[]): ReadonlySet<string> {
  const reads = new Set<string>()
  for (const { entry, client } of acts) {
    if (isAbsence(entry)) reads.add(`${mainNote(entry)?.key ?? ''} 0 ${client}`)
    if (entry.writes || entry.errorCode !== undefined) continue
    for (const { key, before } of readNotes(entry)) {
      if (before === undefined) continue
      reads.add(`${key} ${before.version} ${client}`).add(`${key} any ${client}`)
    }
  }
  return reads
}

function isAbsence(entry: Entry): boolean {
  return entry.status === 404 && !entry.writes && isAboutCurrentState(entry)
}

/** A write to a part of an object does not tell its client what others have done to the rest. */
function seesAll(entry: Entry, { before }: Note, last: Known): boolean {
  return effectOf(entry)?.isPartial !== true || (before?.version ?? 0) <= last.order
}

/** Files that do not exist have no key. Their names are in any case. */
function absentKey(entry: Entry): string {
  const resource = resourceOf(entry)
  return `no ${entry.service === 'file' ? resource.toLowerCase() : resource}`
}

/** These tell something of many objects, but not what is in them. */
const LISTS: ReadonlySet<string> = new Set([
  'List Blobs',
  'Find Blobs by Tags',
  'Find Blobs by Tags in Container',
  'List Directories and Files',
  'List Containers',
  'List Shares',
  'List Paths',
  'List Filesystems',
])

/** The objects whose state a request has told its client. */
function readNotes(entry: Entry): readonly Note[] {
  if (LISTS.has(entry.operation) || !isAboutCurrentState(entry)) return []
  if (entry.operation === 'Query Entities') return namesItsEntities(entry) ? entitiesOf(entry) : []
  const main = mainNote(entry)
  return main === undefined ? [] : [main]
}

function entitiesOf({ notes }: Entry): readonly Note[] {
  return notes.filter(({ kind }) => kind === 'entity')
}

/** A filter reads entities that it then leaves out, unless it only names a partition, or all keys. */
function namesItsEntities({ target }: Entry): boolean {
  const filter = new URLSearchParams(target.split('?')[1]).get('$filter')
  if (filter === null) return true
  return /^\W*PartitionKey eq '[^']*'\W*(?:and\W*RowKey eq '[^']*'\W*)?$/.test(filter)
}
