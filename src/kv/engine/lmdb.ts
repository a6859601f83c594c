// The default engine: LMDB, embedded. Readers keep their snapshot, and a crash at any point leaves the last commit. The
// only file that imports lmdb.
import assert from 'node:assert/strict'
import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { open, type Database, type Transaction as NativeTransaction } from 'lmdb'
import type { Key, ScanRange } from '../kv.ts'
import { folded } from '../fold.ts'
import { fieldsEnd } from '../record.ts'
import { changeMap, getEntry, type SortedMap } from '../sorted-map.ts'
import { commitInOrder, commitThenRetry } from './check.ts'
import { DiskSpace } from './disk-space.ts'
import {
  type Engine,
  type Found,
  type LocalReads,
  type Snapshot,
  type Retry,
  type Transaction,
  type Value,
  type Verdict,
  type Version,
  type Wanted,
  type Write,
} from './engine.ts'
import { Exclusive } from './exclusive.ts'
import { Environment } from './lmdb-environment.ts'
import { prepareLmdbFile } from './lmdb-file.ts'

// Keys reach 3.1 KiB (a name of 1,024 characters of three bytes); pages of 4 KiB allow only 1,978.
const PAGE_SIZE_BYTES = 8_192
/** What LMDB takes with such pages. */
const KEY_BYTES_MAX = 4_026

const OPTIONS = {
  noSubdir: false,
  pageSize: PAGE_SIZE_BYTES,
  // Only the owner may read the records. The package's types lack this option.
  permissionsMode: 0o600,
  keyEncoder: { writeKey, readKey },
  encoding: 'binary',
  cache: false,
  // If true, a commit's promise would resolve before its data is flushed; an acknowledged write must survive a
  // power cut.
  overlappingSync: false,
  // If true, a commit would start in the next turn of the event loop, after all requests of this one.
  eventTurnBatching: false,
  txnStartThreshold: 1,
} as const

function writeKey(key: Uint8Array, target: Uint8Array, start: number): number {
  target.set(key, start)
  return start + key.length
}

/**
 * Copies a key, because the next one is read into the same buffer. The package would copy it to an array on V8's heap,
 * which native calls such as `toString` first move elsewhere (1 µs).
 */
function readKey(source: Uint8Array, start: number, end: number): Buffer {
  const key = Buffer.allocUnsafe(end - start)
  key.set(source.subarray(start, end))
  return key
}

export type LmdbSettings = {
  /** Several runners of this process write to it. Versions are kept in memory and checked. */
  readonly isShared?: boolean
  /** Free space on the disk. */
  readonly freeBytes?: () => number
  readonly nowMs?: () => number
}

export type LmdbEngine = Engine & {
  /** Replaces a value if it is still `expected`. Atomic across processes. */
  replace(key: Key, expected: Value | undefined, next: Value | undefined): boolean
}

type Store = Database<Buffer, Buffer>
type Opened = Environment<Store>

export function openLmdbEngine(folder: string, settings: LmdbSettings = {}): LmdbEngine {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  prepareLmdbFile(join(folder, 'data.mdb'), PAGE_SIZE_BYTES)
  const snapshots = new Snapshots()
  const opened: Opened = new Environment(
    () => open({ path: folder, ...OPTIONS }),
    () => snapshots.released(),
  )
  const reads = readsOf(opened)
  const space = new DiskSpace(folder, settings)
  const shared = settings.isShared === true ? new SharedCommits(opened, space) : undefined
  return {
    ...(shared === undefined && { local: reads }),
    read: (wanted) => readAll(reads, wanted, shared?.versions),
    snapshot: () => snapshots.take(opened, shared?.versions),
    commit: (transactions, retry) =>
      shared?.commit(transactions, retry) ?? commit(opened, space, transactions),
    alone: async (work) => {
      if (shared !== undefined) return shared.alone(work)
      return work((transactions) => commit(opened, space, transactions))
    },
    replace: (key, expected, next) =>
      commitSync(opened, () => {
        const current = reads.get(key, 'whole')
        if (Buffer.compare(current ?? NO_VALUE, expected ?? NO_VALUE) !== 0) return false
        write(opened.store, { key, value: next })
        return true
      }),
    sizeBytes: () => statSync(join(folder, 'data.mdb')).size,
    close: () => opened.close(),
  }
}

const NO_VALUE = new Uint8Array(0)

/** One native transaction, which a thread of the package writes and syncs. */
async function commit(
  opened: Opened,
  space: DiskSpace,
  transactions: readonly Transaction[],
): Promise<readonly Verdict[]> {
  const writes = transactions.flatMap((transaction) => transaction.writes)
  space.check(writes)
  checkKeys(writes)
  await opened.commit((store) => {
    // The first write of a turn waits for the next turn, the second starts the transaction at once: so the first one is a
    // no-op. The batch reports whether the commit succeeds.
    store.remove(NOTHING_KEY).catch(() => undefined)
    return store.batch(() => writes.forEach((each) => write(store, each))).catch(rethrow)
  })
  return transactions.map(() => 'committed')
}

/** Before the first write: the package commits what a batch has written when a later write throws. */
function checkKeys(writes: readonly Write[]): void {
  for (const { key } of writes) assert(key.length <= KEY_BYTES_MAX, 'a key is too long')
}

function commitSync<T>(opened: Opened, work: () => T): T {
  const { store } = opened
  try {
    return store.transactionSync(work)
  } catch (error) {
    opened.hasFailed(error)
    throw error
  }
}

function write(store: Store, { key, value }: Pick<Write, 'key' | 'value'>): void {
  if (value === undefined) void store.remove(asBuffer(key))
  else void store.put(asBuffer(key), asBuffer(value))
}

/** The package reports the cause of a failed commit in a separate promise, which must be awaited or it ends the process. */
async function rethrow(error: unknown): Promise<never> {
  if (error instanceof Error && 'commitError' in error) await error.commitError
  throw error
}

/** Smaller than every tuple key, and never stored. */
const NOTHING_KEY = Buffer.from([0])

/** The version of every record that existed when the store was opened. */
const OPENED_VERSION: Version = 1

/** Commits of several runners. Each is checked inside a native transaction, so they run one at a time. */
class SharedCommits {
  /** Versions of records written since the store was opened. Immutable: a commit replaces it, a snapshot keeps its own. */
  #versions: Versions = []
  readonly #opened: Opened
  readonly #space: DiskSpace
  readonly #turns = new Exclusive()

  constructor(opened: Opened, space: DiskSpace) {
    this.#opened = opened
    this.#space = space
  }

  get versions(): Versions {
    return this.#versions
  }

  commit(
    transactions: readonly Transaction[],
    retry: Retry | undefined,
  ): Promise<readonly Verdict[]> {
    return this.#turns.run(() => commitThenRetry(transactions, (each) => this.#commit(each), retry))
  }

  alone<T>(work: (commit: Engine['commit']) => Promise<T>): Promise<T> {
    return this.#turns.run(() => work((transactions) => this.#commit(transactions)))
  }

  async #commit(transactions: readonly Transaction[]): Promise<readonly Verdict[]> {
    this.#space.check(transactions.flatMap(({ writes }) => writes))
    let versions = this.#versions
    const verdicts = commitSync(this.#opened, () => {
      const reads = readsOf(this.#opened)
      return commitInOrder(
        transactions,
        (wanted) => readAll(reads, wanted, versions),
        (writes) => {
          for (const each of writes) write(this.#opened.store, each)
          versions = changeMap(versions, writes.map(toVersion))
        },
      )
    })
    this.#versions = versions
    return verdicts
  }
}

type Versions = SortedMap<Version>

/** A key that is absent needs no version. */
function toVersion({ key, value, version }: Write) {
  return { key: new Uint8Array(key), value: value && version }
}

function readAll(reads: LocalReads, { keys, ranges }: Wanted, versions: Versions = []): Found {
  const versionOf = (key: Key): Version => getEntry(versions, key) ?? OPENED_VERSION
  return {
    keys: keys.map(({ key, known }) => {
      const value = reads.get(key, 'whole')
      if (value === undefined) return undefined
      const version = versionOf(key)
      return version === known ? 'unchanged' : { value, version }
    }),
    ranges: ranges.map((range) =>
      Array.from(reads.keys(range), (key) => {
        const value = range.part === 'keys' ? NO_VALUE : (reads.get(key, range.part) ?? NO_VALUE)
        return { key, value, version: versionOf(key) }
      }),
    ),
  }
}

/** Snapshots for reads that take longer than one turn of the event loop. */
class Snapshots {
  #count = 0
  #onReleased: (() => void) | undefined

  take({ store }: Opened, versions: Versions | undefined): Snapshot {
    const transaction = store.useReadTransaction()
    this.#count += 1
    // It goes on reading from its environment after that has failed.
    const local = readsOf({ store }, { transaction })
    return {
      ...(versions === undefined && { local }),
      read: (wanted) => readAll(local, wanted, versions),
      release: () => {
        transaction.done()
        this.#count -= 1
        if (this.#count === 0) this.#onReleased?.()
      },
    }
  }

  async released(): Promise<void> {
    if (this.#count === 0) return
    await new Promise<void>((resolve) => {
      this.#onReleased = resolve
    })
  }
}

type Within = { readonly transaction?: NativeTransaction }

/** Reads from `within`'s snapshot. Without one, all reads of a turn of the event loop share a snapshot. */
function readsOf(opened: Pick<Opened, 'store'>, within: Within = {}): LocalReads {
  return {
    get: (key, part) => {
      // The package's types lack the second argument.
      const fast: { getBinaryFast(key: Buffer, within: Within): Buffer | undefined } = opened.store
      const view = fast.getBinaryFast(asBuffer(key), within)
      return view === undefined ? undefined : copyOf(view, part)
    },
    // Iterating over the keys and looking up each value is several times as fast as the package's iteration over
    // both, which copies each value (1.2 ms against 5.2 ms for 1,000 records of 4 KiB).
    keys: (range) => {
      const walk = (part: ScanRange) => opened.store.getKeys({ ...boundsOf(part), ...within })
      const { fold } = range
      if (fold === undefined) return walk(range)
      return folded(range, fold, (part) => walk({ ...range, ...part }), (key) => key) // prettier-ignore
    },
  }
}

/**
 * Copies a result of `getBinaryFast`, which the next read overwrites. Its `length` property is set by the package and
 * differs from its real length, which confuses some functions, such as Node 20's `copy`. `cut` has the right length.
 */
function copyOf({ buffer, byteOffset, length }: Buffer, part: 'whole' | 'fields'): Value {
  const cut = Buffer.from(buffer, byteOffset, length)
  const wanted = part === 'fields' ? cut.subarray(0, fieldsEnd(cut)) : cut
  const copy = Buffer.allocUnsafe(wanted.length)
  copy.set(wanted)
  return copy
}

/** lmdb excludes the start of a reverse range and includes its end; ours is [from, to) both ways. */
function boundsOf({ from, to, countMax, reverse }: ScanRange) {
  const limits = { limit: countMax, snapshot: true } as const
  if (reverse !== true) return { start: asBuffer(from), end: asBuffer(to), ...limits }
  return {
    start: asBuffer(to),
    end: asBuffer(from),
    exclusiveStart: true,
    inclusiveEnd: true,
    reverse: true,
    ...limits,
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
