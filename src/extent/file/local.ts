// Extents as files in a folder, `<id>.extent`. An extent is registered in the kv before its file is created and
// unregistered after its file is removed, so every file has a record. A process never writes to the extents of an
// earlier one. Torn, abandoned and unreferenced bytes are left to the sweep.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { Kv } from '../../kv/kv.ts'
import { decodeRecord } from '../../kv/record.ts'
import { BufferPool, ChunkPool } from '../../memory/buffer-pool.ts'
import { ChunkCache, type ChunkCacheLimits } from './chunk-cache.ts'
import { DIRECT_BYTES_MIN } from './direct.ts'
import { isRefusedDirect, nodeDisk, type Disk } from './disk.ts'
import { ExtentDamaged } from '../error.ts'
import type { Hasher, SweptExtentStore } from '../extent.ts'
import { FileCache } from './file-cache.ts'
import {
  EXTENT_RANGE,
  keyNumbers,
  registerExtent,
  sealExtent,
  skipExtentIds,
  type ExtentRecord,
} from '../keys.ts'
import { OpenExtent, type ExtentLimits } from './open-extent.ts'
import { CHUNK_LENGTH_MAX, planSpans, SpanReader, type Span } from '../reader.ts'
import { markDirty } from '../content/reference.ts'
import { scanSteps } from '../scan.ts'
import type { Hole, Piece, Slice } from '../content/slice.ts'

export type LocalExtentOptions = {
  readonly folder: string
  readonly kv: Kv
  /** The sweep's clock. */
  readonly clock: () => number
  /** Identifies this process among those that share the folder. */
  readonly writerId: string
  /** The other processes that are writing: their open extents are left alone. */
  readonly liveWriters?: ReadonlySet<string>
  /** An extent of this size takes no more bodies. */
  readonly extentBytes?: number
  /** Bodies from this length on bypass the page cache, if the file system supports it. */
  readonly directBytesMin?: number
  readonly openFilesMax?: number
  readonly chunkCache?: ChunkCacheLimits
  readonly disk?: Disk
}

const EXTENT_BYTES = 64 * 1_024 * 1_024
const OPEN_FILES_MAX = 128
const CHUNK_POOL_BYTES_MAX = 32 * 1_024 * 1_024
/** One block is in use for each extent that is written to. */
const BLOCK_POOL_BYTES_MAX = 8 * 1_024 * 1_024
const ID_DIGITS = 14
const FILE_NAME = /^[0-9a-f]{14}\.extent$/

export async function openLocalExtents(options: LocalExtentOptions): Promise<SweptExtentStore> {
  const store = new LocalExtents(options)
  await store.recover(options.liveWriters ?? new Set())
  return store
}

class LocalExtents implements SweptExtentStore {
  readonly #folder: string
  readonly #kv: Kv
  readonly #clock: () => number
  readonly #writerId: string
  readonly #limits: ExtentLimits
  readonly #disk: Disk
  readonly #files: FileCache
  readonly #blocks = new BufferPool(BLOCK_POOL_BYTES_MAX)
  readonly #chunks = new ChunkPool({ chunkBytes: CHUNK_LENGTH_MAX, bytesMax: CHUNK_POOL_BYTES_MAX })
  readonly #cache: ChunkCache
  readonly #pins = new Map<number, number>()
  /** Sizes of the extents that are not open here, by id. */
  readonly #sealedBytes = new Map<number, number>()
  readonly #open = new Map<number, OpenExtent>()
  readonly #writes = new Set<Promise<unknown>>()
  readonly #sealing = new Map<number, Promise<void>>()
  #current: OpenExtent | undefined
  #rotating: Promise<void> | undefined
  #isClosed = false

  constructor(options: LocalExtentOptions) {
    this.#folder = options.folder
    this.#kv = options.kv
    this.#clock = options.clock
    this.#writerId = options.writerId
    this.#limits = {
      targetBytes: options.extentBytes ?? EXTENT_BYTES,
      directBytesMin: options.directBytesMin ?? DIRECT_BYTES_MIN,
    }
    this.#cache = new ChunkCache(options.chunkCache)
    this.#disk = options.disk ?? nodeDisk
    this.#files = new FileCache(
      this.#disk,
      (extent) => this.#disk.open(this.#pathOf(extent)),
      options.openFilesMax ?? OPEN_FILES_MAX,
    )
  }

  /** Seals the extents that an ended process left open. */
  async recover(liveWriters: ReadonlySet<string>): Promise<void> {
    await this.#disk.makeFolder(this.#folder)
    const used = (await this.list()).reduce((most, extent) => Math.max(most, extent), 0)
    await this.#kv.write((tx) => skipExtentIds(tx, used))
    for await (const { key, value } of scanSteps(this.#kv, EXTENT_RANGE)) {
      const [extent = 0] = keyNumbers(key)
      const record = decodeRecord<ExtentRecord>(value)
      this.#sealedBytes.set(extent, record.sizeBytes)
      if (record.state !== 'open' || liveWriters.has(record.writer)) continue
      const sizeBytes = (await this.storedBytes(extent)) ?? 0
      const nowMs = this.#clock()
      await this.#kv.write((tx) => sealExtent(tx, extent, sizeBytes, nowMs))
      this.#sealedBytes.set(extent, sizeBytes)
    }
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
      await this.#markTorn(extent.id)
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
    for (const extent of extents) this.#pins.set(extent, (this.#pins.get(extent) ?? 0) + 1)
    return new SpanReader(
      spans,
      (span) => this.#fetch(span),
      () => this.#unpin(extents),
      aheadCount,
    )
  }

  recycle(chunk: Uint8Array): void {
    this.#chunks.giveBack(chunk)
  }

  sizeBytes(): number {
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
    await this.#files.close()
  }

  openBytes(extent: number): number | undefined {
    return this.#open.get(extent)?.reservedBytes
  }

  async seal(extent: number): Promise<void> {
    this.#open.get(extent)?.fill()
    await this.#sealAll()
  }

  isPinned(extent: number): boolean {
    return this.#pins.has(extent)
  }

  async remove(extents: readonly number[]): Promise<void> {
    this.#cache.drop(extents)
    for (const extent of extents) {
      assert(!this.#open.has(extent), 'an open extent is never removed')
      await this.#files.drop(extent)
      await this.#disk.remove(this.#pathOf(extent))
      this.#sealedBytes.delete(extent)
    }
    // Otherwise a power cut could bring back a file without a record.
    if (extents.length > 0) await this.#disk.syncFolder(this.#folder)
  }

  async list(): Promise<readonly number[]> {
    const names = await this.#disk.list(this.#folder)
    return names.filter((name) => FILE_NAME.test(name)).map((name) => Number.parseInt(name, 16))
  }

  storedBytes(extent: number): Promise<number | undefined> {
    return this.#disk.sizeBytes(this.#pathOf(extent))
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

  /** The record first: a crash leaves a record without a file, never a file without a record. */
  async #rotate(): Promise<void> {
    const record: ExtentRecord = { state: 'open', sizeBytes: 0, writer: this.#writerId }
    const id = await this.#kv.write((tx) => registerExtent(tx, record))
    try {
      const fd = await this.#disk.create(this.#pathOf(id))
      const directFd = await this.#disk.openDirect(this.#pathOf(id)).catch((error: unknown) => {
        if (!isRefusedDirect(error)) throw error
        return undefined
      })
      const files = { fd, directFd, blocks: this.#blocks }
      this.#current = new OpenExtent(id, this.#disk, files, this.#limits)
      this.#open.set(id, this.#current)
      await this.#disk.syncFolder(this.#folder)
    } catch (error) {
      await this.#giveUp(id)
      throw error
    }
  }

  /** Seals an extent whose file could not be created, so that the sweep removes it. */
  async #giveUp(id: number): Promise<void> {
    this.#current = undefined
    const extent = this.#open.get(id)
    extent?.fill()
    const nowMs = this.#clock()
    // If this fails too, the next start seals it.
    if (extent !== undefined) await this.#sealAll().catch(() => undefined)
    else await this.#kv.write((tx) => sealExtent(tx, id, 0, nowMs)).catch(() => undefined)
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

  /** Tells the sweep to look at the extent. If this fails, it does so when the extent is sealed. */
  async #markTorn(extent: number): Promise<void> {
    await this.#kv
      .write(function* (tx) {
        markDirty(tx, extent)
      })
      .catch(() => undefined)
  }

  async #seal(extent: OpenExtent): Promise<void> {
    await extent.close()
    const nowMs = this.#clock()
    await this.#kv.write((tx) => sealExtent(tx, extent.id, extent.reservedBytes, nowMs))
    this.#sealedBytes.set(extent.id, extent.reservedBytes)
    this.#open.delete(extent.id)
  }

  async #fetch(span: Span): Promise<Uint8Array> {
    const cached = this.#cache.get(span)
    if (cached !== undefined) return cached
    const { extent = 0, offset, lengthBytes } = span
    const bytes = this.#chunks.take(lengthBytes)
    const count = await this.#files.read(extent, bytes, offset).catch((error: unknown) => {
      if (!isMissing(error)) throw error
      throw new ExtentDamaged(extent, 'its file is missing')
    })
    if (count < lengthBytes) throw new ExtentDamaged(extent, `it ends at byte ${offset + count}`)
    if (this.#cache.offer(span, bytes)) this.#chunks.disown(bytes)
    return bytes
  }

  #unpin(extents: ReadonlySet<number>): void {
    for (const extent of extents) {
      const pins = (this.#pins.get(extent) ?? 0) - 1
      if (pins > 0) this.#pins.set(extent, pins)
      else this.#pins.delete(extent)
    }
  }

  #pathOf(extent: number): string {
    return join(this.#folder, `${extent.toString(16).padStart(ID_DIGITS, '0')}.extent`)
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
