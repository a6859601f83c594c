// What a runner knows beyond its engine: pending writes, which are still being committed, and volatile records. Volatile
// records exist twice: with and without the changes of transactions that are not durable yet.
import type { Version } from '../engine/engine.ts'
import { keyName } from '../key.ts'
import type { Entry, Key, ScanRange } from '../kv.ts'
import { StoredRecord } from '../record.ts'
import { changeMap, getEntry, scanEntries, type SortedMap } from '../sorted-map.ts'
import {
  writesInside,
  type PendingWrite,
  type PendingWrites,
  type Reader,
  type Run,
} from '../transaction.ts'

export type Pending = PendingWrite & { readonly version: Version; readonly run: Run }

type VolatileRecords = SortedMap<StoredRecord>

export class Known {
  #pending = new Map<string, Pending>()
  #volatile: VolatileRecords = []
  #settledVolatile: VolatileRecords = []
  /** Volatile keys, written or deleted, whose run is not durable yet. */
  readonly #unsettled = new Map<string, Run>()
  /** Runs that are not durable yet and have read volatile records. */
  readonly #volatileReaders = new Set<Run>()
  /** Those among them whose volatile reads have changed since. */
  readonly #outrun = new Set<Run>()

  /** Whether volatile and stored records may be out of step until a commit completes. */
  get hasUnsettledVolatile(): boolean {
    return this.#unsettled.size > 0 || this.isOutrun
  }

  /**
   * Whether the settled volatile records are ahead of the stored ones: a run that is not durable yet did not see volatile
   * changes that already took effect, so it precedes them.
   */
  get isOutrun(): boolean {
    return this.#outrun.size > 0
  }

  isPending(name: string): boolean {
    return this.#pending.has(name)
  }

  pending(name: string): Pending | undefined {
    return this.#pending.get(name)
  }

  pendingInside(range: ScanRange): readonly Pending[] {
    return writesInside(this.#pending, range)
  }

  getVolatile(key: Key, name: string, reader: Reader): StoredRecord | undefined {
    this.touchVolatile(name, reader)
    reader.hasReadVolatile(name)
    return this.peekVolatile(key)
  }

  /** A body that reads or overwrites a change that is not durable yet depends on it. */
  touchVolatile(name: string, reader: Reader): void {
    const run = this.#unsettled.size === 0 ? undefined : this.#unsettled.get(name)
    if (run !== undefined) reader.hasSeen(run)
  }

  scanVolatile(range: ScanRange, reader: Reader): readonly Entry[] {
    reader.hasReadVolatile(range)
    if (this.#unsettled.size > 0) {
      const [from, to] = [keyName(range.from), keyName(range.to)]
      for (const [name, run] of this.#unsettled) {
        if (name >= from && name < to) reader.hasSeen(run)
      }
    }
    return this.peekVolatileRange(range)
  }

  peekVolatile(key: Key): StoredRecord | undefined {
    return getEntry(this.#volatile, key)
  }

  peekVolatileRange(range: ScanRange): readonly Entry[] {
    return this.#volatile.length === 0 ? NO_ENTRIES : scanEntries(this.#volatile, range)
  }

  /** The volatile records without changes that are not durable yet. */
  get settledVolatile(): VolatileRecords {
    return this.#settledVolatile
  }

  /** Applies volatile writes at once: those of a run that stores nothing and depends on nothing. */
  applyVolatile(writes: readonly PendingWrite[]): void {
    if (writes.length === 0) return
    const isSame = this.#volatile === this.#settledVolatile
    this.#volatile = changeMap(this.#volatile, writes)
    this.#settledVolatile = isSame ? this.#volatile : changeMap(this.#settledVolatile, writes)
    for (const run of this.#volatileReaders) if (hasReadOneOf(run, writes)) this.#outrun.add(run)
  }

  add(run: Run): void {
    const { version } = run
    for (const [name, write] of run.writes) {
      this.#pending.set(name, { key: write.key, value: write.value, version, run })
    }
    if (run.volatileReads !== undefined) this.#volatileReaders.add(run)
    if (run.volatileWrites.length === 0) return
    this.#volatile = changeMap(this.#volatile, run.volatileWrites)
    for (const { key } of run.volatileWrites) this.#unsettled.set(keyName(key), run)
  }

  /** Called when a run is durable. The engine has its writes now; newer writes of the same keys stay pending. */
  settle(run: Run): void {
    for (const name of run.writes.keys()) {
      if (this.#pending.get(name)?.run === run) this.#pending.delete(name)
    }
    this.#volatileReaders.delete(run)
    this.#outrun.delete(run)
    if (run.volatileWrites.length === 0) return
    this.#settledVolatile = changeMap(this.#settledVolatile, run.volatileWrites)
    for (const { key } of run.volatileWrites) {
      const name = keyName(key)
      if (this.#unsettled.get(name) === run) this.#unsettled.delete(name)
    }
    if (this.#unsettled.size === 0) this.#volatile = this.#settledVolatile
  }

  /** Called after some runs have failed. `left` are those still pending, in order. */
  restart(left: readonly Run[]): void {
    this.#pending = new Map()
    this.#volatile = this.#settledVolatile
    this.#unsettled.clear()
    this.#volatileReaders.clear()
    this.#outrun.clear()
    for (const run of left) this.add(run)
  }
}

const NO_ENTRIES: readonly Entry[] = []

function hasReadOneOf({ volatileReads = [] }: Run, writes: readonly PendingWrite[]): boolean {
  return writes.some(({ key }) => {
    const name = keyName(key)
    return volatileReads.some((read) =>
      typeof read === 'string'
        ? read === name
        : name >= keyName(read.from) && name < keyName(read.to),
    )
  })
}

/** Volatile records live long, so they must not keep a buffer pool alive. */
export function ownedWrites(writes: PendingWrites): readonly PendingWrite[] {
  return writes.size === 0 ? NO_WRITES : [...writes.values()].map(ownMemory)
}

const NO_WRITES: readonly PendingWrite[] = []

function ownMemory({ key, value }: PendingWrite): PendingWrite {
  return { key: new Uint8Array(key), value: value && ownRecord(value) }
}

function ownRecord(record: StoredRecord): StoredRecord {
  return new StoredRecord(new Uint8Array(record.value), record.fields)
}
