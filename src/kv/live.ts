// A store with a live part: records under `live` are kept in memory and never synced, for what ends with
// the process anyway, such as the files that clients hold open. A transaction sees and changes both parts at
// once. One that changes only the live part is done at once, unless it has read what another transaction is
// still making durable: then it takes its turn behind that one.
import { encodeKey } from './key.ts'
import type { Entry, Key, Kv, ReadTx, ScanRange, Step, Tx, Value } from './kv.ts'
import { applyWrites, EMPTY_MAP, getEntry, scanEntries } from './sorted-map.ts'
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

/** What a body has done while its commit is under way. */
type Done<Event> = {
  readonly events: readonly Event[]
  readonly keys: readonly Key[]
  readonly before: readonly Write[]
}

/** Thrown through a body that can't be done at once. */
const NOT_AT_ONCE = new Error('this transaction has to wait for a commit')

/** The engine below must run bodies straight through, once: LMDB and the memory engine do. */
export function openLiveKv<Event>(kv: Kv): LiveKv<Event> {
  let live = EMPTY_MAP
  /** Written by bodies whose commit is under way, and how many of them. */
  const committing = new Map<string, { readonly key: Key; count: number }>()
  const listeners = new Set<(event: Event) => void>()

  const liveReads: ReadTx = {
    *get(key) {
      return getEntry(live, key)
    },
    *scan(range) {
      return scanEntries(live, range)
    },
    *scanWith(range, pick) {
      return scanEntries(live, range).map(({ key, value }) => pick(key, value))
    },
  }
  const tell = (events: readonly Event[]): void => {
    for (const event of events) for (const listener of listeners) listener(event)
  }
  const begin = (keys: readonly Key[]): void => {
    for (const key of keys) {
      const known = committing.get(nameOf(key))
      if (known === undefined) committing.set(nameOf(key), { key, count: 1 })
      else known.count += 1
    }
  }
  const end = (keys: readonly Key[]): void => {
    for (const key of keys) {
      const known = committing.get(nameOf(key))
      if (known === undefined) continue
      known.count -= 1
      if (known.count === 0) committing.delete(nameOf(key))
    }
  }
  const checkSettled = (range: Pick<ScanRange, 'from' | 'to'>): void => {
    for (const { key } of committing.values()) {
      if (isInside(key, { ...range, countMax: 1 })) throw NOT_AT_ONCE
    }
  }
  /** What the reads of a body that is tried at once must not have missed. */
  const settledReads = (reads: ReadTx): Tx => ({
    *get(key) {
      if (committing.size > 0 && committing.has(nameOf(key))) throw NOT_AT_ONCE
      return yield* reads.get(key)
    },
    *scan(range) {
      checkSettled(range)
      return yield* reads.scan(range)
    },
    *scanWith(range, pick) {
      checkSettled(range)
      return yield* reads.scanWith(range, pick)
    },
    put() {
      throw NOT_AT_ONCE
    },
    delete() {
      throw NOT_AT_ONCE
    },
  })

  async function write<T>(body: (tx: LiveTx<Event>) => Step<T>): Promise<T> {
    let done: Done<Event> | undefined
    let value: T
    try {
      value = await kv.write(function* (durable) {
        const tx = new Routed<Event>(durable, bufferWrites(liveReads))
        const result = yield* body(tx)
        const writes = tx.liveWrites()
        const before = writes.map(({ key }) => ({ key, value: getEntry(live, key) }))
        if (writes.length > 0) live = applyWrites(live, writes)
        // Live records too: a failing commit takes them back, from under whoever had read them.
        const keys = [...tx.written, ...writes.map(({ key }) => key)]
        begin(keys)
        done = { events: tx.events, keys, before }
        return result
      })
    } catch (error) {
      // The commit failed after the body had run: what it did to the live part is taken back.
      if (done !== undefined) {
        end(done.keys)
        live = applyWrites(live, done.before)
      }
      throw error
    }
    // Behind the catch: what a listener throws takes nothing back.
    if (done !== undefined) {
      end(done.keys)
      tell(done.events)
    }
    return value
  }

  async function writeLive<T>(body: (tx: LiveTx<Event>) => Step<T>): Promise<T> {
    try {
      let events: readonly Event[] = []
      const value = await kv.read(function* (reads) {
        const tx = new Routed<Event>(settledReads(reads), bufferWrites(settledReads(liveReads)))
        const result = yield* body(tx)
        const writes = tx.liveWrites()
        if (writes.some(({ key }) => committing.has(nameOf(key)))) throw NOT_AT_ONCE
        if (writes.length > 0) live = applyWrites(live, writes)
        events = tx.events
        return result
      })
      tell(events)
      return value
    } catch (error) {
      if (error === NOT_AT_ONCE) return write(body)
      throw error
    }
  }

  return {
    read: (body) =>
      kv.read((reads) => body(new Routed<Event>(readOnly(reads), bufferWrites(liveReads)))),
    write,
    writeLive,
    listen(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

function readOnly(reads: ReadTx): Tx {
  const refuse = (): never => {
    throw new Error('a read transaction writes nothing')
  }
  return {
    get: (key) => reads.get(key),
    scan: (range) => reads.scan(range),
    scanWith: (range, pick) => reads.scanWith(range, pick),
    put: refuse,
    delete: refuse,
  }
}

/** Sends each key to its part. A class, because there is one for each transaction. */
class Routed<Event> implements LiveTx<Event> {
  readonly #durable: Tx
  readonly #live: BufferedTx
  readonly written: Key[] = []
  readonly events: Event[] = []

  constructor(durable: Tx, live: BufferedTx) {
    this.#durable = durable
    this.#live = live
  }

  get(key: Key): Step<Value | undefined> {
    return isLive(key) ? this.#live.get(key) : this.#durable.get(key)
  }

  scan(range: ScanRange): Step<readonly Entry[]> {
    return isLive(range.from) ? this.#live.scan(range) : this.#durable.scan(range)
  }

  scanWith<T>(range: ScanRange, pick: (key: Key, value: Value) => T): Step<readonly T[]> {
    const part = isLive(range.from) ? this.#live : this.#durable
    return part.scanWith(range, pick)
  }

  put(key: Key, value: Value): void {
    if (isLive(key)) return this.#live.put(key, value)
    this.written.push(key)
    this.#durable.put(key, value)
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
    return this.#live.writes()
  }
}
