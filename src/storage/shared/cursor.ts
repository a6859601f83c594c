// A cursor over a range of keys, which only moves forward. It reads in batches that grow, so that walking takes
// few scans, and starts small again after a seek, so that seeking reads few records.
import { giveWay } from '../../kv/step.ts'
import { keyAfter, type Key, type KeyRange, type ReadTx, type Step } from '../../kv/kv.ts'
import type { StoredRecord } from '../../kv/record.ts'

/** Decodes an item. Records are read without the bytes behind their fields. */
type Picker<T> = (key: Key, value: StoredRecord) => T

/** The maximum and minimum number of records per scan. Lists give way between scans, so a scan must be short. */
export const BATCH_MAX = 256
export const BATCH_MIN = 8
const BATCH_GROWTH = 4

/** A page of a list ends early, with a marker, after skipping this many records. */
export const SKIP_MAX = 10_000

export function nextBatch(countMax: number): number {
  return Math.min(countMax * BATCH_GROWTH, BATCH_MAX)
}

/** `expectedCount`: how many records the caller will probably visit. */
export function openCursor<T>(
  tx: ReadTx,
  range: KeyRange,
  pick: Picker<T>,
  expectedCount = 0,
): Cursor<T> {
  return new Cursor(tx, range, pick, expectedCount)
}

type Found<T> = { readonly key: Key; readonly item: T }

export class Cursor<T> {
  readonly #tx: ReadTx
  readonly #to: Key
  readonly #pick: Picker<T>
  #from: Key
  #batch: readonly Found<T>[] = []
  #at = 0
  #countMax = BATCH_MIN
  #expectedCount: number
  #isAtEnd = false

  constructor(tx: ReadTx, { from, to }: KeyRange, pick: Picker<T>, expectedCount: number) {
    this.#tx = tx
    this.#from = from
    this.#to = to
    this.#pick = pick
    this.#expectedCount = expectedCount
  }

  /** The current item, or undefined at the end. */
  *peek(): Step<T | undefined> {
    const isRead = this.#at < this.#batch.length || this.#isAtEnd
    if (!isRead && Buffer.compare(this.#from, this.#to) < 0) yield* this.#read()
    return this.#batch[this.#at]?.item
  }

  *#read(): Step<void> {
    yield* giveWay()
    const [countMax, ahead] = [this.#countMax, Math.max(this.#expectedCount, this.#countMax)]
    const range = { from: this.#from, to: this.#to, countMax, ahead }
    const entries = yield* this.#tx.scanFields(range)
    this.#expectedCount -= entries.length
    this.#batch = entries.map(({ key, value }) => ({ key, item: this.#pick(key, value) }))
    this.#at = 0
    this.#isAtEnd = this.#batch.length < this.#countMax
    this.#countMax = nextBatch(this.#countMax)
    const last = this.#batch.at(-1)
    if (last !== undefined) this.#from = keyAfter(last.key)
  }

  /** The current item if it has been read. */
  peekRead(): T | undefined {
    return this.#batch[this.#at]?.item
  }

  /** Moves to the next record. */
  advance(): void {
    this.#at += 1
  }

  /** Moves to the first record at or after the key. */
  seek(key: Key): void {
    for (; this.#at < this.#batch.length; this.#at += 1) {
      const here = this.#batch[this.#at]
      if (here !== undefined && Buffer.compare(here.key, key) >= 0) return
    }
    if (Buffer.compare(key, this.#from) <= 0) return
    this.#from = key
    this.#countMax = BATCH_MIN
  }
}
