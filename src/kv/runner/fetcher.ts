// Batches reads: what bodies request while a statement is running goes into the next one.
import type { Cached, RecordCache } from '../cache.ts'
import type { Engine, Found, WantedRange } from '../engine/engine.ts'
import { StoreUnavailable } from '../engine/unavailable.ts'
import { keyName } from '../key.ts'
import type { Key } from '../kv.ts'
import { countWithin } from './count-within.ts'

export type Fetched = {
  readonly found: Found
  /** For each key, the cached record whose version was sent to the engine. */
  readonly cached: readonly (Cached | undefined)[]
}

type Fetch = {
  readonly keys: readonly Key[]
  readonly ranges: readonly WantedRange[]
  readonly cached: Fetched['cached']
  resolve(fetched: Fetched): void
  reject(error: unknown): void
}

/** Concurrent statements. */
const READS_MAX = 2
/** Keys and entries of ranges per statement, unless one body wants more. */
const ENTRIES_MAX = 10_000

function entryCount({ keys, ranges }: Fetch): number {
  return ranges.reduce((count, { countMax }) => count + countMax, keys.length)
}

export class Fetcher {
  readonly #engine: Engine
  readonly #cache: RecordCache
  #waiting: Fetch[] = []
  #readCount = 0

  constructor(engine: Engine, cache: RecordCache) {
    this.#engine = engine
    this.#cache = cache
  }

  /** Everything comes from one state of the engine, in the order requested. */
  fetch(keys: readonly Key[], ranges: readonly WantedRange[]): Promise<Fetched> {
    const cached = keys.map((key) => this.#usable(key))
    return new Promise((resolve, reject) => {
      this.#waiting.push({ keys, ranges, cached, resolve, reject })
      // At the end of this turn, to include what other requests of the turn need.
      if (this.#waiting.length === 1) setImmediate(() => void this.#readWaiting())
    })
  }

  #usable(key: Key): Cached | undefined {
    const cached = this.#cache.get(keyName(key))
    return cached?.record?.isWhole === true ? cached : undefined
  }

  async #readWaiting(): Promise<void> {
    if (this.#waiting.length === 0 || this.#readCount >= READS_MAX) return
    const fetches = this.#waiting.splice(0, countWithin(this.#waiting, entryCount, ENTRIES_MAX))
    this.#readCount += 1
    // If some are left, another statement takes them.
    void this.#readWaiting()
    try {
      share(
        fetches,
        await this.#engine.read({
          keys: fetches.flatMap(({ keys, cached }) =>
            keys.map((key, at) => wanted(key, cached[at])),
          ),
          ranges: fetches.flatMap(({ ranges }) => ranges),
        }),
      )
    } catch (error) {
      // What waits would only wait as long once more.
      const failed =
        error instanceof StoreUnavailable ? [...fetches, ...this.#waiting.splice(0)] : fetches
      for (const { reject } of failed) reject(error)
    }
    this.#readCount -= 1
    void this.#readWaiting()
  }
}

function wanted(key: Key, cached: Cached | undefined) {
  return cached === undefined ? { key } : { key, known: cached.version }
}

/** Gives each fetch its part of the answer. */
function share(fetches: readonly Fetch[], found: Found): void {
  let [keyAt, rangeAt] = [0, 0]
  for (const { keys, ranges, cached, resolve } of fetches) {
    const part = {
      keys: found.keys.slice(keyAt, keyAt + keys.length),
      ranges: found.ranges.slice(rangeAt, rangeAt + ranges.length),
    }
    keyAt += keys.length
    rangeAt += ranges.length
    resolve({ found: part, cached })
  }
}
