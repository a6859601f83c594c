// The lower of the two seams: an ordered map from bytes to bytes with transactions. Every rule of
// Azure Storage is written once above it; an engine knows nothing of blobs or messages.
//
// A transaction body is a generator. It reads with `yield* tx.get(key)`, writes with `tx.put`, and
// touches nothing else: time, ids and ETags come in as arguments, because an engine may run the body
// again (a serialization failure) and because nothing but the transaction may happen inside it.

export type Key = Uint8Array
export type Value = Uint8Array

export type Entry = { readonly key: Key; readonly value: Value }

/** What a body is: a generator that ends with T. What it yields is between `Tx` and its engine. */
export type Step<T> = Generator<unknown, T, unknown>

/** Keys in [from, to), at most `countMax` of them; the last ones first when `reverse`. */
export type ScanRange = {
  readonly from: Key
  readonly to: Key
  readonly countMax: number
  readonly reverse?: boolean
}

export interface ReadTx {
  get(key: Key): Step<Value | undefined>
  /**
   * The same, made into what the caller needs. An engine may keep what `decode` made and give it to others until
   * the record changes, so nobody changes it, and `decode` depends on nothing but the value.
   */
  getWith<T>(key: Key, decode: (value: Value) => T): Step<T | undefined>
  scan(range: ScanRange): Step<readonly Entry[]>
  /** The same without copies: makes of each entry what the caller needs. What `pick` sees is there only during the call. */
  scanWith<T>(range: ScanRange, pick: Picker<T>): Step<readonly T[]>
}

export type Picker<T> = (key: Key, value: ScannedValue) => T

/** A value that a scan has come to. It is read when it is asked for: many only need its key. */
export interface ScannedValue {
  bytes(): Value
  lengthBytes(): number
  /** As `getWith`: what `decode` makes of it, or has made of it before. It must not hold on to the value's bytes. */
  made<T>(decode: (value: Value) => T): T
}

/** What a decoder makes of a record. */
export type Made = {
  readonly decode: (value: Value) => unknown
  readonly made: unknown
  /** It holds memory of somebody else: until its record is stored, and no longer. */
  readonly isPassing?: true
}

/** Reads in a write transaction see its own writes. */
export interface Tx extends ReadTx {
  /** `made`: what its decoder would make of the value, for who has it anyway. The engine may keep it, as that of `getWith`. */
  put(key: Key, value: Value, made?: Made): void
  delete(key: Key): void
}

export interface Kv {
  /** Runs a body on one snapshot: all its reads see the same committed state. */
  read<T>(body: (tx: ReadTx) => Step<T>): Promise<T>
  /**
   * Runs a body as one serializable transaction: all its writes or, if it throws, none. The promise
   * resolves only when they are durable, and every read that begins after that sees them.
   */
  write<T>(body: (tx: Tx) => Step<T>): Promise<T>
  /** Bytes that the engine occupies, for metrics. */
  sizeBytes(): number
  /** Waits for the transactions under way, then lets go of the store. */
  close(): Promise<void>
}

/** The bounds of a scan: from the first key on, and before the other. */
export type KeyRange = { readonly from: Key; readonly to: Key }

/** The keys that begin with `prefix`, as the bounds of a scan. */
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
