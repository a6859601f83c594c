// A place in a range of keys that only moves forward: it reads in batches, so that walking costs few scans,
// and begins small again behind a jump, so that jumping costs few records.
import { giveWay } from '../../kv/paced.ts'
import { keyAfter, type Key, type KeyRange, type ReadTx, type Step } from '../../kv/kv.ts'
import type { StoredRecord } from '../../kv/record.ts'

/** What a cursor shows of a record. It reads the fields only, not the bytes behind them. */
export type Picker<T> = (key: Key, value: StoredRecord) => T

/** The most records that one scan looks at, and the fewest. */
export const BATCH_MAX = 1_000
export const BATCH_MIN = 8
const BATCH_GROWTH = 4

/** Records that a page of a list passes over without showing them; then it ends early, with a marker. */
export const SKIP_MAX = 10_000

export function nextBatch(countMax: number): number {
  return Math.min(countMax * BATCH_GROWTH, BATCH_MAX)
}

export function openCursor<T>(tx: ReadTx, range: KeyRange, pick: Picker<T>): Cursor<T> {
  return new Cursor(tx, range, pick)
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
  #isAtEnd = false

  constructor(tx: ReadTx, { from, to }: KeyRange, pick: Picker<T>) {
    this.#tx = tx
    this.#from = from
    this.#to = to
    this.#pick = pick
  }

  /** What stands here, or undefined at the end. */
  *peek(): Step<T | undefined> {
    const isRead = this.#at < this.#batch.length || this.#isAtEnd
    if (!isRead && Buffer.compare(this.#from, this.#to) < 0) yield* this.#read()
    return this.#batch[this.#at]?.item
  }

  *#read(): Step<void> {
    yield* giveWay()
    const range = { from: this.#from, to: this.#to, countMax: this.#countMax }
    const entries = yield* this.#tx.scanFields(range)
    this.#batch = entries.map(({ key, value }) => ({ key, item: this.#pick(key, value) }))
    this.#at = 0
    this.#isAtEnd = this.#batch.length < this.#countMax
    this.#countMax = nextBatch(this.#countMax)
    const last = this.#batch.at(-1)
    if (last !== undefined) this.#from = keyAfter(last.key)
  }

  /** To the next record. */
  advance(): void {
    this.#at += 1
  }

  /** To the first record at or behind the key. */
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
