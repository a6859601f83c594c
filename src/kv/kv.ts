// The lower of the two seams: an ordered map of records with transactions. Every rule of Azure Storage is
// written once above it; nothing below it knows of blobs or messages.
//
// A transaction body is a generator. It reads with `yield* tx.get(key)`, writes with `tx.put`, and touches
// nothing else: time, ids and ETags come in as arguments, because a body may run more than once.
import assert from 'node:assert/strict'
import type { StoredRecord } from './record.ts'

export type Key = Uint8Array

export type Entry = { readonly key: Key; readonly value: StoredRecord }

/** A running body that returns T. What it yields concerns only `Tx` and the runner. */
export type Step<T> = Iterator<unknown, T, unknown> & { [Symbol.iterator](): Step<T> }

/** How much of a record is read: all of it, or only its fields and not the bytes behind them. */
export type RecordPart = 'whole' | 'fields'

export type ScanPart = RecordPart | 'keys'

/**
 * Keys that are equal up to and including their first `delimiter` at or after byte `at` count as one, and a scan finds
 * the first of them. Keys without the delimiter are not folded.
 */
export type Fold = { readonly at: number; readonly delimiter: Uint8Array }

/** Keys in [from, to), at most `countMax` of them; the last ones first when `reverse`. */
export type ScanRange = {
  readonly from: Key
  readonly to: Key
  readonly countMax: number
  readonly reverse?: boolean
  /** Only for bodies that read, and not with `reverse`. */
  readonly fold?: Fold
  /**
   * How many entries the body will probably read in this range, if it scans on from where a scan ended. Where reads wait,
   * one round trip fetches all of them.
   */
  readonly ahead?: number
}

export interface ReadTx {
  /** All readers share one record: don't change it. */
  get(key: Key): Step<StoredRecord | undefined>
  /** The record's fields without the bytes behind them. The caller names the type that it wrote under this key. */
  getFields<T>(key: Key): Step<T | undefined>
  scan(range: ScanRange): Step<readonly Entry[]>
  /** Like `scan`, for callers that need the records' fields and not the bytes behind them. */
  scanFields(range: ScanRange): Step<readonly Entry[]>
  scanKeys(range: ScanRange): Step<readonly Key[]>
  /** What this run of the body reads from here on and writes, for people who watch requests (control/watch.ts). */
  observe(): Observed
}

/** Complete when the transaction is over. No writes if it failed or only read. */
export type Observed = {
  readonly reads: readonly ObservedRead[]
  readonly writes: ReadonlyMap<string, ObservedRead>
  /** Of volatile records. */
  readonly volatileWrites: ReadonlyMap<string, ObservedRead>
}

/** `value` undefined: there is no such record, or it was deleted. */
export type ObservedRead = { readonly key: Key; readonly value: StoredRecord | undefined }

/** Reads in a write transaction see its own writes. */
export interface Tx<Event = never> extends ReadTx {
  put(key: Key, value: StoredRecord): void
  delete(key: Key): void
  /** Sends an event to listeners in this process once the transaction is durable. */
  announce(event: Event): void
}

/** Something that must happen before a body can run (step.ts `need`). Each kind has one loop that handles it and retries. */
export type Needed = { readonly kind: string }

/** The result of an attempt. */
export type Attempted<T> = { readonly value: T } | { readonly need: Needed }

/** The value of an attempt whose needs were all handled. */
export function requireValue<T>(attempted: Attempted<T>): T {
  assert('value' in attempted, 'a transaction needs something that its caller does not handle')
  return attempted.value
}

export interface Kv<Event = never> {
  /** Runs a body on one snapshot: all its reads see the same committed state. */
  read<T>(body: (tx: ReadTx) => Step<T>): Promise<T>
  /**
   * Runs a body as one serializable transaction: all its writes or, if it throws, none. The promise
   * resolves only when they are durable, and every read that begins after that sees them.
   */
  write<T>(body: (tx: Tx<Event>) => Step<T>): Promise<T>
  /** The same as `read` and `write`, for bodies that may need something to happen first. */
  attemptRead<T>(body: (tx: ReadTx) => Step<T>): Promise<Attempted<T>>
  attempt<T>(body: (tx: Tx<Event>) => Step<T>): Promise<Attempted<T>>
  /** The engine's size in bytes, for metrics. */
  sizeBytes(): number
  /** Waits for running transactions, then closes the engine. */
  close(): Promise<void>
}

/** A store with listeners for announced events. */
export interface EventKv<Event> extends Kv<Event> {
  /** Calls `listener` with every announced event until the returned function is called. */
  listen(listener: (event: Event) => void): () => void
}

/** The same store, with all writes going through `attempt`. */
export function withAttempt<Event>(
  kv: EventKv<Event>,
  attempt: Kv<Event>['attempt'],
): EventKv<Event> {
  return { ...kv, attempt, write: async (body) => requireValue(await attempt(body)) }
}

/** The bounds of a scan: keys at or after `from` and before `to`. */
export type KeyRange = { readonly from: Key; readonly to: Key }

/** The keys that begin with `prefix`. */
export function prefixRange(prefix: Key): KeyRange {
  return { from: prefix, to: keyAfterPrefix(prefix) }
}

/** The smallest key greater than `key`: a scan from it leaves `key` out. */
export function keyAfter(key: Key): Key {
  const after = new Uint8Array(key.length + 1)
  after.set(key)
  return after
}

/** The first key that is greater than every key that begins with `prefix`. */
export function keyAfterPrefix(prefix: Key): Key {
  let last = prefix.length - 1
  while (last >= 0 && prefix[last] === 0xff) last -= 1
  if (last < 0) return KEY_END
  const after = Buffer.allocUnsafe(last + 1)
  after.set(last + 1 === prefix.length ? prefix : prefix.subarray(0, last + 1))
  after[last] = (after[last] ?? 0) + 1
  return after
}

/** Greater than every key: tuple keys begin with a small byte. */
export const KEY_END: Key = new Uint8Array([0xff])
