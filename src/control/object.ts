// The objects that clients collide on, as the records that a transaction read and wrote show them. One table says which
// records are objects; all others (indexes, tallies, bytes) do not matter here.
import { derived } from '../kv/derived.ts'
import { compareKeys, keyName } from '../kv/key.ts'
import type { Key, Observed, ObservedRead } from '../kv/kv.ts'
import type { StoredRecord } from '../kv/record.ts'
import type { FileLock, FileOpen } from '../storage/file/open/open.ts'
import type { Lease } from '../storage/shared/lease.ts'

export type ObjectKind =
  | 'container'
  | 'blob'
  | 'queue'
  | 'message'
  | 'table'
  | 'entity'
  | 'share'
  | 'file'
  | 'open'
  | 'lock'
  | 'deletion'

/** Two states of an object are the same if they have the same version. */
export type ObjectState = {
  readonly version: number
  readonly lease: Lease | undefined
  /** Of kind 'message'. */
  readonly visibleAtMs?: number
  /** Of kind 'open'. */
  readonly open?: FileOpen
  /** Of kind 'lock'. */
  readonly lock?: FileLock
}

/** What a request did with one object. */
export type Note = {
  readonly kind: ObjectKind
  /** The name of its key, unique in the store. */
  readonly key: string
  /** undefined: it did not exist. */
  readonly before: ObjectState | undefined
  /** The same as `before` if the request only read it; undefined: it does not exist afterwards. */
  readonly after: ObjectState | undefined
  readonly isWritten: boolean
  /** The properties that a write to an entity changed. */
  readonly parts?: readonly string[]
}

type Kind = {
  readonly kind: ObjectKind
  readonly prefix: Buffer
  state(record: StoredRecord): ObjectState
  /** The names of what differs between two states. */
  parts?(before: StoredRecord, after: StoredRecord): readonly string[]
}

type Stamped = { readonly stamp?: number; readonly lease?: Lease }

function stamped(record: StoredRecord): ObjectState {
  const { stamp = 0, lease } = record.fields as Stamped
  return { version: stamp, lease }
}

/** Every move of a message gives it a new number, which its pop receipt contains. */
function moved(record: StoredRecord): ObjectState {
  const { sequence, visibleAtMs } = record.fields as {
    readonly sequence: number
    readonly visibleAtMs: number
  }
  return { version: sequence, lease: undefined, visibleAtMs }
}

/** The stamp is the first item of an entity's list (storage/table/entity-record.ts). */
function listed(record: StoredRecord): ObjectState {
  return { version: Number((record.fields as readonly unknown[])[0]), lease: undefined }
}

/** Behind the stamp, an entity's list has the name, the type and the value of each property. */
function changedProperties(before: StoredRecord, after: StoredRecord): readonly string[] {
  const was = propertiesOf(before)
  const is = propertiesOf(after)
  const changed = [...is.keys()].filter((name) => is.get(name) !== was.get(name))
  return [...changed, ...[...was.keys()].filter((name) => !is.has(name))]
}

function propertiesOf({ fields }: StoredRecord): ReadonlyMap<string, string> {
  const list = fields as readonly unknown[]
  const properties = new Map<string, string>()
  for (let at = 1; at < list.length; at += 3) {
    properties.set(String(list[at]), `${String(list[at + 1])} ${String(list[at + 2])}`)
  }
  return properties
}

function opened(record: StoredRecord): ObjectState {
  return { version: 0, lease: undefined, open: record.fields as FileOpen }
}

function locked(record: StoredRecord): ObjectState {
  return { version: 0, lease: undefined, lock: record.fields as FileLock }
}

function present(): ObjectState {
  return { version: 0, lease: undefined }
}

const STRING = 0x02

function kind(
  name: ObjectKind,
  key: readonly string[],
  state: Kind['state'],
  parts?: Kind['parts'],
): Kind {
  const bytes = key.map((part) => Buffer.from(`\x02${part}\0`, 'latin1'))
  return { kind: name, prefix: Buffer.concat(bytes), state, ...(parts && { parts }) }
}

const KINDS: readonly Kind[] = [
  kind('blob', ['blob'], stamped),
  kind('blob', ['blob-past'], stamped),
  kind('container', ['container'], stamped),
  kind('entity', ['entity'], listed, changedProperties),
  kind('message', ['message-id'], moved),
  kind('file', ['file-node'], stamped),
  kind('share', ['share'], stamped),
  kind('queue', ['queue'], stamped),
  kind('table', ['table'], stamped),
  kind('open', ['live', 'open'], opened),
  kind('lock', ['live', 'lock'], locked),
  // The mark of a file that goes when its last handle is closed.
  kind('deletion', ['live', 'delete-pending'], present),
]

/** By the first letter of the key. */
const BY_LETTER: readonly (readonly Kind[])[] = Array.from({ length: 128 }, (_, letter) =>
  KINDS.filter(({ prefix }) => prefix[1] === letter),
)
const NONE: readonly Kind[] = []

function kindOf(key: Key): Kind | undefined {
  if (key[0] !== STRING) return undefined
  for (const each of BY_LETTER[key[1] ?? 0] ?? NONE) {
    const { prefix } = each
    let at = prefix.length - 1
    while (at > 0 && key[at] === prefix[at]) at -= 1
    if (at === 0) return each
  }
  return undefined
}

/** Every request to an object reads these; they matter only where they are what the request is about, or missing. */
const OUTER: ReadonlySet<ObjectKind> = new Set(['container', 'queue', 'table', 'share'])

/** What the finished transactions of a request have read and written. */
export function notesOf(
  transactions: readonly Observed[],
  isAboutObject: boolean,
): readonly Note[] {
  const notes = new Notes()
  for (const { reads, writes, volatileWrites } of transactions) {
    for (const read of reads) addRead(notes, read, isAboutObject)
    if (writes.size > 0) for (const write of writes.values()) addWrite(notes, write, reads)
    if (volatileWrites.size > 0)
      for (const write of volatileWrites.values()) addWrite(notes, write, reads)
  }
  return notes.all
}

/** Most requests have few notes; those of a list are found by an index. */
const INDEXED_COUNT = 16

class Notes {
  readonly all: Note[] = []
  #index: Map<string, number> | undefined

  find(key: string): Note | undefined {
    const at = this.#indexOf(key)
    return at === undefined ? undefined : this.all[at]
  }

  /** Replaces the note with the same key. */
  put(note: Note): void {
    const at = this.#indexOf(note.key)
    if (at !== undefined) {
      this.all[at] = note
      return
    }
    this.#index?.set(note.key, this.all.length)
    this.all.push(note)
  }

  #indexOf(key: string): number | undefined {
    if (this.#index !== undefined) return this.#index.get(key)
    if (this.all.length >= INDEXED_COUNT) {
      this.#index = new Map(this.all.map((note, at) => [note.key, at]))
      return this.#index.get(key)
    }
    // From the end: a transaction writes what it has just read.
    const at = this.all.findLastIndex((note) => note.key === key)
    return at < 0 ? undefined : at
  }
}

function addRead(notes: Notes, { key, value }: ObservedRead, isAboutObject: boolean): void {
  const found = kindOf(key)
  if (found === undefined) return
  if (value === undefined ? found.kind === 'deletion' : isAboutObject && OUTER.has(found.kind))
    return
  const note = value === undefined ? readNote(found, key, undefined) : cachedNote(found, key, value)
  if (notes.find(note.key)?.isWritten !== true) notes.put(note)
}

/** Readers of a cached record share the note, which costs them nothing. */
function cachedNote(found: Kind, key: Key, record: StoredRecord): Note {
  return derived(record, 'note', () => readNote(found, key, found.state(record)))
}

function readNote({ kind }: Kind, key: Key, state: ObjectState | undefined): Note {
  return { kind, key: keyName(key), before: state, after: state, isWritten: false }
}

function addWrite(
  notes: Notes,
  { key, value }: ObservedRead,
  reads: readonly ObservedRead[],
): void {
  const found = kindOf(key)
  if (found === undefined) return
  const name = keyName(key)
  const after = value === undefined ? undefined : found.state(value)
  const parts = found.parts && value && changedParts(found.parts, value, readOf(reads, key))
  notes.put({
    kind: found.kind,
    key: name,
    before: notes.find(name)?.before,
    after,
    isWritten: true,
    ...(parts && { parts }),
  })
}

function changedParts(
  parts: NonNullable<Kind['parts']>,
  after: StoredRecord,
  before: StoredRecord | undefined,
): readonly string[] | undefined {
  return before && parts(before, after)
}

function readOf(reads: readonly ObservedRead[], key: Key): StoredRecord | undefined {
  return reads.findLast((read) => compareKeys(read.key, key) === 0)?.value
}
