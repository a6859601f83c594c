// Cache of recently read records, decoded, behind the runner: the only cache of stored state. It also remembers
// keys that are absent.
//
// A record is admitted when it is read for the second time, so that a walk over many records costs the hot ones
// nothing. To make room, two entries are picked at random and the less recently used one goes: under plain LRU, a
// repeated scan larger than the cache would never hit.
import { hashBytes, SeenFilter } from '../memory/seen.ts'
import { allowDerived } from './derived.ts'
import type { Version } from './engine/engine.ts'
import type { Key } from './kv.ts'
import { fieldsEnd, StoredRecord } from './record.ts'

export type CacheLimits = {
  /** Total size of the values; their decoded form takes about as much again. 0 turns the cache off. */
  readonly bytesMax: number
  readonly valueBytesMax: number
}

export const LIMITS: CacheLimits = { bytesMax: 32 * 2 ** 20, valueBytesMax: 16 * 2 ** 10 }
export const NO_CACHE: CacheLimits = { bytesMax: 0, valueBytesMax: 0 }

let defaultLimits = LIMITS

/** For tests that run again without a cache. */
export function setDefaultCacheLimits(limits: CacheLimits): void {
  defaultLimits = limits
}

/** Cost of an entry besides its value. */
const ENTRY_BYTES = 256
/** Of larger values that were just stored, only the fields are cached. */
const WRITTEN_BYTES_MAX = 1_024

export type Cached = {
  /** Undefined: the key is absent. */
  readonly record: StoredRecord | undefined
  readonly version: Version
}

type Entry = Cached & {
  readonly name: string
  readonly bytes: number
  at: number
  usedAt: number
  /** Cache hits so far. */
  findCount: number
}

export class RecordCache {
  readonly #limits: CacheLimits
  readonly #byName = new Map<string, Entry>()
  /** The same entries, to pick from at random. */
  readonly #entries: Entry[] = []
  readonly #seen = new SeenFilter()
  #bytes = 0
  #tick = 0
  #random = 1

  constructor(limits: CacheLimits = defaultLimits) {
    this.#limits = limits
  }

  get(name: string): Cached | undefined {
    const entry = this.#byName.get(name)
    if (entry === undefined) return undefined
    entry.usedAt = this.#tick += 1
    entry.findCount += 1
    // Not on the first hit: a record that is read and written in turns has only one.
    if (entry.findCount === 2 && entry.record !== undefined) allowDerivedFrom(entry.record)
    return entry
  }

  /** Like `get`, for a guess: it does not count as a use. */
  peek(name: string): Cached | undefined {
    return this.#byName.get(name)
  }

  /** Whether the key was read before, so that its record is worth caching. */
  wasSeen(key: Key): boolean {
    return this.#limits.bytesMax > 0 && this.#seen.mark(hashBytes(key))
  }

  /** Caches a record. Returns the copy that its readers share. */
  keep(name: string, record: StoredRecord | undefined, version: Version): StoredRecord | undefined {
    const valueBytes = record?.value.length ?? 0
    if (valueBytes > this.#limits.valueBytesMax || this.#limits.bytesMax === 0) return record
    const shared = record && withOwnMemory(record)
    this.drop(name)
    const bytes = ENTRY_BYTES + name.length + valueBytes
    const usedAt = (this.#tick += 1)
    const at = this.#entries.length
    const entry = { name, record: shared, version, bytes, at, usedAt, findCount: 0 }
    this.#byName.set(name, entry)
    this.#entries.push(entry)
    this.#bytes += bytes
    while (this.#bytes > this.#limits.bytesMax) this.#evict()
    return shared
  }

  /** Caches a record that was just stored: only the fields of a large one, because its bytes would have to be copied. */
  keepWritten(name: string, record: StoredRecord, version: Version): void {
    const { value } = record
    if (value.length <= WRITTEN_BYTES_MAX) this.keep(name, record, version)
    else this.keep(name, new StoredRecord(fieldsOf(value), record.fields, false), version)
  }

  /** Returns whether the record was cached. */
  drop(name: string): boolean {
    const entry = this.#byName.get(name)
    if (entry !== undefined) this.#remove(entry)
    return entry !== undefined
  }

  #evict(): void {
    const [one, other] = [this.#pick(), this.#pick()]
    if (one === undefined || other === undefined) return
    this.#remove(one.usedAt < other.usedAt ? one : other)
  }

  #remove(entry: Entry): void {
    this.#byName.delete(entry.name)
    this.#bytes -= entry.bytes
    const last = this.#entries.pop()
    if (last === undefined || last === entry) return
    this.#entries[entry.at] = last
    last.at = entry.at
  }

  #pick(): Entry | undefined {
    // xorshift32: any uniform distribution will do.
    this.#random ^= this.#random << 13
    this.#random ^= this.#random >>> 17
    this.#random ^= this.#random << 5
    return this.#entries[(this.#random >>> 0) % this.#entries.length]
  }
}

function withOwnMemory(record: StoredRecord): StoredRecord {
  const { value, isWhole } = record
  if (!isWhole) return hasFields(record) ? new StoredRecord(NO_VALUE, record.fields, false) : record
  return record.withValue(ownCopy(value))
}

/**
 * A value may be part of a pool of 8 KiB, which it would keep alive beyond all limits. Small ones are copied into slabs that
 * only cached values share: memory of its own for each of them would cost as much as the rest of a small write.
 */
function ownCopy(value: Uint8Array): Buffer {
  const { length } = value
  if (length > SLAB_VALUE_BYTES_MAX) {
    const own = Buffer.allocUnsafeSlow(length)
    own.set(value)
    return own
  }
  if (slabEnd + length > SLAB_BYTES) {
    slab = Buffer.allocUnsafeSlow(SLAB_BYTES)
    slabEnd = 0
  }
  const copy = slab.subarray(slabEnd, slabEnd + length)
  copy.set(value)
  slabEnd += length
  return copy
}

/** Short, since a slab lives as long as one of its values. */
const SLAB_BYTES = 4_096
const SLAB_VALUE_BYTES_MAX = 1_024
let slab = Buffer.allocUnsafeSlow(SLAB_BYTES)
let slabEnd = 0

/** Only its length is used: it counts towards the limits. */
function fieldsOf(value: Uint8Array): Uint8Array {
  return value.subarray(0, fieldsEnd(value))
}

function allowDerivedFrom(record: StoredRecord): void {
  if (!hasFields(record)) return
  const { fields } = record
  if (typeof fields === 'object' && fields !== null) allowDerived(record, fields)
}

/** A damaged record must not break the cache; fsck reports it. */
function hasFields(record: StoredRecord): boolean {
  try {
    return record.fields !== undefined
  } catch {
    return false
  }
}

const NO_VALUE = new Uint8Array(0)
