// Extents on a volume. An extent is registered in the kv before it has bytes and unregistered after they are removed, so
// every extent with bytes has a record. A node writes only to extents that it has registered itself, and nobody writes to
// a sealed one. Torn, abandoned and unreferenced bytes are left to the sweep.
import assert from 'node:assert/strict'
import { StoreUnavailable } from '../kv/engine/unavailable.ts'
import type { Kv, ReadTx, Step } from '../kv/kv.ts'
import { decodeRecord } from '../kv/record.ts'
import { ChunkPool } from '../memory/buffer-pool.ts'
import { ChunkCache, type ChunkCacheLimits } from './chunk-cache.ts'
import { markDirty } from './content/reference.ts'
import type { Hole, Piece, Slice } from './content/slice.ts'
import { ExtentDamaged } from './error.ts'
import type { Hasher, SweptExtentStore } from './extent.ts'
import {
  EXTENT_RANGE,
  getExtent,
  keyNumbers,
  OPEN_RANGE,
  registerExtent,
  sealExtent,
  skipExtentIds,
  type ExtentRecord,
} from './keys.ts'
import { OpenExtent } from './open-extent.ts'
import { OpenReads } from './open-reads.ts'
import { CHUNK_LENGTH_MAX, planSpans, SpanReader, type Span } from './reader.ts'
import { scanPages, scanSteps } from './scan.ts'
import type { ReadSpan, Volume } from './volume.ts'
import type { Writers } from './writers.ts'

export type ExtentOptions = {
  readonly kv: Kv
  /** The sweep's clock; all nodes agree on it. */
  readonly clock: () => number
  readonly writers: Writers
  /** An extent of this size takes no more bodies. */
  readonly extentBytes?: number
  readonly chunkCache?: ChunkCacheLimits
}

const EXTENT_BYTES = 64 * 1_024 * 1_024
const CHUNK_POOL_BYTES_MAX = 32 * 1_024 * 1_024
/** How old the sizes of other nodes' extents may be. */
const SIZES_MS_MAX = 60_000

export async function openExtents(
  volume: Volume,
  options: ExtentOptions,
): Promise<SweptExtentStore> {
  const store = new Extents(volume, options)
  await store.recover()
  return store
}

/** Opens extents to read only, beside those who write: changes nothing. */
export function viewExtents(
  volume: Volume,
  { kv, clock }: Pick<ExtentOptions, 'kv' | 'clock'>,
): SweptExtentStore {
  return new Extents(volume, { kv, clock, writers: { self: '', live: async () => new Set() } })
}

class Extents implements SweptExtentStore {
  readonly #volume: Volume
  readonly #kv: Kv
  readonly #clock: () => number
  readonly #writers: Writers
  readonly #targetBytes: number
  readonly #chunks = new ChunkPool({ chunkBytes: CHUNK_LENGTH_MAX, bytesMax: CHUNK_POOL_BYTES_MAX })
  readonly #cache: ChunkCache
  readonly #reads: OpenReads
  /** Sizes of the extents that are known to be sealed, by id. */
  #sealedBytes: Map<number, number> = new Map()
  #sizesReadAtMs = 0
  readonly #open = new Map<number, OpenExtent>()
  readonly #writes = new Set<Promise<unknown>>()
  readonly #sealing = new Map<number, Promise<void>>()
  #current: OpenExtent | undefined
  #rotating: Promise<void> | undefined
  #isClosed = false

  constructor(volume: Volume, options: ExtentOptions) {
    this.#volume = volume
    this.#kv = options.kv
    this.#clock = options.clock
    this.#writers = options.writers
    this.#targetBytes = options.extentBytes ?? EXTENT_BYTES
    this.#cache = new ChunkCache(options.chunkCache)
    this.#reads = new OpenReads(options.clock)
  }

  async recover(): Promise<void> {
    const used = (await this.list()).reduce((most, extent) => Math.max(most, extent), 0)
    await this.#kv.write((tx) => skipExtentIds(tx, used))
    // Also finds those that have no entry in the list of open extents: earlier versions had no such list.
    await this.#sealDead(await this.#readSizes())
  }

  async write(
    source: AsyncIterable<Uint8Array>,
    lengthBytes: number,
    hashers: readonly Hasher[],
    used?: (chunk: Uint8Array) => void,
  ): Promise<Slice> {
    let extent = this.#writableExtent()
    while (extent === undefined) {
      await this.#rotateOnce()
      extent = this.#writableExtent()
    }
    const writing = extent.write(source, lengthBytes, hashers, used)
    this.#writes.add(writing)
    try {
      return await writing
    } catch (error) {
      const marking = this.#markTorn(extent.id)
      if (!(error instanceof StoreUnavailable)) await marking
      throw error
    } finally {
      this.#writes.delete(writing)
      // In the background: a seal that fails is retried and does not fail the write.
      if (extent.isFinished) this.#sealAll().catch(() => undefined)
    }
  }

  read(pieces: readonly (Piece | Hole)[], aheadCount?: number): AsyncIterableIterator<Uint8Array> {
    const spans = planSpans(pieces)
    const extents = new Set<number>()
    for (const { extent } of spans) if (extent !== undefined) extents.add(extent)
    const end = this.#reads.begin(extents)
    const readSpan = this.#volume.reader((extent) => this.#isSettled(extent))
    return new SpanReader(spans, (span) => this.#fetch(span, readSpan), end, aheadCount)
  }

  recycle(chunk: Uint8Array): void {
    this.#chunks.giveBack(chunk)
  }

  sizeBytes(): number {
    // If the kv is away, the old sizes have to do.
    if (performance.now() - this.#sizesReadAtMs > SIZES_MS_MAX) {
      void this.#readSizes().catch(() => undefined)
    }
    let total = 0
    for (const sizeBytes of this.#sealedBytes.values()) total += sizeBytes
    for (const extent of this.#open.values()) total += extent.reservedBytes
    return total
  }

  /** Waits for the writes under way. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#rotating?.catch(() => undefined)
    await Promise.allSettled(this.#writes)
    for (const extent of this.#open.values()) extent.fill()
    this.#current = undefined
    await this.#sealAll()
    await this.#volume.close()
  }

  openBytes(extent: number): number | undefined {
    return this.#open.get(extent)?.reservedBytes
  }

  async seal(extent: number): Promise<void> {
    this.#open.get(extent)?.fill()
    await this.#sealAll()
  }

  async sealAbandoned(): Promise<void> {
    for await (const page of scanPages(this.#kv, OPEN_RANGE)) {
      const extents = page.map(({ key }) => keyNumbers(key)[0] ?? 0)
      await this.#sealDead(extents.filter((extent) => !this.#open.has(extent)))
    }
  }

  pin(extents: ReadonlySet<number>): () => void {
    return this.#reads.begin(extents)
  }

  isPinned(extent: number): boolean {
    return this.#reads.isPinned(extent)
  }

  oldestReadMs(): number | undefined {
    return this.#reads.oldestMs()
  }

  async remove(extents: readonly number[]): Promise<void> {
    this.#cache.drop(extents)
    for (const extent of extents) {
      assert(!this.#open.has(extent), 'an open extent is never removed')
    }
    await this.#volume.remove(extents)
    for (const extent of extents) this.#sealedBytes.delete(extent)
  }

  list(): Promise<readonly number[]> {
    return this.#volume.list()
  }

  storedBytes(extent: number): Promise<number | undefined> {
    return this.#volume.storedBytes(extent)
  }

  #writableExtent(): OpenExtent | undefined {
    if (this.#isClosed) throw new Error('the extent store is closed')
    return this.#current?.isFull === false ? this.#current : undefined
  }

  #rotateOnce(): Promise<void> {
    this.#rotating ??= this.#rotate().finally(() => {
      this.#rotating = undefined
    })
    return this.#rotating
  }

  /** The record first: a crash leaves a record without bytes, never bytes without a record. */
  async #rotate(): Promise<void> {
    const record: ExtentRecord = { state: 'open', sizeBytes: 0, writer: this.#writers.self }
    const id = await this.#kv.write((tx) => registerExtent(tx, record))
    try {
      const extent = new OpenExtent(id, await this.#volume.create(id), this.#targetBytes)
      this.#open.set(id, extent)
      this.#current = extent
    } catch (error) {
      // The sweep removes it. If sealing fails too, it stays open until this process has ended.
      const nowMs = this.#clock()
      const sealing = this.#kv.write((tx) => sealExtent(tx, id, 0, nowMs)).catch(() => undefined)
      if (!(error instanceof StoreUnavailable)) await sealing
      throw error
    }
  }

  async #sealAll(): Promise<void> {
    const finished = [...this.#open.values()].filter((extent) => extent.isFinished)
    await Promise.all(finished.map((extent) => this.#sealOnce(extent)))
  }

  #sealOnce(extent: OpenExtent): Promise<void> {
    const running = this.#sealing.get(extent.id)
    if (running !== undefined) return running
    const sealing = this.#seal(extent).finally(() => this.#sealing.delete(extent.id))
    this.#sealing.set(extent.id, sealing)
    return sealing
  }

  async #seal(extent: OpenExtent): Promise<void> {
    await extent.close()
    await this.#recordSealed(extent.id, extent.reservedBytes)
    this.#open.delete(extent.id)
  }

  async #recordSealed(extent: number, sizeBytes: number): Promise<void> {
    const nowMs = this.#clock()
    await this.#kv.write((tx) => sealExtent(tx, extent, sizeBytes, nowMs))
    this.#sealedBytes.set(extent, sizeBytes)
  }

  /** Seals those of the extents whose writers are dead: nothing will ever refer to bytes that they still add. */
  async #sealDead(extents: readonly number[]): Promise<void> {
    if (extents.length === 0) return
    const records = await this.#kv.read((tx) => recordsOf(tx, extents))
    // After the records: a writer is alive before it registers an extent.
    const live = await this.#writers.live()
    for (const [extent, record] of records) {
      if (record.state !== 'open' || record.writer === this.#writers.self) continue
      if (live.has(record.writer)) continue
      await this.#recordSealed(extent, (await this.storedBytes(extent)) ?? 0)
    }
  }

  /** Reads the sizes of all sealed extents; returns those that are open. */
  async #readSizes(): Promise<readonly number[]> {
    this.#sizesReadAtMs = performance.now()
    const sealedBytes = new Map<number, number>()
    const open: number[] = []
    for await (const { key, value } of scanSteps(this.#kv, EXTENT_RANGE)) {
      const [extent = 0] = keyNumbers(key)
      const { state, sizeBytes } = decodeRecord<ExtentRecord>(value)
      if (state === 'open') open.push(extent)
      else sealedBytes.set(extent, sizeBytes)
    }
    this.#sealedBytes = sealedBytes
    return open
  }

  /** Whether only this process can still add bytes to the extent, or nobody. */
  async #isSettled(extent: number): Promise<boolean> {
    if (this.#open.has(extent) || this.#sealedBytes.has(extent)) return true
    const record = await this.#kv.read((tx) => getExtent(tx, extent))
    if (record?.state === 'open') return false
    if (record !== undefined) this.#sealedBytes.set(extent, record.sizeBytes)
    return true
  }

  /** Tells the sweep to look at the extent. If this fails, it does so when the extent is sealed. */
  async #markTorn(extent: number): Promise<void> {
    await this.#kv
      .write(function* (tx) {
        markDirty(tx, extent)
      })
      .catch(() => undefined)
  }

  async #fetch(span: Span, readSpan: ReadSpan): Promise<Uint8Array> {
    const cached = this.#cache.get(span)
    if (cached !== undefined) return cached
    const { extent = 0, offset, lengthBytes } = span
    const bytes = this.#chunks.take(lengthBytes)
    const count = await readSpan(span, bytes)
    if (count === undefined) throw new ExtentDamaged(extent, 'its bytes are missing')
    if (count < lengthBytes) throw new ExtentDamaged(extent, `it ends at byte ${offset + count}`)
    if (this.#cache.offer(span, bytes)) this.#chunks.disown(bytes)
    return bytes
  }
}

function* recordsOf(tx: ReadTx, extents: readonly number[]): Step<Map<number, ExtentRecord>> {
  const records = new Map<number, ExtentRecord>()
  for (const extent of extents) {
    const record = yield* getExtent(tx, extent)
    if (record !== undefined) records.set(extent, record)
  }
  return records
}
