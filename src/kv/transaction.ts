// A transaction as its body sees it: its own writes over what the runner knows. Writes are kept here until the
// body has ended, so that one that throws has changed nothing and one that runs again starts clean.
import type { Version } from './engine/engine.ts'
import { compareKeys, keyName } from './key.ts'
import type { Entry, Key, RecordPart, ScanPart, ScanRange, Step, Tx } from './kv.ts'
import { StoredRecord } from './record.ts'
import { ready } from './step.ts'
import { isVolatile } from './volatile.ts'

/** `value` undefined deletes the key. */
export type PendingWrite = { readonly key: Key; readonly value: StoredRecord | undefined }

/** By the name of the key. */
export type PendingWrites = ReadonlyMap<string, PendingWrite>

/** A body that has run and whose writes are not durable yet. */
export type Run = {
  readonly writes: PendingWrites
  readonly volatileWrites: readonly PendingWrite[]
  /** Of all its writes. */
  readonly version: Version
}

/** Where a body reads what it has not written itself. */
export interface View {
  get(key: Key, name: string, part: RecordPart, reader: Reader): Step<StoredRecord | undefined>
  scan(range: ScanRange, part: ScanPart, reader: Reader): Step<readonly Entry[]>
  /** Before a volatile record is overwritten. */
  touch(name: string, reader: Reader): void
}

/** A running body, as far as views know it. */
export interface Reader {
  /** Notes that the body has seen a write that is not durable yet. */
  hasSeen(run: Run): void
}

/** A class, because there is one for each transaction: its methods are made once. */
export class BodyTx<Event> implements Tx<Event>, Reader {
  readonly #view: View
  #writes: Map<string, PendingWrite> | undefined
  #volatileWrites: Map<string, PendingWrite> | undefined
  #events: Event[] | undefined
  #seen: Set<Run> | undefined

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

  /** The runs whose writes it has seen and that were not durable then. */
  get seen(): ReadonlySet<Run> {
    return this.#seen ?? NOTHING_SEEN
  }

  /** The body has thrown: it has written nothing. */
  discardWrites(): void {
    this.#writes = undefined
    this.#volatileWrites = undefined
    this.#events = undefined
  }

  get(key: Key): Step<StoredRecord | undefined> {
    return this.#get(key, 'whole')
  }

  getFields(key: Key): Step<StoredRecord | undefined> {
    return this.#get(key, 'fields')
  }

  #get(key: Key, part: RecordPart): Step<StoredRecord | undefined> {
    const name = keyName(key)
    const own = this.#ownWrites(key)?.get(name)
    return own === undefined ? this.#view.get(key, name, part, this) : ready(own.value)
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
    return own.length === 0
      ? this.#view.scan(range, part, this)
      : this.#scanWithOwn(own, range, part)
  }

  *#scanWithOwn(
    own: readonly PendingWrite[],
    range: ScanRange,
    part: ScanPart,
  ): Step<readonly Entry[]> {
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

/** Stored entries with writes over them. */
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

/** Stands in for the record of an entry that was scanned for its key only. */
export const KEY_ONLY = new StoredRecord(new Uint8Array(0), undefined, false)
