// An extent that this process writes to: hands out disjoint regions of one file, so that many bodies
// are written at once, and syncs them in groups. When it has its size it takes no more.
import assert from 'node:assert/strict'
import type { Disk } from './disk.ts'
import type { Hasher } from './extent.ts'
import { groupSync } from './group-sync.ts'
import { writeRegion } from './region.ts'
import type { Slice } from './slice.ts'

export class OpenExtent {
  readonly id: number
  readonly #disk: Disk
  readonly #fd: number
  readonly #targetBytes: number
  readonly #sync: () => Promise<void>
  #writing: Promise<void> = Promise.resolve()
  #reservedBytes = 0
  #writers = 0
  #isFull = false
  #isClosed = false

  constructor(id: number, disk: Disk, fd: number, targetBytes: number) {
    this.id = id
    this.#disk = disk
    this.#fd = fd
    this.#targetBytes = targetBytes
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
  ): Promise<Slice> {
    assert(!this.#isFull)
    const offset = this.#reserve(lengthBytes)
    this.#writers += 1
    try {
      const write = this.#writeInTurn.bind(this)
      const crc32 = await writeRegion({ offset, lengthBytes, write }, source, hashers)
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
    await this.#disk.close(this.#fd)
  }

  /** The kernel lets one writer at a time into a file; others that try spin on a core each until it is their turn. */
  #writeInTurn(chunks: readonly Uint8Array[], position: number): Promise<void> {
    const write = () => this.#disk.write(this.#fd, chunks, position)
    const writing = this.#writing.then(write)
    this.#writing = writing.catch(() => undefined)
    return writing
  }

  #reserve(lengthBytes: number): number {
    const offset = this.#reservedBytes
    // Even an empty slice has a place of its own, for the place is what it is known by.
    this.#reservedBytes += Math.max(lengthBytes, 1)
    if (this.#reservedBytes >= this.#targetBytes) this.#isFull = true
    return offset
  }
}
