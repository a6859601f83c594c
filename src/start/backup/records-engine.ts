// The records of a backup as an engine that can only read, so that the code for stores works on backups, too.
import assert from 'node:assert/strict'
import type { Engine, Found, VersionedEntry, Wanted, WantedRange } from '../../kv/engine/engine.ts'
import { partOf } from '../../kv/engine/part.ts'
import type { Key } from '../../kv/kv.ts'
import type { BackupFiles } from './files.ts'
import { recordsName, type ChunkEntry } from './manifest.ts'
import { decodeChunk, type StoredEntry } from './record-chunk.ts'

/** Decoded chunks that are kept: those who read go through them in order. */
const CHUNKS_MAX = 4
/** All records have been there from the beginning. */
const VERSION = 1

type Chunk = { readonly firstKey: Key; readonly entry: ChunkEntry }

export function openRecordsEngine(files: BackupFiles, entries: readonly ChunkEntry[]): Engine {
  const records = new Records(files, entries)
  const read = (wanted: Wanted): Promise<Found> => records.read(wanted)
  const refuse = (): Promise<never> => Promise.reject(new Error('A backup is open to read only.'))
  return {
    read,
    snapshot: () => ({ read, release: () => undefined }),
    commit: refuse,
    alone: refuse,
    sizeBytes: () => entries.reduce((total, { lengthBytes }) => total + lengthBytes, 0),
    close: async () => undefined,
  }
}

class Records {
  readonly #files: BackupFiles
  readonly #chunks: readonly Chunk[]
  /** The least recently used first. */
  readonly #decoded = new Map<Chunk, readonly StoredEntry[]>()

  constructor(files: BackupFiles, entries: readonly ChunkEntry[]) {
    this.#files = files
    this.#chunks = entries.map((entry) => {
      return { firstKey: Buffer.from(entry.firstKey, 'base64'), entry }
    })
  }

  async read({ keys, ranges }: Wanted): Promise<Found> {
    const found: (VersionedEntry | undefined)[] = []
    for (const { key } of keys) found.push(await this.#get(key))
    const scanned: VersionedEntry[][] = []
    for (const range of ranges) scanned.push(await this.#scan(range))
    return { keys: found, ranges: scanned }
  }

  async #get(key: Key): Promise<VersionedEntry | undefined> {
    const chunk = this.#chunks[this.#indexOf(key)]
    if (chunk === undefined) return undefined
    const entry = (await this.#entriesOf(chunk)).find((each) => Buffer.compare(each.key, key) === 0)
    return entry && { ...entry, version: VERSION }
  }

  async #scan({ from, to, countMax, reverse, fold, part }: WantedRange): Promise<VersionedEntry[]> {
    assert(reverse !== true && fold === undefined, 'backups are read forwards')
    const found: VersionedEntry[] = []
    for (let at = Math.max(0, this.#indexOf(from)); found.length < countMax; at += 1) {
      const chunk = this.#chunks[at]
      if (chunk === undefined || Buffer.compare(chunk.firstKey, to) >= 0) break
      const entries = await this.#entriesOf(chunk)
      for (let index = firstFrom(entries, from); index < entries.length; index += 1) {
        const entry = entries[index]
        if (entry === undefined || found.length === countMax) break
        if (Buffer.compare(entry.key, to) >= 0) break
        found.push({ key: entry.key, value: partOf(entry.value, part), version: VERSION })
      }
    }
    return found
  }

  /** Of the last chunk that begins at or before the key; -1 if there is none. */
  #indexOf(key: Key): number {
    return countWhile(this.#chunks.length, (at) => {
      return Buffer.compare(this.#chunks[at]?.firstKey ?? key, key) <= 0
    }) - 1 // prettier-ignore
  }

  async #entriesOf(chunk: Chunk): Promise<readonly StoredEntry[]> {
    const { entry } = chunk
    const entries =
      this.#decoded.get(chunk) ??
      decodeChunk(await this.#files.read(recordsName(entry), 0, entry.lengthBytes), entry)
    this.#decoded.delete(chunk)
    this.#decoded.set(chunk, entries)
    const [oldest] = this.#decoded.keys()
    if (this.#decoded.size > CHUNKS_MAX && oldest !== undefined) this.#decoded.delete(oldest)
    return entries
  }
}

function firstFrom(entries: readonly StoredEntry[], from: Key): number {
  return countWhile(entries.length, (at) => Buffer.compare(entries[at]?.key ?? from, from) < 0)
}

/** How many of the first numbers are so; all that are so come before all others. */
function countWhile(count: number, isSo: (at: number) => boolean): number {
  let [low, high] = [0, count]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isSo(middle)) low = middle + 1
    else high = middle
  }
  return low
}
