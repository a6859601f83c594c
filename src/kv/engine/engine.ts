// What a database has to offer, and nothing of ours: reads of one committed state, and commits of many
// transactions in one durable step, each of which is refused if what it read has changed.
import type { Key, ScanPart, ScanRange } from '../kv.ts'

export type Value = Uint8Array

/**
 * Tells two writes of one key apart. The writer chooses it and never uses one twice for a key, so that a
 * transaction may name a write that is still on its way among the things it has read.
 */
export type Version = number

/** The version of a key that is not there. */
export const ABSENT: Version = 0

export type Versioned = { readonly value: Value; readonly version: Version }

export type VersionedEntry = Versioned & { readonly key: Key }

/** A key to read. Where its version is still `known`, the engine leaves the value out. */
export type WantedKey = { readonly key: Key; readonly known?: Version }

export type WantedRange = ScanRange & { readonly part: ScanPart }

export type Wanted = {
  readonly keys: readonly WantedKey[]
  readonly ranges: readonly WantedRange[]
}

/** In the order of what was wanted. */
export type Found = {
  readonly keys: readonly (Versioned | 'unchanged' | undefined)[]
  readonly ranges: readonly (readonly VersionedEntry[])[]
}

export type SeenKey = { readonly key: Key; readonly version: Version }

/** What a transaction has read. */
export type ReadSet = {
  readonly keys: readonly SeenKey[]
  readonly ranges: readonly { readonly range: WantedRange; readonly seen: readonly SeenKey[] }[]
}

/** `value` undefined deletes the key. */
export type Write = {
  readonly key: Key
  readonly value: Value | undefined
  readonly version: Version
}

export type Transaction = {
  /** Absent where nobody else writes. */
  readonly reads?: ReadSet
  readonly writes: readonly Write[]
}

/** Overtaken: somebody has changed what the transaction read. `current` is its whole read set as it is now. */
export type Verdict = 'committed' | { readonly current: Found }

/** Reads that never wait. */
export interface LocalReads {
  /** The caller's own copy; with 'fields', it may end before the record's bytes. */
  get(key: Key, part: 'whole' | 'fields'): Value | undefined
  /** In order. Nothing else may be done with the store between two keys, except `get`. */
  keys(range: ScanRange): Iterable<Key>
}

/** One state of the store for as long as it takes. */
export interface Snapshot {
  /** Present where reads never wait. */
  readonly local?: LocalReads
  read(wanted: Wanted): Found | Promise<Found>
  release(): void
}

export interface Engine {
  /**
   * Present only where one runner is the sole writer and reads never wait. Such a runner reads here and sends
   * no read sets.
   */
  readonly local?: LocalReads
  /** One committed state, which has every commit acknowledged before the call. */
  read(wanted: Wanted): Found | Promise<Found>
  snapshot(): Snapshot | Promise<Snapshot>
  /**
   * Commits transactions one after the other, in one durable step: each sees the writes of those before it.
   * Throws if nothing was stored.
   */
  commit(transactions: readonly Transaction[]): Promise<readonly Verdict[]>
  /**
   * Runs `work` while nobody commits but by the function it is given: for a transaction that was overtaken too
   * often.
   */
  alone<T>(work: (commit: Engine['commit']) => Promise<T>): Promise<T>
  /** Bytes that the engine occupies. */
  sizeBytes(): number
  close(): Promise<void>
}
