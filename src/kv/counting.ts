// Counters for the reads and writes of transactions, and for the records in a store: for tests of what an operation
// costs and leaves behind.
import { decodeKey } from './key.ts'
import {
  KEY_END,
  type Entry,
  type Key,
  type Kv,
  type ReadTx,
  type ScanRange,
  type Step,
  type Tx,
} from './kv.ts'
import type { StoredRecord } from './record.ts'

export class TxCounts {
  gets = 0
  scans = 0
  /** Entries found by scans. */
  scanned = 0
  puts = 0
  deletes = 0

  /** Records read. */
  get records(): number {
    return this.gets + this.scanned
  }

  reset(): void {
    this.gets = 0
    this.scans = 0
    this.scanned = 0
    this.puts = 0
    this.deletes = 0
  }
}

/** Counts the reads of `tx`. */
export function countingReads(tx: ReadTx, counts: TxCounts): ReadTx {
  const counted = function* <T>(scan: Step<readonly T[]>): Step<readonly T[]> {
    const found = yield* scan
    counts.scans += 1
    counts.scanned += found.length
    return found
  }
  return {
    *get(key: Key): Step<StoredRecord | undefined> {
      counts.gets += 1
      return yield* tx.get(key)
    },
    *getFields<T>(key: Key): Step<T | undefined> {
      counts.gets += 1
      return yield* tx.getFields<T>(key)
    },
    scan: (range: ScanRange): Step<readonly Entry[]> => counted(tx.scan(range)),
    scanFields: (range: ScanRange): Step<readonly Entry[]> => counted(tx.scanFields(range)),
    scanKeys: (range: ScanRange): Step<readonly Key[]> => counted(tx.scanKeys(range)),
    observe: () => tx.observe(),
  }
}

/** Counts the reads and writes of `tx`. */
export function countingTx<Event>(tx: Tx<Event>, counts: TxCounts): Tx<Event> {
  return {
    ...countingReads(tx, counts),
    put: (key, value) => {
      counts.puts += 1
      tx.put(key, value)
    },
    delete: (key) => {
      counts.deletes += 1
      tx.delete(key)
    },
    announce: (event) => tx.announce(event),
  }
}

/** The number of records of each kind. The kind is the first part of a key. */
export async function recordCounts(kv: Pick<Kv, 'read'>): Promise<Record<string, number>> {
  const range = { from: new Uint8Array(0), to: KEY_END, countMax: 1_000_000 }
  const counts: Record<string, number> = {}
  for (const key of await kv.read((tx) => tx.scanKeys(range))) {
    const kind = String(decodeKey(key)[0])
    counts[kind] = (counts[kind] ?? 0) + 1
  }
  return counts
}
