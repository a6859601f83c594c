// An immutable sorted map for the memory engine: a change gives a new map and leaves the old one as it
// was, so a snapshot is a reference. Two levels: an array of chunks of a few hundred entries each.
import { compareKeys } from './key.ts'
import type { Entry, Key, Picker, ReadTx, ScanRange, Step, Value } from './kv.ts'
import { pickEntries } from './scanned.ts'
import type { Write } from './transaction.ts'

export type SortedMap = readonly Chunk[]
type Chunk = readonly Entry[]

const CHUNK_ENTRIES_MAX = 512

export const EMPTY_MAP: SortedMap = []

export function isEmpty(map: SortedMap): boolean {
  return map.length === 0
}

export function getEntry(map: SortedMap, key: Key): Value | undefined {
  const chunk = map[chunkIndex(map, key)]
  if (chunk === undefined) return undefined
  const entry = chunk[lowerBound(chunk, key)]
  return entry !== undefined && compareKeys(entry.key, key) === 0 ? entry.value : undefined
}

export function scanEntries(map: SortedMap, range: ScanRange): Entry[] {
  return range.reverse === true ? scanDown(map, range) : scanUp(map, range)
}

export function applyWrites(map: SortedMap, writes: Iterable<Write>): SortedMap {
  const chunks = map.slice()
  for (const write of writes) applyWrite(chunks, write)
  return chunks
}

/** The reads of a transaction on it. */
export class MapReads implements ReadTx {
  readonly #map: SortedMap

  constructor(map: SortedMap) {
    this.#map = map
  }

  *get(key: Key): Step<Value | undefined> {
    return getEntry(this.#map, key)
  }

  *getWith<T>(key: Key, decode: (value: Value) => T): Step<T | undefined> {
    const value = getEntry(this.#map, key)
    return value === undefined ? undefined : decode(value)
  }

  *scan(range: ScanRange): Step<readonly Entry[]> {
    return scanEntries(this.#map, range)
  }

  *scanWith<T>(range: ScanRange, pick: Picker<T>): Step<readonly T[]> {
    return pickEntries(scanEntries(this.#map, range), pick)
  }
}

function scanUp(map: SortedMap, { from, to, countMax }: ScanRange): Entry[] {
  const found: Entry[] = []
  for (let c = chunkIndex(map, from); c < map.length; c += 1) {
    const chunk = map[c] ?? []
    for (let i = lowerBound(chunk, from); i < chunk.length; i += 1) {
      const entry = chunk[i]
      if (entry === undefined || found.length >= countMax) return found
      if (compareKeys(entry.key, to) >= 0) return found
      found.push(entry)
    }
  }
  return found
}

function scanDown(map: SortedMap, { from, to, countMax }: ScanRange): Entry[] {
  const found: Entry[] = []
  for (let c = chunkIndex(map, to); c >= 0; c -= 1) {
    const chunk = map[c] ?? []
    for (let i = lowerBound(chunk, to) - 1; i >= 0; i -= 1) {
      const entry = chunk[i]
      if (entry === undefined || found.length >= countMax) return found
      if (compareKeys(entry.key, from) < 0) return found
      found.push(entry)
    }
  }
  return found
}

function applyWrite(chunks: Chunk[], { key, value }: Write): void {
  const at = chunkIndex(chunks, key)
  const chunk = (chunks[at] ?? []).slice()
  const i = lowerBound(chunk, key)
  const existing = chunk[i]
  const present = existing !== undefined && compareKeys(existing.key, key) === 0
  if (value === undefined) {
    if (present) chunk.splice(i, 1)
  } else {
    chunk.splice(i, present ? 1 : 0, { key, value })
  }
  chunks.splice(at, 1, ...split(chunk))
}

function split(chunk: Chunk): Chunk[] {
  if (chunk.length === 0) return []
  if (chunk.length <= CHUNK_ENTRIES_MAX) return [chunk]
  const middle = chunk.length >> 1
  return [chunk.slice(0, middle), chunk.slice(middle)]
}

/** The chunk that holds `key` or would: the last one that begins at or before it. */
function chunkIndex(map: SortedMap, key: Key): number {
  let low = 0
  let high = map.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    const first = map[middle]?.[0]
    if (first !== undefined && compareKeys(first.key, key) <= 0) low = middle
    else high = middle - 1
  }
  return low
}

/** The first entry whose key is not below `key`. */
function lowerBound(chunk: Chunk, key: Key): number {
  let low = 0
  let high = chunk.length
  while (low < high) {
    const middle = (low + high) >> 1
    const entry = chunk[middle]
    if (entry !== undefined && compareKeys(entry.key, key) < 0) low = middle + 1
    else high = middle
  }
  return low
}
