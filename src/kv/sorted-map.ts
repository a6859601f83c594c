// An immutable map sorted by key: a change makes a new map and leaves the old one unchanged, so a snapshot is just a
// reference. Two levels: an array of chunks of a few hundred entries each.
import { compareKeys } from './key.ts'
import { folded } from './fold.ts'
import type { Key, KeyRange, ScanRange } from './kv.ts'

export type MapEntry<V> = { readonly key: Key; readonly value: V }

/** `value` undefined removes the key. */
export type MapChange<V> = { readonly key: Key; readonly value: V | undefined }

type Chunk<V> = readonly MapEntry<V>[]
export type SortedMap<V> = readonly Chunk<V>[]

const CHUNK_ENTRIES_MAX = 512

export function getEntry<V>(map: SortedMap<V>, key: Key): V | undefined {
  const chunk = map[chunkIndex(map, key)]
  if (chunk === undefined) return undefined
  const entry = chunk[lowerBound(chunk, key)]
  return entry !== undefined && compareKeys(entry.key, key) === 0 ? entry.value : undefined
}

export function scanEntries<V>(map: SortedMap<V>, range: ScanRange): MapEntry<V>[] {
  if (range.fold !== undefined) {
    return [...folded(range, range.fold, (part) => walkUp(map, part), ({ key }) => key)] // prettier-ignore
  }
  return range.reverse === true ? scanDown(map, range) : scanUp(map, range)
}

export function changeMap<V>(map: SortedMap<V>, changes: Iterable<MapChange<V>>): SortedMap<V> {
  const chunks = map.slice()
  for (const change of changes) applyChange(chunks, change)
  return chunks
}

function scanUp<V>(map: SortedMap<V>, { from, to, countMax }: ScanRange): MapEntry<V>[] {
  const found: MapEntry<V>[] = []
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

function* walkUp<V>(map: SortedMap<V>, { from, to }: KeyRange): Generator<MapEntry<V>> {
  for (let c = chunkIndex(map, from); c < map.length; c += 1) {
    const chunk = map[c] ?? []
    for (const entry of chunk.slice(lowerBound(chunk, from))) {
      if (compareKeys(entry.key, to) >= 0) return
      yield entry
    }
  }
}

function scanDown<V>(map: SortedMap<V>, { from, to, countMax }: ScanRange): MapEntry<V>[] {
  const found: MapEntry<V>[] = []
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

function applyChange<V>(chunks: Chunk<V>[], { key, value }: MapChange<V>): void {
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

function split<V>(chunk: Chunk<V>): Chunk<V>[] {
  if (chunk.length === 0) return []
  if (chunk.length <= CHUNK_ENTRIES_MAX) return [chunk]
  const middle = chunk.length >> 1
  return [chunk.slice(0, middle), chunk.slice(middle)]
}

/** The chunk that `key` belongs to: the last one that begins at or before it. */
function chunkIndex<V>(map: SortedMap<V>, key: Key): number {
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
function lowerBound<V>(chunk: Chunk<V>, key: Key): number {
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
