// An extent that this process writes to. It hands out disjoint regions of one file, so that many bodies are written
// at once, and syncs them in groups. At its target size it is full and takes no more bodies.
import assert from 'node:assert/strict'
import type { BufferPool } from '../../memory/buffer-pool.ts'
import { alignedMemory, alignUp, DIRECT_BLOCK_BYTES, DirectRegion } from './direct.ts'
import { isRefusedDirect, type Disk } from './disk.ts'
import type { Hasher } from '../extent.ts'
import { groupSync } from './group-sync.ts'
import { writeRegion, type Region } from '../region.ts'
import type { Slice } from '../content/slice.ts'

export type ExtentFiles = {
  readonly fd: number
  /** For direct writes; undefined if the file system does not support them. */
  readonly directFd: number | undefined
  /** Free blocks for direct writes. */
  readonly blocks: BufferPool
}

export type ExtentLimits = {
  /** An extent of this size takes no more bodies. */
  readonly targetBytes: number
  /** Bodies from this length on bypass the page cache. */
  readonly directBytesMin: number
}

export class OpenExtent {
  readonly id: number
  readonly #disk: Disk
  readonly #fd: number
  readonly #directFd: number | undefined
  readonly #blocks: BufferPool
  readonly #targetBytes: number
  readonly #directBytesMin: number
  readonly #sync: () => Promise<void>
  #writing: Promise<void> = Promise.resolve()
  #reservedBytes = 0
  #writers = 0
  #isFull = false
  #isClosed = false

  constructor(id: number, disk: Disk, files: ExtentFiles, limits: ExtentLimits) {
    const { fd } = files
    this.id = id
    this.#disk = disk
    this.#fd = fd
    this.#directFd = files.directFd
    this.#blocks = files.blocks
    this.#targetBytes = limits.targetBytes
    this.#directBytesMin = limits.directBytesMin
    this.#sync = groupSync(async () => {
      try {
        await disk.sync(fd)
      } catch (error) {
        // The kernel may have dropped what it could not write, so nothing more goes to this file.
        this.#isFull = true
        throw error
      }
    })
  }

  get reservedBytes(): number {
    return this.#reservedBytes
  }

  get isFull(): boolean {
    return this.#isFull
  }

  /** Full, and the last writer is done: the file never changes again. */
  get isFinished(): boolean {
    return this.#isFull && this.#writers === 0
  }

  fill(): void {
    this.#isFull = true
  }

  /** Reserves the region synchronously. */
  async write(
    source: AsyncIterable<Uint8Array>,
    lengthBytes: number,
    hashers: readonly Hasher[],
    used?: (chunk: Uint8Array) => void,
  ): Promise<Slice> {
    assert(!this.#isFull)
    const region = this.#regionFor(lengthBytes)
    const { offset } = region
    this.#writers += 1
    try {
      const crc32 = await writeRegion(region, source, hashers, used)
      await this.#sync()
      return { extent: this.id, offset, lengthBytes, crc32 }
    } finally {
      this.#writers -= 1
    }
  }

  async close(): Promise<void> {
    assert(this.isFinished)
    if (this.#isClosed) return
    this.#isClosed = true
    if (this.#directFd !== undefined) await this.#disk.close(this.#directFd)
    await this.#disk.close(this.#fd)
  }

  #regionFor(lengthBytes: number): Region {
    if (this.#directFd === undefined || lengthBytes < this.#directBytesMin) {
      const write = (chunks: readonly Uint8Array[], position: number) =>
        this.#inTurn(() => this.#disk.write(this.#fd, chunks, position))
      return { offset: this.#reserve(lengthBytes), lengthBytes, write }
    }
    return new DirectRegion(this.#reserveBlocks(lengthBytes), lengthBytes, (fill, position) =>
      this.#inTurn(() => this.#writeBlock(fill, position)),
    )
  }

  async #writeBlock(fill: (block: Uint8Array) => number, position: number): Promise<void> {
    const block =
      this.#blocks.take(DIRECT_BLOCK_BYTES) ?? new Uint8Array(alignedMemory(DIRECT_BLOCK_BYTES))
    const filled = block.subarray(0, fill(block))
    try {
      await this.#disk.write(this.#directFd ?? this.#fd, [filled], position)
    } catch (error) {
      if (!isRefusedDirect(error)) throw error
      await this.#disk.write(this.#fd, [filled], position)
    } finally {
      this.#blocks.giveBack(block)
    }
  }

  /** One write at a time: the kernel locks the file, and each waiting writer would spin on a core. */
  #inTurn(write: () => Promise<void>): Promise<void> {
    const writing = this.#writing.then(write)
    this.#writing = writing.catch(() => undefined)
    return writing
  }

  #reserve(lengthBytes: number): number {
    // Even an empty slice takes a byte, since slices are identified by their offset.
    return this.#reserveFrom(this.#reservedBytes, Math.max(lengthBytes, 1))
  }

  /** Disk blocks that no other body shares. */
  #reserveBlocks(lengthBytes: number): number {
    return this.#reserveFrom(alignUp(this.#reservedBytes), alignUp(lengthBytes))
  }

  #reserveFrom(offset: number, lengthBytes: number): number {
    this.#reservedBytes = offset + lengthBytes
    if (this.#reservedBytes >= this.#targetBytes) this.#isFull = true
    return offset
  }
}
