// A store with a live part: records under `live` are kept in memory and never synced, for what ends with
// the process anyway, such as the files that clients hold open. A transaction sees and changes both parts at
// once. One that changes only the live part is done at once, unless it has read what another transaction is
// still making durable: then it takes its turn behind that one.
import { encodeKey } from './key.ts'
import type { Entry, Key, Kv, Made, Picker, ReadTx, ScanRange, Step, Tx, Value } from './kv.ts'
import { straight } from './paced.ts'
import { applyWrites, EMPTY_MAP, getEntry, isEmpty, MapReads } from './sorted-map.ts'
import { bufferWrites, isInside, nameOf, type BufferedTx, type Write } from './transaction.ts'

/** A transaction that can tell the rest of the process what it has done, once it is done. */
export interface LiveTx<Event> extends Tx {
  announce(event: Event): void
}

export interface LiveKv<Event> {
  read<T>(body: (tx: ReadTx) => Step<T>): Promise<T>
  /** As `Kv.write`: resolves when what it wrote is durable. Events are told then. */
  write<T>(body: (tx: LiveTx<Event>) => Step<T>): Promise<T>
  /** The same for a body that seldom writes more than the live part: it is tried at once. */
  writeLive<T>(body: (tx: LiveTx<Event>) => Step<T>): Promise<T>
  /** Calls `listener` with every event; the answer takes it away again. */
  listen(listener: (event: Event) => void): () => void
}

const LIVE_PREFIX = encodeKey('live')

/** Keys that begin with 'live' and then `parts`. */
export function liveKey(...parts: readonly (string | number)[]): Key {
  return encodeKey('live', ...parts)
}

function isLive(key: Key): boolean {
  for (let at = LIVE_PREFIX.length - 1; at >= 0; at -= 1) {
    if (key[at] !== LIVE_PREFIX[at]) return false
  }
  return true
}

/** Whether there is any live record that this transaction could find; if not, it need not look for one. */
export function mayHaveLive(tx: ReadTx): boolean {
  return !(tx instanceof RoutedReads) || !tx.isLiveEmpty
}

/** What a body has done while its commit is under way. */
type Done<Event> = {
  readonly events: readonly Event[]
  readonly written: Written
  readonly before: readonly Write[]
}

/** Thrown through a body that can't be done at once. */
const NOT_AT_ONCE = new Error('this transaction has to wait for a commit')

/** The engine below must run bodies straight through, once: LMDB and the memory engine do. */
export function openLiveKv<Event>(kv: Kv): LiveKv<Event> {
  const over = new OverKv<Event>(kv)
  return {
    read: (body) => over.read(body),
    write: (body) => over.write(body),
    writeLive: (body) => over.writeLive(body),
    listen: (listener) => over.listen(listener),
  }
}

class OverKv<Event> {
  readonly #kv: Kv
  readonly #listeners = new Set<(event: Event) => void>()
  /** Written by bodies whose commit is under way. */
  readonly #committing = new Committing()
  #live = EMPTY_MAP

  constructor(kv: Kv) {
    this.#kv = kv
  }

  read<T>(body: (tx: ReadTx) => Step<T>): Promise<T> {
    return this.#kv.read((reads) =>
      body(new RoutedReads(reads, new MapReads(this.#live), isEmpty(this.#live))),
    )
  }

  async write<T>(body: (tx: LiveTx<Event>) => Step<T>): Promise<T> {
    const run: { done?: Done<Event> } = {}
    let value: T
    try {
      value = await this.#kv.write((durable) => this.#runDurable(durable, body, run))
    } catch (error) {
      // The commit failed after the body had run: what it did to the live part is taken back.
      if (run.done !== undefined) {
        this.#committing.remove(run.done.written)
        this.#live = applyWrites(this.#live, run.done.before)
      }
      throw error
    }
    // Behind the catch: what a listener throws takes nothing back.
    if (run.done !== undefined) {
      this.#committing.remove(run.done.written)
      this.#tell(run.done.events)
    }
    return value
  }

  *#runDurable<T>(
    durable: Tx,
    body: (tx: LiveTx<Event>) => Step<T>,
    run: { done?: Done<Event> },
  ): Step<T> {
    const live = bufferWrites(new MapReads(this.#live))
    const tx = new Routed<Event>(durable, live, isEmpty(this.#live))
    const value = yield* body(tx)
    const writes = tx.liveWrites()
    const before = writes.map(({ key }) => ({ key, value: getEntry(this.#live, key) }))
    if (writes.length > 0) this.#live = applyWrites(this.#live, writes.map(apart))
    // Live records too: a failing commit takes them back, from under whoever had read them.
    for (const { key } of writes) tx.written.push(key)
    run.done = { events: tx.events, written: this.#committing.add(tx.written), before }
    return value
  }

  async writeLive<T>(body: (tx: LiveTx<Event>) => Step<T>): Promise<T> {
    try {
      const done = await this.#kv.read((reads) => this.#runAtOnce(reads, body))
      this.#tell(done.events)
      return done.value
    } catch (error) {
      if (error === NOT_AT_ONCE) return this.write(body)
      throw error
    }
  }

  *#runAtOnce<T>(
    reads: ReadTx,
    body: (tx: LiveTx<Event>) => Step<T>,
  ): Step<{ readonly value: T; readonly events: readonly Event[] }> {
    const durable = new SettledReads(reads, this.#committing)
    const live = bufferWrites(new SettledReads(new MapReads(this.#live), this.#committing))
    // What a commit under way has removed may come back.
    const isSettled = isEmpty(this.#live) && this.#committing.isEmpty
    const tx = new Routed<Event>(durable, live, isSettled)
    // It reads as one that only reads, but what it writes counts at once: it must not stop.
    const value = yield* straight(body(tx))
    const writes = tx.liveWrites()
    if (writes.some(({ key }) => this.#committing.has(key))) throw NOT_AT_ONCE
    if (writes.length > 0) this.#live = applyWrites(this.#live, writes.map(apart))
    return { value, events: tx.events }
  }

  listen(listener: (event: Event) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #tell(events: readonly Event[]): void {
    for (const event of events) for (const listener of this.#listeners) listener(event)
  }
}

/** What stays, in memory of its own: a view of a pool would hold all of the pool for as long. */
function apart({ key, value }: Write): Write {
  return { key: new Uint8Array(key), value: value && new Uint8Array(value) }
}

/** What bodies have written whose commit is under way. */
class Committing {
  readonly #written = new Set<Written>()

  get isEmpty(): boolean {
    return this.#written.size === 0
  }

  add(keys: readonly Key[]): Written {
    const written = new Written(keys)
    this.#written.add(written)
    return written
  }

  remove(written: Written): void {
    this.#written.delete(written)
  }

  has(key: Key): boolean {
    if (this.isEmpty) return false
    const name = nameOf(key)
    for (const written of this.#written) if (written.has(name)) return true
    return false
  }

  hasInside(range: ScanRange): boolean {
    for (const { keys } of this.#written) {
      if (keys.some((key) => isInside(key, range))) return true
    }
    return false
  }
}

/** The keys of one body. Few are ever asked for, so their names are made when one is. */
class Written {
  readonly keys: readonly Key[]
  #names: ReadonlySet<string> | undefined

  constructor(keys: readonly Key[]) {
    this.keys = keys
  }

  has(name: string): boolean {
    this.#names ??= new Set(this.keys.map(nameOf))
    return this.#names.has(name)
  }
}

/** What the reads of a body that is tried at once must not have missed; and nothing durable is written. */
class SettledReads implements Tx {
  readonly #reads: ReadTx
  readonly #committing: Committing

  constructor(reads: ReadTx, committing: Committing) {
    this.#reads = reads
    this.#committing = committing
  }

  get(key: Key): Step<Value | undefined> {
    if (this.#committing.has(key)) throw NOT_AT_ONCE
    return this.#reads.get(key)
  }

  getWith<T>(key: Key, decode: (value: Value) => T): Step<T | undefined> {
    if (this.#committing.has(key)) throw NOT_AT_ONCE
    return this.#reads.getWith(key, decode)
  }

  scan(range: ScanRange): Step<readonly Entry[]> {
    if (this.#committing.hasInside(range)) throw NOT_AT_ONCE
    return this.#reads.scan(range)
  }

  scanWith<T>(range: ScanRange, pick: Picker<T>): Step<readonly T[]> {
    if (this.#committing.hasInside(range)) throw NOT_AT_ONCE
    return this.#reads.scanWith(range, pick)
  }

  put(): void {
    throw NOT_AT_ONCE
  }

  delete(): void {
    throw NOT_AT_ONCE
  }
}

/** Sends each read to its part. A class, as the one below, because there is one for each transaction. */
class RoutedReads implements ReadTx {
  readonly #durable: ReadTx
  readonly #live: ReadTx
  isLiveEmpty: boolean

  constructor(durable: ReadTx, live: ReadTx, isLiveEmpty: boolean) {
    this.#durable = durable
    this.#live = live
    this.isLiveEmpty = isLiveEmpty
  }

  get(key: Key): Step<Value | undefined> {
    return isLive(key) ? this.#live.get(key) : this.#durable.get(key)
  }

  getWith<T>(key: Key, decode: (value: Value) => T): Step<T | undefined> {
    const part = isLive(key) ? this.#live : this.#durable
    return part.getWith(key, decode)
  }

  scan(range: ScanRange): Step<readonly Entry[]> {
    return isLive(range.from) ? this.#live.scan(range) : this.#durable.scan(range)
  }

  scanWith<T>(range: ScanRange, pick: Picker<T>): Step<readonly T[]> {
    const part = isLive(range.from) ? this.#live : this.#durable
    return part.scanWith(range, pick)
  }
}

class Routed<Event> extends RoutedReads implements LiveTx<Event> {
  readonly #durable: Tx
  readonly #live: BufferedTx
  readonly written: Key[] = []
  readonly events: Event[] = []

  constructor(durable: Tx, live: BufferedTx, isLiveEmpty: boolean) {
    super(durable, live, isLiveEmpty)
    this.#durable = durable
    this.#live = live
  }

  put(key: Key, value: Value, made?: Made): void {
    if (isLive(key)) {
      this.isLiveEmpty = false
      return this.#live.put(key, value, made)
    }
    this.written.push(key)
    this.#durable.put(key, value, made)
  }

  delete(key: Key): void {
    if (isLive(key)) return this.#live.delete(key)
    this.written.push(key)
    this.#durable.delete(key)
  }

  announce(event: Event): void {
    this.events.push(event)
  }

  liveWrites(): readonly Write[] {
    return [...this.#live.writes().values()]
  }
}
