// What was read of late, as it was made of its record: almost every request reads the same few ones, and to find a
// record, copy it and take its JSON apart costs more than all that is decided by it.
//
// It never shows another state than the store's. A record is dropped as soon as a body has written it, and not kept
// again before that write is durable and every read of the store sees it. All others are in every state that a read
// may see meanwhile the same.
import type { Entry, Key, Made, Picker, ReadTx, ScanRange, Step, Value } from './kv.ts'
import { RecentScans } from './recent-scans.ts'
import { nameOf, type Writes } from './transaction.ts'

export type RecentLimits = {
  /** Of the values; what is made of them is of the same order. */
  readonly bytesMax: number
  readonly valueBytesMax: number
}

const LIMITS: RecentLimits = { bytesMax: 16 * 2 ** 20, valueBytesMax: 16 * 2 ** 10 }
/** What an entry costs beside its value. */
const ENTRY_BYTES = 256
// Many more than what is read in turns: of two names in one place, each would make the other one forgotten.
const SEEN_COUNT = 1 << 16

type Kept = {
  readonly decode: Made['decode']
  readonly made: unknown
  readonly bytes: number
}

export class Recent implements ReadTx {
  readonly #store: ReadTx
  readonly #isChanging: (name: string) => boolean
  readonly #limits: RecentLimits
  /** Two generations: when the younger is full, the older one goes as a whole. */
  #young = new Map<string, Kept>()
  #old = new Map<string, Kept>()
  #youngBytes = 0
  /** Names that were asked for once, by a hash: what is asked for only once is not worth its place. */
  readonly #seen = new Int32Array(SEEN_COUNT)
  readonly #scans: RecentScans

  /** `isChanging`: whether a write of it waits to be durable. */
  constructor(store: ReadTx, isChanging: (name: string) => boolean, limits: RecentLimits = LIMITS) {
    this.#store = store
    this.#isChanging = isChanging
    this.#limits = limits
    this.#scans = new RecentScans((name) => this.#find(name), isChanging, limits)
  }

  *getWith<T>(key: Key, decode: (value: Value) => T): Step<T | undefined> {
    const name = nameOf(key)
    const known = this.#find(name)
    if (known?.decode === decode) return known.made as T | undefined
    const value = yield* this.#store.get(key)
    const isKept = this.#wasSeen(key)
    const made = value === undefined ? undefined : decode(isKept ? apart(value) : value)
    if (isKept) this.#keep(name, { decode, made }, value?.length ?? 0)
    return made
  }

  scanWith<T>(range: ScanRange, pick: Picker<T>): Step<readonly T[]> {
    return this.#store.scanWith(range, this.#scans.picking(pick, this.#wasSeen(range.from)))
  }

  #find(name: string): Kept | undefined {
    return this.#young.get(name) ?? this.#takeUp(name)
  }

  /** What is still asked for is young again. */
  #takeUp(name: string): Kept | undefined {
    const kept = this.#old.get(name)
    if (kept === undefined) return undefined
    this.#old.delete(name)
    this.#add(name, kept)
    return kept
  }

  /** These are in the store now. */
  stored(writes: Writes): void {
    for (const [name, { key, value, made }] of writes) {
      if (made === undefined || made.isPassing === true) continue
      if (this.#wasSeen(key)) this.#keep(name, made, value?.length ?? 0)
    }
  }

  get(key: Key): Step<Value | undefined> {
    return this.#store.get(key)
  }

  scan(range: ScanRange): Step<readonly Entry[]> {
    return this.#store.scan(range)
  }

  forget(names: Iterable<string>): void {
    for (const name of names) {
      this.#drop(name)
      this.#scans.forget(name)
    }
  }

  #drop(name: string): void {
    const young = this.#young.get(name)
    if (young === undefined) {
      this.#old.delete(name)
      return
    }
    this.#young.delete(name)
    this.#youngBytes -= young.bytes
  }

  #keep(name: string, { decode, made }: Made, valueBytes: number): void {
    if (valueBytes > this.#limits.valueBytesMax || this.#isChanging(name)) return
    this.#drop(name)
    this.#add(name, { decode, made, bytes: ENTRY_BYTES + name.length + valueBytes })
  }

  #add(name: string, kept: Kept): void {
    this.#young.set(name, kept)
    this.#youngBytes += kept.bytes
    if (this.#youngBytes < this.#limits.bytesMax / 2) return
    this.#old = this.#young
    this.#young = new Map()
    this.#youngBytes = 0
  }

  #wasSeen(key: Key): boolean {
    const hash = hashOf(key)
    const at = hash & (SEEN_COUNT - 1)
    if (this.#seen[at] === hash) return true
    this.#seen[at] = hash
    return false
  }
}

/** What is made of a large value may be a view of it, and one of Buffer's pool would hold all of the pool. */
function apart(value: Value): Value {
  return value.length > SMALL_BYTES ? new Uint8Array(value) : value
}

const SMALL_BYTES = 1_024

/** FNV-1a. */
function hashOf(key: Key): number {
  let hash = 0x811c9dc5
  for (const byte of key) hash = Math.imul(hash ^ byte, 0x01000193)
  return hash
}
