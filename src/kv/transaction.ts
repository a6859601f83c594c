// A transaction as its body sees it: its own writes on top of the runner's view. Writes are buffered until the body
// ends, so a body that throws has changed nothing and a body that runs again starts clean.
import assert from 'node:assert/strict'
import type { Version } from './engine/engine.ts'
import { compareKeys, keyName } from './key.ts'
import type {
  Entry,
  Key,
  KeyRange,
  Observed,
  ObservedRead,
  RecordPart,
  ScanPart,
  ScanRange,
  Step,
  Tx,
} from './kv.ts'
import { StoredRecord } from './record.ts'
import { ready } from './step.ts'
import { isVolatile } from './volatile.ts'

/** `value` undefined deletes the key. */
export type PendingWrite = { readonly key: Key; readonly value: StoredRecord | undefined }

/** Keyed by `keyName`. */
export type PendingWrites = ReadonlyMap<string, PendingWrite>

/** A body that has run and whose writes are not durable yet. */
export type Run = {
  readonly writes: PendingWrites
  readonly volatileWrites: readonly PendingWrite[]
  /** All its writes have this version. */
  readonly version: Version
  /** Absent where the engine checks the read set. */
  readonly volatileReads?: readonly VolatileRead[]
}

/** The name of a volatile key, or the bounds of a scan. */
export type VolatileRead = string | KeyRange

export type FoundRecord = StoredRecord | undefined

/** Where a body reads everything it has not written itself. */
export interface View {
  /** A step only where the record has to be fetched first. */
  get(key: Key, name: string, part: RecordPart, reader: Reader): FoundRecord | Step<FoundRecord>
  scan(range: ScanRange, part: ScanPart, reader: Reader): Step<readonly Entry[]>
  /** Before a volatile record is overwritten. */
  touch(name: string, reader: Reader): void
}

/** The part of a running body that views use. */
export interface Reader {
  /** Records that the body depends on a write that is not durable yet. */
  hasSeen(run: Run): void
  hasReadVolatile(read: VolatileRead): void
}

/** A class rather than closures: there is one per transaction, and its methods are made once. */
export class BodyTx<Event> implements Tx<Event>, Reader, Observed {
  readonly #view: View
  /** undefined: nobody watches. */
  #reads: ObservedRead[] | undefined
  #writes: Map<string, PendingWrite> | undefined
  #volatileWrites: Map<string, PendingWrite> | undefined
  #events: Event[] | undefined
  #seen: Set<Run> | undefined
  #volatileReads: VolatileRead[] | undefined

  constructor(view: View) {
    this.#view = view
  }

  get writes(): PendingWrites {
    return this.#writes ?? NO_WRITES
  }

  get volatileWrites(): PendingWrites {
    return this.#volatileWrites ?? NO_WRITES
  }

  get events(): readonly Event[] {
    return this.#events ?? []
  }

  /** Runs whose writes it saw before they were durable. */
  get seen(): ReadonlySet<Run> {
    return this.#seen ?? NOTHING_SEEN
  }

  get volatileReads(): readonly VolatileRead[] {
    return this.#volatileReads ?? []
  }

  observe(): Observed {
    this.#reads ??= []
    return this
  }

  get reads(): readonly ObservedRead[] {
    return this.#reads ?? []
  }

  /** Called when the body throws or yields a need. */
  discardWrites(): void {
    this.#writes = undefined
    this.#volatileWrites = undefined
    this.#events = undefined
  }

  get(key: Key): Step<FoundRecord> {
    const found = this.#find(key, 'whole')
    return isRecord(found) ? ready(found) : found
  }

  getFields<T>(key: Key): Step<T | undefined> {
    const found = this.#find(key, 'fields')
    return isRecord(found) ? ready(found?.fields as T | undefined) : fieldsOf<T>(found)
  }

  #find(key: Key, part: RecordPart): FoundRecord | Step<FoundRecord> {
    const name = keyName(key)
    const own = this.#hasWritten ? this.#ownWrites(key)?.get(name) : undefined
    if (own !== undefined) return own.value
    const found = this.#view.get(key, name, part, this)
    return this.#reads === undefined ? found : this.#observed(this.#reads, key, found)
  }

  #observed(
    reads: ObservedRead[],
    key: Key,
    found: FoundRecord | Step<FoundRecord>,
  ): FoundRecord | Step<FoundRecord> {
    if (!isRecord(found)) return noting(found, (value) => reads.push({ key, value }))
    reads.push({ key, value: found })
    return found
  }

  get #hasWritten(): boolean {
    return this.#writes !== undefined || this.#volatileWrites !== undefined
  }

  scan(range: ScanRange): Step<readonly Entry[]> {
    return this.#scan(range, 'whole')
  }

  scanFields(range: ScanRange): Step<readonly Entry[]> {
    return this.#scan(range, 'fields')
  }

  *scanKeys(range: ScanRange): Step<readonly Key[]> {
    const found = yield* this.#scan(range, 'keys')
    return found.map(({ key }) => key)
  }

  #scan(range: ScanRange, part: ScanPart): Step<readonly Entry[]> {
    const own = writesInside(this.#ownWrites(range.from), range)
    const found =
      own.length === 0 ? this.#view.scan(range, part, this) : this.#scanWithOwn(own, range, part)
    const reads = this.#reads
    if (reads === undefined || part === 'keys') return found
    return noting(found, (entries) => {
      for (const entry of entries) reads.push(entry)
    })
  }

  *#scanWithOwn(
    own: readonly PendingWrite[],
    range: ScanRange,
    part: ScanPart,
  ): Step<readonly Entry[]> {
    assert(range.fold === undefined, 'a folded scan is for bodies that only read')
    const wider = { ...range, countMax: range.countMax + own.length }
    return merge(yield* this.#view.scan(wider, part, this), own, range)
  }

  #ownWrites(key: Key): Map<string, PendingWrite> | undefined {
    return isVolatile(key) ? this.#volatileWrites : this.#writes
  }

  put(key: Key, value: StoredRecord): void {
    this.#write({ key, value })
  }

  delete(key: Key): void {
    this.#write({ key, value: undefined })
  }

  #write(write: PendingWrite): void {
    const name = keyName(write.key)
    if (isVolatile(write.key)) {
      this.#view.touch(name, this)
      this.#volatileWrites ??= new Map()
      this.#volatileWrites.set(name, write)
    } else {
      this.#writes ??= new Map()
      this.#writes.set(name, write)
    }
  }

  announce(event: Event): void {
    this.#events ??= []
    this.#events.push(event)
  }

  hasSeen(run: Run): void {
    this.#seen ??= new Set()
    this.#seen.add(run)
  }

  hasReadVolatile(read: VolatileRead): void {
    this.#volatileReads ??= []
    this.#volatileReads.push(read)
  }
}

function isRecord(found: FoundRecord | Step<FoundRecord>): found is FoundRecord {
  return found === undefined || found instanceof StoredRecord
}

function* noting<T>(found: Step<T>, note: (value: T) => void): Step<T> {
  const value = yield* found
  note(value)
  return value
}

function* fieldsOf<T>(fetched: Step<FoundRecord>): Step<T | undefined> {
  return (yield* fetched)?.fields as T | undefined
}

const NO_WRITES: PendingWrites = new Map()
const NOTHING_SEEN: ReadonlySet<Run> = new Set()

export function writesInside<W extends PendingWrite>(
  writes: ReadonlyMap<string, W> | undefined,
  range: ScanRange,
): readonly W[] {
  if (writes === undefined || writes.size === 0) return []
  const [from, to] = [keyName(range.from), keyName(range.to)]
  const found: W[] = []
  for (const [name, write] of writes) if (name >= from && name < to) found.push(write)
  return found
}

/** Applies writes to scanned entries. */
export function merge<E extends Entry>(
  stored: readonly E[],
  writes: readonly (PendingWrite & Omit<E, 'value'>)[],
  range: ScanRange,
): readonly E[] {
  const overridden = new Set(writes.map(({ key }) => keyName(key)))
  const merged = stored.filter(({ key }) => !overridden.has(keyName(key)))
  for (const write of writes) if (isPut<E>(write)) merged.push(write)
  const direction = range.reverse === true ? -1 : 1
  merged.sort((a, b) => direction * compareKeys(a.key, b.key))
  return merged.slice(0, range.countMax)
}

function isPut<E extends Entry>(write: PendingWrite & Omit<E, 'value'>): write is E & PendingWrite {
  return write.value !== undefined
}

/** Placeholder for the record of an entry whose scan wanted only the key. */
export const KEY_ONLY = new StoredRecord(new Uint8Array(0), undefined, false)
