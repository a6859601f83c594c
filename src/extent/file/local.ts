// Extents as files in a folder, `<id>.extent`. Any number of nodes may share the folder, if each reads what another has
// synced as soon as it opens the file; NFS promises no more than that.
import { join } from 'node:path'
import { BufferPool } from '../../memory/buffer-pool.ts'
import type { SweptExtentStore } from '../extent.ts'
import { openExtents, type ExtentOptions } from '../extents.ts'
import type { Span } from '../reader.ts'
import type { Appender, IsSettled, ReadSpan, Volume } from '../volume.ts'
import { DIRECT_BYTES_MIN } from './direct.ts'
import { isRefusedDirect, nodeDisk, type Disk } from './disk.ts'
import { FileAppender } from './file-appender.ts'
import { FileCache } from './file-cache.ts'
import { checkFolder } from './folder-id.ts'

export type LocalExtentOptions = ExtentOptions &
  FileVolumeOptions & {
    /** Other nodes mount the folder too. */
    readonly isShared?: boolean
  }

export type FileVolumeOptions = {
  readonly folder: string
  /** Bodies from this length on bypass the page cache, if the file system supports it. */
  readonly directBytesMin?: number
  readonly openFilesMax?: number
  readonly disk?: Disk
}

const OPEN_FILES_MAX = 128
/** How often descriptors that were not used are closed: another node may have removed their files. */
const IDLE_MS = 30_000
/** One block is in use for each extent that is written to. */
const BLOCK_POOL_BYTES_MAX = 8 * 1_024 * 1_024
const ID_DIGITS = 14
const FILE_NAME = /^[0-9a-f]{14}\.extent$/

export async function openLocalExtents(options: LocalExtentOptions): Promise<SweptExtentStore> {
  const { disk = nodeDisk, folder, kv } = options
  await disk.makeFolder(folder)
  if (options.isShared === true) await checkFolder(disk, folder, kv)
  return openExtents(new FileVolume(disk, options), options)
}

/** The folder must exist. */
export function fileVolume(options: FileVolumeOptions): Volume {
  return new FileVolume(options.disk ?? nodeDisk, options)
}

class FileVolume implements Volume {
  readonly #disk: Disk
  readonly #folder: string
  readonly #directBytesMin: number
  readonly #files: FileCache
  readonly #idleTimer: NodeJS.Timeout
  readonly #blocks = new BufferPool(BLOCK_POOL_BYTES_MAX)

  constructor(disk: Disk, options: FileVolumeOptions) {
    this.#disk = disk
    this.#folder = options.folder
    this.#directBytesMin = options.directBytesMin ?? DIRECT_BYTES_MIN
    this.#files = new FileCache(
      disk,
      (extent) => disk.open(this.#pathOf(extent)),
      options.openFilesMax ?? OPEN_FILES_MAX,
    )
    this.#idleTimer = setInterval(() => {
      this.#files.dropIdle().catch(() => undefined)
    }, IDLE_MS).unref()
  }

  async create(extent: number): Promise<Appender> {
    const path = this.#pathOf(extent)
    const fd = await this.#disk.create(path)
    let directFd: number | undefined
    try {
      directFd = await this.#disk.openDirect(path).catch(undefinedIfRefused)
      await this.#disk.syncFolder(this.#folder)
    } catch (error) {
      await this.#disk.close(fd)
      if (directFd !== undefined) await this.#disk.close(directFd)
      throw error
    }
    const [blocks, directBytesMin] = [this.#blocks, this.#directBytesMin]
    return new FileAppender(this.#disk, { fd, directFd, blocks, directBytesMin })
  }

  reader(isSettled: IsSettled): ReadSpan {
    const begunAt = this.#files.tick()
    return async ({ extent = 0, offset }: Span, buffer) => {
      try {
        return await this.#files.read({ extent, begunAt, isSettled }, buffer, offset)
      } catch (error) {
        if (isMissing(error)) return undefined
        throw error
      }
    }
  }

  async remove(extents: readonly number[]): Promise<void> {
    for (const extent of extents) {
      await this.#files.drop(extent)
      await this.#disk.remove(this.#pathOf(extent))
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

  async close(): Promise<void> {
    clearInterval(this.#idleTimer)
    await this.#files.close()
  }

  #pathOf(extent: number): string {
    return join(this.#folder, `${extent.toString(16).padStart(ID_DIGITS, '0')}.extent`)
  }
}

function undefinedIfRefused(error: unknown): undefined {
  if (!isRefusedDirect(error)) throw error
}

/** ESTALE: another node has removed a file that is open here, on NFS. */
function isMissing(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return code === 'ENOENT' || code === 'ESTALE'
}
