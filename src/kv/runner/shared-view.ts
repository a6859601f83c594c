// What a body reads if others write to the same engine. Every record comes with its version, and every read is recorded
// for the commit to check. Whatever is not known yet is fetched from the engine.
import assert from 'node:assert/strict'
import type { Cached, RecordCache } from '../cache.ts'
import { keyAfterFold } from '../fold.ts'
import {
  ABSENT,
  type Found,
  type ReadSet,
  type Version,
  type VersionedEntry,
  type WantedRange,
} from '../engine/engine.ts'
import { compareKeys, keyName } from '../key.ts'
import type { Entry, Key, RecordPart, ScanPart, ScanRange, Step } from '../kv.ts'
import type { Known } from './known.ts'
import { StoredRecord } from '../record.ts'
import { ready } from '../step.ts'
import { merge, type FoundRecord, type Reader, type Run, type View } from '../transaction.ts'
import { isVolatile } from '../volatile.ts'
import { boundsName, end, endName, type Want, type Wants } from './wants.ts'

type VersionedRecord = Cached
type RecordEntry = Entry & { readonly version: Version }
type FetchedRange = { readonly range: WantedRange; readonly found: readonly RecordEntry[] }

/** Stored records of one state of the engine, or of several if the body fetched more than once. */
export class EngineState {
  readonly #keys: Map<string, VersionedRecord>
  readonly #ranges: Map<string, FetchedRange>
  readonly #cache: RecordCache
  readonly #current: EngineState | undefined
  #fetchCount: number

  /** Knows what `current` knows, which it never changes, and otherwise what `old` has fetched. */
  constructor(cache: RecordCache, current?: EngineState, old?: EngineState) {
    this.#cache = cache
    this.#current = current
    this.#keys = old === undefined ? new Map() : new Map(old.#keys)
    this.#ranges = old === undefined ? new Map() : new Map(old.#ranges)
    this.#fetchCount = (current === undefined ? 0 : 1) + (old === undefined ? 0 : old.#fetchCount)
  }

  key(name: string): VersionedRecord | undefined {
    return this.#current?.key(name) ?? this.#keys.get(name)
  }

  /** Whether everything comes from one fetch. */
  get isOneState(): boolean {
    return this.#fetchCount <= 1
  }

  /** The entries of a range; undefined if too few are known to merge `writeCount` writes into them. */
  range(range: WantedRange, writeCount: number): readonly RecordEntry[] | undefined {
    const current = this.#current?.range(range, writeCount)
    if (current !== undefined) return current
    const wantedCount = range.countMax + writeCount
    const known = this.#ranges.get(boundsName(range))
    if (known !== undefined && hasEnough(known, known.found, wantedCount)) return known.found
    return range.reverse === true ? undefined : this.#tail(range, wantedCount)
  }

  /** The entries of a range that begins inside one that was fetched ahead. */
  #tail(range: WantedRange, wantedCount: number): readonly RecordEntry[] | undefined {
    const end = endName(range)
    for (const known of this.#ranges.values()) {
      if (endName(known.range) !== end || compareKeys(known.range.from, range.from) > 0) continue
      const at = known.found.findIndex(({ key }) => compareKeys(key, range.from) >= 0)
      const count = at < 0 ? known.found.length : at
      if (range.fold !== undefined && isInsideFold(range, known.found[count - 1])) continue
      const tail = known.found.slice(count)
      if (hasEnough(known, tail, wantedCount)) return tail
    }
    return undefined
  }

  /** `cached`: for each key, the cached record whose version was sent to the engine. */
  learn(
    keys: readonly Key[],
    ranges: readonly WantedRange[],
    found: Found,
    cached: readonly (Cached | undefined)[] = [],
  ): void {
    this.#fetchCount += 1
    keys.forEach((key, at) => {
      this.#keys.set(keyName(key), this.#decode(key, found.keys[at], cached[at]))
    })
    ranges.forEach((range, at) => this.#learnRange(range, found.ranges[at] ?? []))
  }

  /** Adds what a transaction has read, as it is now. Everything that is added is of one state. */
  addCurrent({ keys, ranges }: ReadSet, found: Found): void {
    keys.forEach(({ key }, at) => {
      const name = keyName(key)
      if (!this.#keys.has(name)) this.#keys.set(name, this.#decode(key, found.keys[at], undefined))
    })
    ranges.forEach(({ range }, at) => {
      const known = this.#ranges.get(boundsName(range))
      if (known === undefined || known.range.countMax < range.countMax) {
        this.#learnRange(range, found.ranges[at] ?? [])
      }
    })
  }

  #decode(key: Key, found: Found['keys'][number], cached: Cached | undefined): VersionedRecord {
    if (found === undefined) return MISSING
    if (found === 'unchanged') {
      assert(cached !== undefined, 'only a cached record can be unchanged')
      return cached
    }
    const { value, version } = found
    const record = new StoredRecord(value)
    if (!this.#cache.wasSeen(key)) return { record, version }
    return { record: this.#cache.keep(keyName(key), record, version), version }
  }

  #learnRange(range: WantedRange, found: readonly VersionedEntry[]): void {
    const isKept = range.part !== 'keys' && this.#cache.wasSeen(range.from)
    const entries = found.map(({ key, value, version }) => {
      return { key, version, value: this.#scanned(key, { value, version }, range.part, isKept) }
    })
    this.#ranges.set(boundsName(range), { range, found: entries })
  }

  #scanned(
    key: Key,
    { value, version }: Omit<VersionedEntry, 'key'>,
    part: ScanPart,
    isKept: boolean,
  ): StoredRecord {
    const name = keyName(key)
    const cached = this.#cache.get(name)
    if (cached?.version === version && cached.record !== undefined) {
      if (cached.record.isWhole || part !== 'whole') return cached.record
    }
    const record = new StoredRecord(value, undefined, part === 'whole')
    return (isKept ? this.#cache.keep(name, record, version) : undefined) ?? record
  }
}

function rangeName(range: WantedRange): string {
  return `${range.countMax} ${boundsName(range)}`
}

/** Whether entries from the end of a fetched range are all there are, or as many as are wanted. */
function hasEnough(
  { range, found }: FetchedRange,
  entries: readonly RecordEntry[],
  wantedCount: number,
): boolean {
  return found.length < range.countMax || entries.length >= wantedCount
}

/** Whether a range begins among keys that were folded into the entry before it. */
function isInsideFold({ fold, from }: WantedRange, before: RecordEntry | undefined): boolean {
  const after = before && fold && keyAfterFold(before.key, fold)
  return after !== undefined && compareKeys(from, after) < 0
}

/** What to fetch for a scan. Each pending write may remove an entry, and more may arrive during the fetch. */
function fetchedRange(range: ScanRange, part: ScanPart, pendingCount: number): WantedRange {
  const { ahead = 0, ...plain } = range
  const countMax = Math.max(range.countMax, ahead) + 2 * pendingCount
  return { ...plain, countMax, part }
}

/** 'durable': the engine's state. 'ahead': the same with pending writes of this process. */
export type ViewMode = 'durable' | 'ahead'

export class SharedView implements View {
  readonly #known: Known
  readonly #state: EngineState
  readonly #mode: ViewMode
  readonly #wants: Wants | undefined
  readonly #keys = new Map<string, VersionedRecord & { readonly key: Key }>()
  readonly #ranges = new Map<
    string,
    { readonly range: WantedRange; readonly seen: readonly RecordEntry[] }
  >()
  readonly #volatileKeys: { readonly key: Key; readonly seen: StoredRecord | undefined }[] = []
  readonly #volatileRanges: { readonly range: ScanRange; readonly seen: readonly Entry[] }[] = []

  /** With `wants`, what is not known is guessed, and the outcome counts only if nothing was. */
  constructor(known: Known, state: EngineState, mode: ViewMode, wants?: Wants) {
    this.#known = known
    this.#state = state
    this.#mode = mode
    this.#wants = wants
  }

  get hasReadVolatile(): boolean {
    return this.#volatileKeys.length > 0 || this.#volatileRanges.length > 0
  }

  get reads(): ReadSet {
    return { keys: [...this.#keys.values()], ranges: [...this.#ranges.values()] }
  }

  get(key: Key, name: string, part: RecordPart, reader: Reader): FoundRecord | Step<FoundRecord> {
    if (isVolatile(key)) {
      const seen = this.#known.getVolatile(key, name, reader)
      this.#volatileKeys.push({ key, seen })
      return seen
    }
    const read = this.#keys.get(name) ?? this.#find(name, reader)
    if (read === undefined) {
      return this.#wants === undefined
        ? this.#fetchKey(key, name, reader)
        : this.#wants.guess(key, part)
    }
    this.#keys.set(name, { key, record: read.record, version: read.version })
    return read.record
  }

  #find(name: string, reader: Reader): VersionedRecord | undefined {
    const pending = this.#mode === 'ahead' ? this.#known.pending(name) : undefined
    if (pending === undefined) return this.#state.key(name)
    reader.hasSeen(pending.run)
    // A deleted key has no version.
    const { value: record } = pending
    return { record, version: record === undefined ? ABSENT : pending.version }
  }

  *#fetchKey(key: Key, name: string, reader: Reader): Step<StoredRecord | undefined> {
    yield { key } satisfies Want
    // Another body may have written it meanwhile.
    const { record, version } = this.#find(name, reader) ?? MISSING
    this.#keys.set(name, { key, record, version })
    return record
  }

  scan(range: ScanRange, part: ScanPart, reader: Reader): Step<readonly Entry[]> {
    if (isVolatile(range.from)) {
      const seen = this.#known.scanVolatile(range, reader)
      this.#volatileRanges.push({ range, seen })
      return ready(seen)
    }
    const read = this.#ranges.get(rangeName({ ...range, part }))
    return read === undefined ? this.#scanStored(range, part, reader) : ready(read.seen)
  }

  *#scanStored(range: ScanRange, part: ScanPart, reader: Reader): Step<readonly Entry[]> {
    assert(range.fold === undefined || this.#mode === 'durable', 'a folded scan is for bodies that only read') // prettier-ignore
    for (;;) {
      const pending = this.#mode === 'ahead' ? this.#known.pendingInside(range) : []
      const stored = this.#state.range({ ...range, part }, pending.length)
      if (stored !== undefined) {
        for (const { run } of pending) reader.hasSeen(run)
        const seen = merge<RecordEntry>(stored, pending, range)
        const read = { ...range, part }
        this.#ranges.set(rangeName(read), { range: read, seen })
        return seen
      }
      const want = { range: fetchedRange(range, part, pending.length) } satisfies Want
      if (this.#wants === undefined) {
        yield want
        continue
      }
      this.#wants.add(want)
      return this.#wants.isFull ? yield* end() : merge<RecordEntry>([], pending, range)
    }
  }

  touch(name: string, reader: Reader): void {
    this.#known.touchVolatile(name, reader)
  }

  /** Whether this process has not changed anything the body has read. Only the engine knows about other processes. */
  isCurrent(seen: ReadonlySet<Run>): boolean {
    for (const [name, { version }] of this.#keys) {
      const pending = this.#known.pending(name)
      if (pending === undefined) continue
      if ((pending.value === undefined ? ABSENT : pending.version) !== version) return false
    }
    for (const { range } of this.#ranges.values()) {
      if (this.#known.pendingInside(range).some(({ run }) => !seen.has(run))) return false
    }
    return this.#isVolatileCurrent()
  }

  #isVolatileCurrent(): boolean {
    return (
      this.#volatileKeys.every(({ key, seen }) => this.#known.peekVolatile(key) === seen) &&
      this.#volatileRanges.every(({ range, seen }) =>
        isSameList(this.#known.peekVolatileRange(range), seen),
      )
    )
  }
}

const MISSING: VersionedRecord = { record: undefined, version: ABSENT }

function isSameList(now: readonly Entry[], seen: readonly Entry[]): boolean {
  return now.length === seen.length && now.every(({ value }, at) => value === seen[at]?.value)
}
