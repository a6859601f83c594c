// LRU cache of open file descriptors for reading extents. A descriptor is never closed during a read: the kernel would
// reuse its number for another file.
//
// On a network file system, a descriptor may show an old state of a file that another node writes to. So a reader of such
// a file uses only descriptors that were opened after it began: the bytes that it knows of were durable by then.
import type { IsSettled } from '../volume.ts'
import type { Disk } from './disk.ts'

type OpenFile = {
  readonly fd: Promise<number>
  readonly openedAt: number
  /** Other nodes don't write to it any more: set before the file is opened. */
  isSettled: boolean
  isRecent: boolean
  users: number
  isDropped: boolean
}

export type FileRead = {
  readonly extent: number
  /** The `tick` at which the reader began. */
  readonly begunAt: number
  readonly isSettled: IsSettled
}

export class FileCache {
  readonly #disk: Disk
  readonly #open: (extent: number) => Promise<number>
  readonly #countMax: number
  /** Least recently used first. */
  readonly #files = new Map<number, OpenFile>()
  #ticks = 0

  constructor(disk: Disk, open: (extent: number) => Promise<number>, countMax: number) {
    this.#disk = disk
    this.#open = open
    this.#countMax = countMax
  }

  /** Numbers events in their order. */
  tick(): number {
    this.#ticks += 1
    return this.#ticks
  }

  async read(file: FileRead, buffer: Uint8Array, position: number): Promise<number> {
    const open = this.#acquire(file)
    try {
      return await this.#disk.read(await open.fd, buffer, position)
    } finally {
      open.users -= 1
      if (open.users === 0 && open.isDropped) await this.#close(open)
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

  /** Closes the files that were not read since the last call. */
  async dropIdle(): Promise<void> {
    for (const [extent, file] of this.#files) {
      if (!file.isRecent && file.users === 0) await this.drop(extent)
      file.isRecent = false
    }
  }

  async close(): Promise<void> {
    for (const extent of this.#files.keys()) await this.drop(extent)
  }

  #acquire({ extent, begunAt, isSettled }: FileRead): OpenFile {
    let file = this.#files.get(extent)
    // Moves it to the end.
    this.#files.delete(extent)
    if (file !== undefined && !file.isSettled && file.openedAt < begunAt) {
      file.isDropped = true
      if (file.users === 0) void this.#close(file).catch(() => undefined)
      file = undefined
    }
    file ??= this.#openFile(extent, isSettled)
    this.#files.set(extent, file)
    file.users += 1
    file.isRecent = true
    return file
  }

  #openFile(extent: number, isSettled: IsSettled): OpenFile {
    const open = async (): Promise<number> => {
      file.isSettled = await isSettled(extent)
      return this.#open(extent)
    }
    const file: OpenFile = {
      fd: Promise.resolve().then(open),
      openedAt: this.tick(),
      isSettled: false,
      isRecent: true,
      users: 0,
      isDropped: false,
    }
    file.fd.catch(() => {
      // The reader gets the error; the next one tries again.
      if (this.#files.get(extent) === file) this.#files.delete(extent)
    })
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
