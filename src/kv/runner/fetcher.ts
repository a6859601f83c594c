// Batches reads: what bodies request while a statement is running goes into the next one.
import type { Cached, RecordCache } from '../cache.ts'
import type { Engine, Found, Wanted, WantedKey, WantedRange } from '../engine/engine.ts'
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
    return new Promise((resolve, reject) => {
      this.#waiting.push({ keys, ranges, resolve, reject })
      // At the end of this turn, to include what other requests of the turn need.
      if (this.#waiting.length === 1) setImmediate(() => void this.#readWaiting())
    })
  }

  async #readWaiting(): Promise<void> {
    if (this.#waiting.length === 0 || this.#readCount >= READS_MAX) return
    const fetches = this.#waiting.splice(0, countWithin(this.#waiting, entryCount, ENTRIES_MAX))
    this.#readCount += 1
    // If some are left, another statement takes them.
    void this.#readWaiting()
    try {
      const batch = new Batch(this.#cache)
      for (const fetch of fetches) batch.add(fetch)
      const found = await this.#engine.read(batch)
      for (const fetch of fetches) fetch.resolve(batch.partOf(fetch, found))
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

/** What several bodies want, each key once: most requests read the same container and the same properties. */
class Batch implements Wanted {
  readonly keys: WantedKey[] = []
  readonly ranges: WantedRange[] = []
  readonly #cache: RecordCache
  readonly #cached: (Cached | undefined)[] = []
  readonly #places = new Map<string, number>()
  readonly #rangeAt = new Map<Fetch, number>()

  constructor(cache: RecordCache) {
    this.#cache = cache
  }

  add(fetch: Fetch): void {
    for (const key of fetch.keys) this.#addKey(key)
    this.#rangeAt.set(fetch, this.ranges.length)
    this.ranges.push(...fetch.ranges)
  }

  #addKey(key: Key): void {
    const name = keyName(key)
    if (this.#places.has(name)) return
    this.#places.set(name, this.keys.length)
    const cached = this.#cache.get(name)
    const isUsable = cached?.record?.isWhole === true
    this.keys.push(isUsable ? { key, known: cached.version } : { key })
    this.#cached.push(isUsable ? cached : undefined)
  }

  /** The part of the answer that one of the bodies wanted. */
  partOf(fetch: Fetch, found: Found): Fetched {
    const places = fetch.keys.map((key) => this.#places.get(keyName(key)) ?? -1)
    const from = this.#rangeAt.get(fetch) ?? 0
    return {
      found: {
        keys: places.map((place) => found.keys[place]),
        ranges: found.ranges.slice(from, from + fetch.ranges.length),
      },
      cached: places.map((place) => this.#cached[place]),
    }
  }
}
