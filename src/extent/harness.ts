// A harness for the tests of extents: minimal blobs (a record with content, whose references change in the same
// transaction) and a clock that is advanced by hand.
import assert from 'node:assert/strict'
import { encodeKey } from '../kv/key.ts'
import type { Key, Kv } from '../kv/kv.ts'
import { decodeRecord, encodeRecord, recordBytes, type StoredRecord } from '../kv/record.ts'
import type { SweptExtentStore } from './extent.ts'
import { checkStore } from './sweep/fsck.ts'
import { addReferences, removeReferences } from './content/reference.ts'
import { wholeSlice } from './content/slice-list.ts'
import type { Content, Hole, Piece } from './content/slice.ts'
import { sweepExtents, type SweepOptions, type Swept } from './sweep/sweep.ts'

/** Pseudo-random bytes: different for every seed and offset. */
export function patternBytes(seed: number, lengthBytes: number): Buffer {
  const bytes = Buffer.allocUnsafe(lengthBytes)
  let state = (seed * 2_654_435_761 + 1) >>> 0
  for (let i = 0; i < lengthBytes; i += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    bytes[i] = state >>> 24
  }
  return bytes
}

export async function* chunksOf(
  bytes: Uint8Array,
  chunkBytes = 65_536,
): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes)
}

export async function readAll(
  store: SweptExtentStore,
  pieces: readonly (Piece | Hole)[],
): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of store.read(pieces)) {
    chunks.push(Buffer.from(chunk))
    store.recycle(chunk)
  }
  return Buffer.concat(chunks)
}

export const GRACE_MS = 1_000

export class Harness {
  readonly kv: Kv
  readonly store: SweptExtentStore
  readonly #now: { ms: number }
  #contentId: number

  /** Nodes of one store have different first ids. */
  constructor(kv: Kv, store: SweptExtentStore, now: { ms: number }, firstContentId = 1) {
    this.kv = kv
    this.store = store
    this.#now = now
    this.#contentId = firstContentId - 1
  }

  get nowMs(): number {
    return this.#now.ms
  }

  async write(bytes: Uint8Array, chunkBytes?: number): Promise<Piece> {
    return wholeSlice(await this.store.write(chunksOf(bytes, chunkBytes), bytes.length, []))
  }

  /** Replaces the blob's record, with inline bytes beside its content. */
  async point(name: string, pieces: readonly Piece[]): Promise<void> {
    const key = testBlobKey(name)
    this.#contentId += 1
    const content: Content = { id: this.#contentId, pieces }
    await this.kv.write(function* (tx) {
      const old = yield* tx.get(key)
      if (old !== undefined) yield* removeReferences(tx, contentOf(old))
      yield* addReferences(tx, key, content)
      tx.put(key, encodeRecord({ name, content }, Buffer.from(`inline ${name}`)))
    })
  }

  async put(name: string, bytes: Uint8Array): Promise<void> {
    await this.point(name, [await this.write(bytes)])
  }

  async delete(name: string): Promise<void> {
    const key = testBlobKey(name)
    await this.kv.write(function* (tx) {
      const old = yield* tx.get(key)
      if (old === undefined) return
      yield* removeReferences(tx, contentOf(old))
      tx.delete(key)
    })
  }

  async pieces(name: string): Promise<readonly Piece[] | undefined> {
    const value = await this.kv.read((tx) => tx.get(testBlobKey(name)))
    if (value === undefined) return undefined
    assert.equal(Buffer.from(recordBytes(value)).toString(), `inline ${name}`)
    return contentOf(value).pieces
  }

  async get(name: string): Promise<Buffer | undefined> {
    const pieces = await this.pieces(name)
    return pieces === undefined ? undefined : readAll(this.store, pieces)
  }

  async sweep(options: Partial<SweepOptions> = {}): Promise<Swept> {
    this.#now.ms += GRACE_MS
    return sweepExtents(this.kv, this.store, {
      clock: () => this.#now.ms,
      graceMs: GRACE_MS,
      sealBytesMin: 1,
      ...options,
    })
  }

  /** Enough passes to seal, compact, retire and remove. */
  async sweepAll(options: Partial<SweepOptions> = {}): Promise<void> {
    for (let pass = 0; pass < 5; pass += 1) await this.sweep(options)
  }

  /** The bytes of all extents, by any node. */
  async storedBytes(): Promise<number> {
    let total = 0
    for (const extent of await this.store.list()) {
      total += (await this.store.storedBytes(extent)) ?? 0
    }
    return total
  }

  async checkSound(): Promise<void> {
    assert.deepEqual((await checkStore(this.kv, this.store)).problems, [])
  }
}

export function testBlobKey(name: string): Key {
  return encodeKey('blob', 1, name)
}

function contentOf(value: StoredRecord): Content {
  return decodeRecord<{ content: Content }>(value).content
}
