// The file of an extent that this process writes to. Long bodies bypass the page cache; all bodies are synced in groups.
import type { BufferPool } from '../../memory/buffer-pool.ts'
import type { Region } from '../region.ts'
import type { Appender, Place } from '../volume.ts'
import { alignedMemory, alignUp, DIRECT_BLOCK_BYTES, DirectRegion } from './direct.ts'
import { isRefusedDirect, type Disk } from './disk.ts'
import { groupSync } from './group-sync.ts'

export type OpenFiles = {
  readonly fd: number
  /** For direct writes; undefined if the file system does not support them. */
  readonly directFd: number | undefined
  /** Free blocks for direct writes. */
  readonly blocks: BufferPool
  /** Bodies from this length on bypass the page cache. */
  readonly directBytesMin: number
}

export class FileAppender implements Appender {
  readonly sync: () => Promise<void>
  readonly #disk: Disk
  readonly #files: OpenFiles
  #writing: Promise<void> = Promise.resolve()

  constructor(disk: Disk, files: OpenFiles) {
    this.#disk = disk
    this.#files = files
    // A failure is final: the kernel may have dropped what it could not write.
    this.sync = groupSync(() => disk.sync(files.fd))
  }

  /** Direct writes fill disk blocks that no other body shares. */
  place(reservedBytes: number, lengthBytes: number): Place {
    if (!this.#isDirect(lengthBytes)) {
      return { offset: reservedBytes, end: reservedBytes + lengthBytes }
    }
    const offset = alignUp(reservedBytes)
    return { offset, end: offset + alignUp(lengthBytes) }
  }

  region(offset: number, lengthBytes: number): Region {
    if (this.#isDirect(lengthBytes)) {
      return new DirectRegion(offset, lengthBytes, (fill, position) =>
        this.#inTurn(() => this.#writeBlock(fill, position)),
      )
    }
    const write = (chunks: readonly Uint8Array[], position: number) =>
      this.#inTurn(() => this.#disk.write(this.#files.fd, chunks, position))
    return { offset, lengthBytes, write }
  }

  async close(): Promise<void> {
    const { fd, directFd } = this.#files
    if (directFd !== undefined) await this.#disk.close(directFd)
    await this.#disk.close(fd)
  }

  #isDirect(lengthBytes: number): boolean {
    const { directFd, directBytesMin } = this.#files
    return directFd !== undefined && lengthBytes >= directBytesMin
  }

  async #writeBlock(fill: (block: Uint8Array) => number, position: number): Promise<void> {
    const { fd, directFd = fd, blocks } = this.#files
    const block =
      blocks.take(DIRECT_BLOCK_BYTES) ?? new Uint8Array(alignedMemory(DIRECT_BLOCK_BYTES))
    const filled = block.subarray(0, fill(block))
    try {
      await this.#disk.write(directFd, [filled], position)
    } catch (error) {
      if (!isRefusedDirect(error)) throw error
      await this.#disk.write(fd, [filled], position)
    } finally {
      blocks.giveBack(block)
    }
  }

  /** One write at a time: the kernel locks the file, and each waiting writer would spin on a core. */
  #inTurn(write: () => Promise<void>): Promise<void> {
    const writing = this.#writing.then(write)
    this.#writing = writing.catch(() => undefined)
    return writing
  }
}
