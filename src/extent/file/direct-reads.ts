// The first read of long bytes goes around the page cache, as their write did (direct.ts): the cache has to make room
// for what it doesn't have yet, page by page, which takes several times as long as the disk itself
// where fresh pages are dear (docs/decisions/0016-direct.md). What is read again goes through the cache, and stays there.
import { ChunkPool } from '../../memory/chunk-pool.ts'
import { alignedMemory, alignUp, DIRECT_ALIGNMENT } from './direct.ts'
import { isRefusedDirect, type Disk } from './disk.ts'
import { FileCache } from './file-cache.ts'
import type { Span } from '../reader.ts'

export type DirectReadsOptions = {
  readonly disk: Disk
  readonly pathOf: (extent: number) => string
  readonly openFilesMax: number
  /** Shorter ones go through the cache. */
  readonly bytesMin: number
  /** No span is longer. */
  readonly bytesMax: number
}

export type ReadChunk = {
  readonly bytes: Uint8Array
  /** How many there were: fewer at the end of the file. */
  readonly count: number
}

const CHUNKS_KEPT_MAX = 32
/** Places of chunks of 512 KiB: 32 GiB that were read of late. */
const SEEN_COUNT = 1 << 16

export class DirectReads {
  readonly #files: FileCache
  readonly #chunks: ChunkPool
  readonly #bytesMin: number
  /** Hashes of the places that were read. One that is taken for another is read through the cache, and that is all. */
  readonly #seen = new Int32Array(SEEN_COUNT)
  /** The file system has no such reads. */
  #isRefused = false

  constructor({ disk, pathOf, openFilesMax, bytesMin, bytesMax }: DirectReadsOptions) {
    this.#files = new FileCache(
      disk,
      (extent) => disk.openDirect(pathOf(extent), 'read'),
      openFilesMax,
    )
    this.#chunks = new ChunkPool(alignUp(bytesMax), CHUNKS_KEPT_MAX, alignedMemory)
    // A pool lends no less than a quarter of its chunks.
    this.#bytesMin = Math.max(bytesMin, bytesMax / 4)
  }

  /** Asked once for each read. */
  isFor({ extent = 0, offset, lengthBytes }: Span): boolean {
    if (this.#isRefused || lengthBytes < this.#bytesMin) return false
    if (offset % DIRECT_ALIGNMENT !== 0) return false
    const hash = Math.imul(extent, 0x9e3779b1) ^ Math.imul(offset / DIRECT_ALIGNMENT, 0x85ebca6b)
    const at = hash & (SEEN_COUNT - 1)
    if (this.#seen[at] === hash) return false
    this.#seen[at] = hash
    return true
  }

  /** Undefined if the file system refuses. */
  async read({ extent = 0, offset, lengthBytes }: Span): Promise<ReadChunk | undefined> {
    // Whole blocks: what is behind the bytes in their last one is read along.
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

  /** It stays where it is, whoever gives it back. */
  forget(chunk: Uint8Array): void {
    this.#chunks.forget(chunk)
  }

  drop(extent: number): Promise<void> {
    return this.#files.drop(extent)
  }

  close(): Promise<void> {
    return this.#files.close()
  }
}
