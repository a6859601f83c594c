// What bodies read if this process is the only writer and reads never wait: the engine through the cache, and volatile
// records. A body that writes also sees pending writes.
import type { RecordCache } from '../cache.ts'
import { ABSENT, type LocalReads } from '../engine/engine.ts'
import { keyName } from '../key.ts'
import type { Entry, Key, RecordPart, ScanPart, ScanRange, Step } from '../kv.ts'
import type { Known } from './known.ts'
import { StoredRecord } from '../record.ts'
import { getEntry, scanEntries } from '../sorted-map.ts'
import { ready } from '../step.ts'
import { KEY_ONLY, merge, type FoundRecord, type Reader, type View } from '../transaction.ts'
import { isVolatile } from '../volatile.ts'

/**
 * Reads the engine through the cache. A record leaves the cache as soon as a body writes it, and is not cached again
 * before that write is durable and visible to every read of the engine. All other records are the same in every state
 * that a read can see meanwhile.
 */
export class StoredReads {
  readonly #local: LocalReads
  readonly #cache: RecordCache
  readonly #known: Known

  constructor(local: LocalReads, cache: RecordCache, known: Known) {
    this.#local = local
    this.#cache = cache
    this.#known = known
  }

  /** Always reads the whole record: the lookup costs the same, and the cached record serves both parts. */
  get(key: Key, name: string, part: RecordPart): StoredRecord | undefined {
    const cached = this.#cache.get(name)
    if (cached !== undefined && (part === 'fields' || cached.record?.isWhole !== false)) {
      return cached.record
    }
    const value = this.#local.get(key, 'whole')
    const record = value === undefined ? undefined : new StoredRecord(value)
    const isKept = this.#cache.wasSeen(key) && !this.#known.isPending(name)
    return isKept ? this.#cache.keep(name, record, ABSENT) : record
  }

  /** Caches the records of a scan that is repeated, unless the body writes: it may change all of them. */
  scan(range: ScanRange, part: ScanPart, mayKeep: boolean): readonly Entry[] {
    const found: Entry[] = []
    if (part === 'keys') {
      for (const key of this.#local.keys(range)) found.push({ key, value: KEY_ONLY })
      return found
    }
    const isKept = mayKeep && this.#cache.wasSeen(range.from)
    for (const key of this.#local.keys(range)) {
      found.push({ key, value: this.#scanned(key, part, isKept) })
    }
    return found
  }

  #scanned(key: Key, part: 'whole' | 'fields', isKept: boolean): StoredRecord {
    const name = keyName(key)
    const cached = this.#cache.get(name)?.record
    if (cached !== undefined && (cached.isWhole || part === 'fields')) return cached
    const record = readScanned(this.#local, key, part)
    if (!isKept || this.#known.isPending(name)) return record
    return this.#cache.keep(name, record, ABSENT) ?? record
  }
}

function readScanned(local: LocalReads, key: Key, part: 'whole' | 'fields'): StoredRecord {
  return new StoredRecord(local.get(key, part) ?? NO_VALUE, undefined, part === 'whole')
}

const NO_VALUE = new Uint8Array(0)

/**
 * The durable state for bodies that only read, while all volatile records are settled. For bodies that write, the state
 * ahead of it: with the writes that are still being committed.
 */
export class LocalView implements View {
  readonly #stored: StoredReads
  readonly #known: Known
  readonly #isAhead: boolean

  constructor(stored: StoredReads, known: Known, isAhead: boolean) {
    this.#stored = stored
    this.#known = known
    this.#isAhead = isAhead
  }

  get(key: Key, name: string, part: RecordPart, reader: Reader): FoundRecord {
    if (isVolatile(key)) return this.#known.getVolatile(key, name, reader)
    const pending = this.#isAhead ? this.#known.pending(name) : undefined
    if (pending === undefined) return this.#stored.get(key, name, part)
    reader.hasSeen(pending.run)
    return pending.value
  }

  scan(range: ScanRange, part: ScanPart, reader: Reader): Step<readonly Entry[]> {
    if (isVolatile(range.from)) return ready(this.#known.scanVolatile(range, reader))
    if (!this.#isAhead) return ready(this.#stored.scan(range, part, true))
    const pending = this.#known.pendingInside(range)
    if (pending.length === 0) return ready(this.#stored.scan(range, part, false))
    for (const { run } of pending) reader.hasSeen(run)
    const wider = { ...range, countMax: range.countMax + pending.length }
    return ready(merge<Entry>(this.#stored.scan(wider, part, false), pending, range))
  }

  touch(name: string, reader: Reader): void {
    this.#known.touchVolatile(name, reader)
  }
}

/** A snapshot of the engine, with the volatile records of that moment. */
export class SnapshotView implements View {
  readonly #local: LocalReads
  readonly #volatile: Known['settledVolatile']

  constructor(local: LocalReads, volatile: Known['settledVolatile']) {
    this.#local = local
    this.#volatile = volatile
  }

  get(key: Key): FoundRecord {
    if (isVolatile(key)) return getEntry(this.#volatile, key)
    const value = this.#local.get(key, 'whole')
    return value === undefined ? undefined : new StoredRecord(value)
  }

  scan(range: ScanRange, part: ScanPart): Step<readonly Entry[]> {
    if (isVolatile(range.from)) return ready(scanEntries(this.#volatile, range))
    const keys = [...this.#local.keys(range)]
    return ready(
      keys.map((key) => {
        return { key, value: part === 'keys' ? KEY_ONLY : readScanned(this.#local, key, part) }
      }),
    )
  }

  touch(): void {}
}
