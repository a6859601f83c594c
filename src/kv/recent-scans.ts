// What scans have come to of late, as it was made of its records: most lists are asked for again and again. Kept
// apart from what single reads came to (recent.ts), whose decoders may be others and take the bytes behind a record along.
//
// The first come stay. A walk over more than there is room for, made again and again, would otherwise find nothing: what
// it is about to come to would just have made room for what it has passed.
import assert from 'node:assert/strict'
import type { Key, Made, Picker, ScannedValue, Value } from './kv.ts'
import { recordJsonBytes } from './record.ts'
import { nameOf } from './transaction.ts'

type Limits = {
  readonly bytesMax: number
  readonly valueBytesMax: number
}

/** What is kept of an entry beside the JSON of its record. */
const ENTRY_BYTES = 256
/** When it has refused so many times as many as it holds, other lists are asked for now, and it begins anew. */
const REFUSED_RATIO = 4

type Kept = Made & {
  /** Of the value. */
  readonly lengthBytes: number
  /** Of its place here. */
  readonly bytes: number
}

export class RecentScans {
  readonly #findRead: (name: string) => Made | undefined
  readonly #isChanging: (name: string) => boolean
  readonly #limits: Limits
  readonly #kept = new Map<string, Kept>()
  #keptBytes = 0
  #refusedCount = 0

  /** `findRead`: what a single read has kept. */
  constructor(
    findRead: (name: string) => Made | undefined,
    isChanging: (name: string) => boolean,
    limits: Limits,
  ) {
    this.#findRead = findRead
    this.#isChanging = isChanging
    this.#limits = limits
  }

  /** `isKeeping`: whether the scan was made before, so that what it comes to is worth its place. */
  picking<T>(pick: Picker<T>, isKeeping: boolean): Picker<T> {
    const scanned = new Scanned(this, isKeeping)
    return (key, value) => pick(key, scanned.at(key, value))
  }

  find(name: string): Kept | undefined {
    return this.#kept.get(name)
  }

  findRead(name: string): Made | undefined {
    return this.#findRead(name)
  }

  keep(name: string, value: Value, made: Made): void {
    const jsonBytes = recordJsonBytes(value)
    if (jsonBytes > this.#limits.valueBytesMax || this.#isChanging(name)) return
    if (this.#keptBytes > this.#limits.bytesMax) {
      this.#refusedCount += 1
      if (this.#refusedCount < this.#kept.size * REFUSED_RATIO) return
      this.#kept.clear()
      this.#keptBytes = 0
      this.#refusedCount = 0
    }
    this.forget(name)
    const bytes = ENTRY_BYTES + name.length + jsonBytes
    this.#kept.set(name, { ...made, lengthBytes: value.length, bytes })
    this.#keptBytes += bytes
  }

  forget(name: string): void {
    const kept = this.#kept.size === 0 ? undefined : this.#kept.get(name)
    if (kept === undefined) return
    this.#kept.delete(name)
    this.#keptBytes -= kept.bytes
  }
}

/** One for a whole scan: the value of the key that it has come to. */
class Scanned implements ScannedValue {
  readonly #scans: RecentScans
  readonly #isKeeping: boolean
  #name = ''
  #kept: Kept | undefined
  #value: ScannedValue | undefined

  constructor(scans: RecentScans, isKeeping: boolean) {
    this.#scans = scans
    this.#isKeeping = isKeeping
  }

  at(key: Key, value: ScannedValue): this {
    this.#name = nameOf(key)
    this.#kept = this.#scans.find(this.#name)
    this.#value = value
    return this
  }

  bytes(): Value {
    assert(this.#value !== undefined)
    return this.#value.bytes()
  }

  lengthBytes(): number {
    return this.#kept === undefined ? this.bytes().length : this.#kept.lengthBytes
  }

  made<T>(decode: (value: Value) => T): T {
    if (this.#kept?.decode === decode) return this.#kept.made as T
    const read = this.#scans.findRead(this.#name)
    if (read?.decode === decode && read.made !== undefined) return read.made as T
    const value = this.bytes()
    const made = decode(value)
    if (this.#isKeeping) this.#scans.keep(this.#name, value, { decode, made })
    return made
  }
}
