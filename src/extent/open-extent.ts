// An extent that this process writes to. It hands out disjoint regions, so that many bodies are written at once. At its
// target size it is full and takes no more bodies.
import assert from 'node:assert/strict'
import type { Hasher } from './extent.ts'
import { writeRegion } from './region.ts'
import type { Slice } from './content/slice.ts'
import type { Appender } from './volume.ts'

export class OpenExtent {
  readonly id: number
  readonly #bytes: Appender
  readonly #targetBytes: number
  #reservedBytes = 0
  #writers = 0
  #isFull = false
  #isClosed = false

  constructor(id: number, bytes: Appender, targetBytes: number) {
    this.id = id
    this.#bytes = bytes
    this.#targetBytes = targetBytes
  }

  get reservedBytes(): number {
    return this.#reservedBytes
  }

  get isFull(): boolean {
    return this.#isFull
  }

  /** Full, and the last writer is done: the bytes never change again. */
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
    const offset = this.#reserve(lengthBytes)
    this.#writers += 1
    try {
      const region = this.#bytes.region(offset, lengthBytes)
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
    await this.#bytes.close()
  }

  #reserve(lengthBytes: number): number {
    const { offset, end } = this.#bytes.place(this.#reservedBytes, lengthBytes)
    // Even an empty slice takes a byte, since slices are identified by their offset.
    this.#reservedBytes = Math.max(end, offset + 1)
    if (this.#reservedBytes >= this.#targetBytes) this.#isFull = true
    return offset
  }

  async #sync(): Promise<void> {
    try {
      await this.#bytes.sync()
    } catch (error) {
      this.#isFull = true
      throw error
    }
  }
}
