// The first read of a long span bypasses the page cache, as its write did (direct.ts). Filling the cache page by page
// takes several times as long as the disk itself where fresh pages are expensive (docs/decisions/0016-direct.md). Later
// reads of the span go through the page cache, and stay in it.
import { ChunkPool, POOLED_BYTES_MIN } from '../../memory/buffer-pool.ts'
import { hashNumbers, SeenFilter } from '../../memory/seen.ts'
import { alignedMemory, alignUp, DIRECT_ALIGNMENT } from './direct.ts'
import { isRefusedDirect, type Disk } from './disk.ts'
import { FileCache } from './file-cache.ts'
import type { Span } from '../reader.ts'

export type DirectReadsOptions = {
  readonly disk: Disk
  readonly pathOf: (extent: number) => string
  readonly openFilesMax: number
  /** Shorter spans go through the page cache. */
  readonly bytesMin: number
  /** No span is longer. */
  readonly bytesMax: number
}

export type ReadChunk = {
  readonly bytes: Uint8Array
  /** How many bytes were read: fewer than asked for at the end of the file. */
  readonly count: number
}

const POOL_BYTES_MAX = 16 * 1_024 * 1_024

export class DirectReads {
  readonly #files: FileCache
  readonly #chunks: ChunkPool
  readonly #bytesMin: number
  /** Covers 32 GiB of chunks of 512 KiB. A false positive only sends a read through the page cache. */
  readonly #seen = new SeenFilter()
  /** The file system does not support direct reads. */
  #isRefused = false

  constructor({ disk, pathOf, openFilesMax, bytesMin, bytesMax }: DirectReadsOptions) {
    this.#files = new FileCache(
      disk,
      (extent) => disk.openDirect(pathOf(extent), 'read'),
      openFilesMax,
    )
    this.#chunks = new ChunkPool({
      chunkBytes: alignUp(bytesMax),
      bytesMax: POOL_BYTES_MAX,
      allocate: alignedMemory,
    })
    // Shorter buffers are not from the pool, so they are not aligned.
    this.#bytesMin = Math.max(bytesMin, POOLED_BYTES_MIN)
  }

  /** Whether to read this span directly. Marks it as read, so call it once per read. */
  isFor({ extent = 0, offset, lengthBytes }: Span): boolean {
    if (this.#isRefused || lengthBytes < this.#bytesMin) return false
    if (offset % DIRECT_ALIGNMENT !== 0) return false
    return !this.#seen.mark(hashNumbers(extent, offset))
  }

  /** Undefined if the file system refuses direct reads. */
  async read({ extent = 0, offset, lengthBytes }: Span): Promise<ReadChunk | undefined> {
    // The kernel reads whole blocks only, so the rest of the last block is read too.
    const blocks = this.#chunks.take(alignUp(lengthBytes))
    try {
      const count = await this.#files.read(extent, blocks, offset)
      return { bytes: blocks.subarray(0, lengthBytes), count: Math.min(count, lengthBytes) }
    } catch (error) {
      this.recycle(blocks)
      if (!isRefusedDirect(error)) throw error
      this.#isRefused = true
      return undefined
    }
  }

  recycle(chunk: Uint8Array): void {
    this.#chunks.giveBack(chunk)
  }

  disown(chunk: Uint8Array): void {
    this.#chunks.disown(chunk)
  }

  drop(extent: number): Promise<void> {
    return this.#files.drop(extent)
  }

  close(): Promise<void> {
    return this.#files.close()
  }
}
