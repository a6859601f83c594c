// LRU cache of open file descriptors for reading extents. A descriptor is never closed during a read: the kernel would
// reuse its number for another file.
import type { Disk } from './disk.ts'

type OpenFile = { readonly fd: Promise<number>; users: number; isDropped: boolean }

export class FileCache {
  readonly #disk: Disk
  readonly #open: (extent: number) => Promise<number>
  readonly #countMax: number
  /** Least recently used first. */
  readonly #files = new Map<number, OpenFile>()

  constructor(disk: Disk, open: (extent: number) => Promise<number>, countMax: number) {
    this.#disk = disk
    this.#open = open
    this.#countMax = countMax
  }

  async read(extent: number, buffer: Uint8Array, position: number): Promise<number> {
    const file = this.#acquire(extent)
    try {
      return await this.#disk.read(await file.fd, buffer, position)
    } finally {
      file.users -= 1
      if (file.users === 0 && file.isDropped) await this.#close(file)
      else if (this.#files.size > this.#countMax) await this.#shrink()
    }
  }

  /** Closes a file that is about to be removed. */
  async drop(extent: number): Promise<void> {
    const file = this.#files.get(extent)
    if (file === undefined) return
    this.#files.delete(extent)
    file.isDropped = true
    if (file.users === 0) await this.#close(file)
  }

  async close(): Promise<void> {
    for (const extent of this.#files.keys()) await this.drop(extent)
  }

  #acquire(extent: number): OpenFile {
    let file = this.#files.get(extent)
    if (file === undefined) {
      file = { fd: this.#open(extent), users: 0, isDropped: false }
      const opened = file
      file.fd.catch(() => {
        // The reader gets the error; the next one tries again.
        if (this.#files.get(extent) === opened) this.#files.delete(extent)
      })
    } else {
      this.#files.delete(extent)
    }
    this.#files.set(extent, file)
    file.users += 1
    return file
  }

  async #shrink(): Promise<void> {
    for (const [extent, file] of this.#files) {
      if (file.users === 0) return this.drop(extent)
    }
  }

  async #close(file: OpenFile): Promise<void> {
    const fd = await file.fd.catch(() => undefined)
    if (fd !== undefined) await this.#disk.close(fd)
  }
}
