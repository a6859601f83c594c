// An extent that this process writes to: hands out disjoint regions of one file, so that many bodies
// are written at once, and syncs them in groups. When it has its size it takes no more.
import assert from 'node:assert/strict'
import { alignUp, DirectRegion, type AlignedBlocks } from './direct.ts'
import { isRefusedDirect, type Disk } from './disk.ts'
import type { Hasher } from '../extent.ts'
import { groupSync } from './group-sync.ts'
import { writeRegion, type Region } from '../region.ts'
import type { Slice } from '../content/slice.ts'

export type ExtentFiles = {
  readonly fd: number
  /** For writes around the page cache; undefined where the file system has none. */
  readonly directFd: number | undefined
  readonly blocks: AlignedBlocks
}

export type ExtentLimits = {
  /** An extent of this size takes no more bodies. */
  readonly targetBytes: number
  /** Bodies from this length on are written around the page cache. */
  readonly directBytesMin: number
}

export class OpenExtent {
  readonly id: number
  readonly #disk: Disk
  readonly #fd: number
  readonly #directFd: number | undefined
  readonly #blocks: AlignedBlocks
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
        // What the kernel could not write it may have dropped: this file is asked for no more.
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

  /** Full, and the last writer is done: it never changes again. */
  get isFinished(): boolean {
    return this.#isFull && this.#writers === 0
  }

  fill(): void {
    this.#isFull = true
  }

  /** Reserves the region before it first waits. */
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
    const block = this.#blocks.take()
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

  /** The kernel lets one writer at a time into a file; others that try spin on a core each until it is their turn. */
  #inTurn(write: () => Promise<void>): Promise<void> {
    const writing = this.#writing.then(write)
    this.#writing = writing.catch(() => undefined)
    return writing
  }

  #reserve(lengthBytes: number): number {
    // Even an empty slice has a place of its own, for the place is what it is known by.
    return this.#reserveFrom(this.#reservedBytes, Math.max(lengthBytes, 1))
  }

  /** Blocks of the disk that nobody else writes to. */
  #reserveBlocks(lengthBytes: number): number {
    return this.#reserveFrom(alignUp(this.#reservedBytes), alignUp(lengthBytes))
  }

  #reserveFrom(offset: number, lengthBytes: number): number {
    this.#reservedBytes = offset + lengthBytes
    if (this.#reservedBytes >= this.#targetBytes) this.#isFull = true
    return offset
  }
}
