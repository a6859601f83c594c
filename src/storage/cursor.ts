// A place in a range of keys that only moves forward: it reads in batches, so that walking costs few scans,
// and begins small again behind a jump, so that jumping costs few records.
import { keyAfter, type Key, type KeyRange, type ReadTx, type Step, type Value } from '../kv/kv.ts'

export type Cursor<T> = {
  /** What stands here, or undefined at the end. */
  peek(): Step<T | undefined>
  /** To the next record. */
  advance(): void
  /** To the first record at or behind the key. */
  seek(key: Key): void
}

/** The most records that one scan looks at, and the fewest. */
export const BATCH_MAX = 1_000
export const BATCH_MIN = 8
const BATCH_GROWTH = 4

/** Records that a page of a list passes over without showing them; then it ends early, with a marker. */
export const SKIP_MAX = 10_000

export function nextBatch(countMax: number): number {
  return Math.min(countMax * BATCH_GROWTH, BATCH_MAX)
}

export function openCursor<T>(
  tx: ReadTx,
  range: KeyRange,
  pick: (key: Key, value: Value) => T,
): Cursor<T> {
  const pickWithKey = (key: Key, value: Value) => ({
    key: Buffer.from(key),
    item: pick(key, value),
  })
  let { from } = range
  let batch: readonly { readonly key: Key; readonly item: T }[] = []
  let at = 0
  let countMax = BATCH_MIN
  let isAtEnd = false
  return {
    *peek() {
      if (at >= batch.length && !isAtEnd && Buffer.compare(from, range.to) < 0) {
        batch = yield* tx.scanWith({ from, to: range.to, countMax }, pickWithKey)
        at = 0
        isAtEnd = batch.length < countMax
        countMax = nextBatch(countMax)
        const last = batch.at(-1)
        if (last !== undefined) from = keyAfter(last.key)
      }
      return batch[at]?.item
    },
    advance() {
      at += 1
    },
    seek(key) {
      for (; at < batch.length; at += 1) {
        const here = batch[at]
        if (here !== undefined && Buffer.compare(here.key, key) >= 0) return
      }
      if (Buffer.compare(key, from) <= 0) return
      from = key
      countMax = BATCH_MIN
    },
  }
}
