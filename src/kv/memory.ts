// The memory engine: for tests and `--inMemoryPersistence`. With `waits` every read of a body waits a
// turn and commits are optimistic, as in a database on another machine: bodies interleave, and one
// whose reads have been overtaken is run again. What works on it works on an engine with real waits. It looks whether
// what bodies say they have written is what will be read.
import assert from 'node:assert/strict'
import type { Entry, Key, Kv, Picker, ReadTx, ScanRange, Step, Tx, Value } from './kv.ts'
import { compareKeys } from './key.ts'
import {
  applyWrites,
  EMPTY_MAP,
  getEntry,
  MapReads,
  scanEntries,
  type SortedMap,
} from './sorted-map.ts'
import { Recent } from './recent.ts'
import { runPaced } from './paced.ts'
import { pickEntries } from './scanned.ts'
import { bufferWrites, isInside, runAwaiting, runStraight, type Writes } from './transaction.ts'

export function openMemoryKv(options: { readonly waits?: boolean } = {}): Kv {
  return options.waits === true ? openWaitingKv() : openStraightKv()
}

function openStraightKv(): Kv {
  let map = EMPTY_MAP
  let sizeBytes = 0
  // A body runs straight through, so the map is the same from its first read to its last.
  const reads: ReadTx = {
    get: (key) => new MapReads(map).get(key),
    getWith: (key, decode) => new MapReads(map).getWith(key, decode),
    scan: (range) => new MapReads(map).scan(range),
    scanWith: (range, pick) => new MapReads(map).scanWith(range, pick),
  }
  const takeSnapshot = () => ({ reads: new MapReads(map), release: () => undefined })
  const recent = new Recent(reads, () => false)
  const commit = (writes: Writes): void => {
    for (const { key, value } of writes.values()) {
      sizeBytes += (value === undefined ? 0 : key.length + value.length) - weightOf(map, key)
    }
    if (writes.size > 0) map = applyWrites(map, writes.values())
    recent.forget(writes.keys())
    recent.stored(writes)
  }
  return {
    read: (body) => runPaced(body, recent, takeSnapshot),
    write: async <T>(body: (tx: Tx) => Step<T>) => {
      const tx = bufferWrites(recent)
      const result = runStraight(body(tx))
      commit(tx.writes())
      return result
    },
    sizeBytes: () => sizeBytes,
    close: async () => {},
  }
}

function weightOf(map: SortedMap, key: Key): number {
  const value = getEntry(map, key)
  return value === undefined ? 0 : key.length + value.length
}

function openWaitingKv(): Kv {
  let map = EMPTY_MAP
  /** The keys of each commit, to see what a body's reads missed. */
  const commits: (readonly Key[])[] = []
  return {
    read: async <T>(body: (tx: ReadTx) => Step<T>) => runAwaiting(body(waitingReads(map, []))),
    write: async <T>(body: (tx: Tx) => Step<T>): Promise<T> => {
      for (;;) {
        const begun = commits.length
        const reads: ScanRange[] = []
        const tx = bufferWrites(waitingReads(map, reads))
        const result = await runAwaiting(body(tx))
        const missed = commits.slice(begun).flat()
        if (missed.some((key) => reads.some((range) => wasRead(key, range)))) continue
        const writes = [...tx.writes().values()]
        for (const { value, made } of writes) {
          if (value && made) assert.deepEqual(made.made, made.decode(value))
        }
        map = applyWrites(map, writes)
        commits.push(writes.map((write) => write.key))
        return result
      }
    },
    sizeBytes: () => 0,
    close: async () => {},
  }
}

function wasRead(key: Key, range: ScanRange): boolean {
  return isInside(key, range) || compareKeys(key, range.from) === 0
}

function waitingReads(map: SortedMap, reads: ScanRange[]): ReadTx {
  function* scan(range: ScanRange): Step<readonly Entry[]> {
    reads.push(range)
    return (yield nextTurn(() => scanEntries(map, range))) as readonly Entry[]
  }
  function* get(key: Key): Step<Value | undefined> {
    reads.push({ from: key, to: key, countMax: 1 })
    return (yield nextTurn(() => getEntry(map, key))) as Value | undefined
  }
  return {
    scan,
    *scanWith<T>(range: ScanRange, pick: Picker<T>): Step<readonly T[]> {
      return pickEntries(yield* scan(range), pick)
    },
    get,
    *getWith<T>(key: Key, decode: (value: Value) => T): Step<T | undefined> {
      const value = yield* get(key)
      return value === undefined ? undefined : decode(value)
    },
  }
}

function nextTurn<T>(read: () => T): Promise<T> {
  return new Promise((resolve) => setImmediate(() => resolve(read())))
}
