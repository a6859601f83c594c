// What a database must offer: reads from one committed state, and commits of many transactions in one durable step. A
// transaction whose reads have changed is refused.
import type { Key, ScanPart, ScanRange } from '../kv.ts'

export type Value = Uint8Array

/**
 * Distinguishes the writes of a key. The writer chooses it and never reuses one for the same key. Because it is known
 * before the commit, a transaction can depend on a write that is still being committed.
 */
export type Version = number

/** The version of an absent key. */
export const ABSENT: Version = 0

export type Versioned = { readonly value: Value; readonly version: Version }

export type VersionedEntry = Versioned & { readonly key: Key }

/** A key to read. The engine omits the value if its version is still `known`. */
export type WantedKey = { readonly key: Key; readonly known?: Version }

export type WantedRange = ScanRange & { readonly part: ScanPart }

export type Wanted = {
  readonly keys: readonly WantedKey[]
  readonly ranges: readonly WantedRange[]
}

/** In the order of `Wanted`. */
export type Found = {
  readonly keys: readonly (Versioned | 'unchanged' | undefined)[]
  readonly ranges: readonly (readonly VersionedEntry[])[]
}

export type SeenKey = { readonly key: Key; readonly version: Version }

/** The keys and ranges that a transaction read, with the versions it saw. */
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
  /** Absent where there is only one writer. */
  readonly reads?: ReadSet
  readonly writes: readonly Write[]
}

/** 'committed', or overtaken: something the transaction read has changed. `current` is its whole read set after the group. */
export type Verdict = 'committed' | { readonly current: Found }

/** Gets the verdicts of a commit, and a function for one more commit. It must be quick, since all other writers wait. */
export type Retry = (
  verdicts: readonly Verdict[],
  commit: (transactions: readonly Transaction[]) => Promise<readonly Verdict[]>,
) => Promise<void>

export function isOvertaken(verdict: Verdict): boolean {
  return verdict !== 'committed'
}

/** Reads that never wait. */
export interface LocalReads {
  /** A copy that the caller owns. With 'fields', the record's bytes may be cut off. */
  get(key: Key, part: 'whole' | 'fields'): Value | undefined
  /** In order. Between two keys, the caller may use the store only for `get`. */
  keys(range: ScanRange): Iterable<Key>
}

/** One state of the store, kept until it is released. */
export interface Snapshot {
  /** Present where reads never wait. */
  readonly local?: LocalReads
  read(wanted: Wanted): Found | Promise<Found>
  release(): void
}

export interface Engine {
  /**
   * Present only if one runner is the sole writer and reads never wait. That runner reads here and sends no read
   * sets.
   */
  readonly local?: LocalReads
  /** Reads one committed state that includes every commit acknowledged before the call. */
  read(wanted: Wanted): Found | Promise<Found>
  snapshot(): Snapshot | Promise<Snapshot>
  /**
   * Commits transactions in order, in one durable step: each sees the writes of those before it. Throws if nothing
   * was stored. If some were overtaken, `retry` runs before anybody else can commit, even in another process.
   */
  commit(transactions: readonly Transaction[], retry?: Retry): Promise<readonly Verdict[]>
  /**
   * Runs `work` while only the function passed to it can commit: for a transaction that was overtaken too often.
   * Engines with `local` have one writer and need no exclusion.
   */
  alone<T>(work: (commit: Engine['commit']) => Promise<T>): Promise<T>
  /** Size of the store in bytes. */
  sizeBytes(): number
  close(): Promise<void>
}
