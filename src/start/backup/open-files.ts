// Files that are open to read: the last ones that were used stay open.
import { nodeDisk } from '../../extent/file/disk.ts'
import { Exclusive } from '../../kv/engine/exclusive.ts'
import { errorCode } from '../start-error.ts'
import { BackupDamaged } from './files.ts'

const OPEN_MAX = 16

export class OpenFiles {
  /** The least recently used first. */
  readonly #open = new Map<string, Promise<number>>()
  readonly #reads = new Exclusive()
  readonly #pathOf: (name: string) => string

  constructor(pathOf: (name: string) => string) {
    this.#pathOf = pathOf
  }

  /** Throws BackupDamaged if the file is missing or has fewer bytes. */
  read(name: string, offset: number, lengthBytes: number): Promise<Buffer> {
    // One at a time: another could close the file.
    return this.#reads.run(() => this.#read(name, offset, lengthBytes))
  }

  async close(): Promise<void> {
    await this.#reads.run(async () => {
      for (const fd of this.#open.values()) await nodeDisk.close(await fd)
      this.#open.clear()
    })
  }

  async #read(name: string, offset: number, lengthBytes: number): Promise<Buffer> {
    const buffer = Buffer.allocUnsafe(lengthBytes)
    const count = await nodeDisk.read(await this.#fd(name), buffer, offset)
    if (count < lengthBytes) {
      throw new BackupDamaged(`${name} ends at byte ${offset + count}`)
    }
    return buffer
  }

  async #fd(name: string): Promise<number> {
    const known = this.#open.get(name)
    this.#open.delete(name)
    const fd = known ?? this.#openFile(name)
    this.#open.set(name, fd)
    if (this.#open.size > OPEN_MAX) await this.#closeOldest()
    return fd.catch((error: unknown) => {
      this.#open.delete(name)
      throw errorCode(error) === 'ENOENT' ? new BackupDamaged(`${name} is missing`) : error
    })
  }

  #openFile(name: string): Promise<number> {
    const fd = nodeDisk.open(this.#pathOf(name))
    fd.catch(() => undefined)
    return fd
  }

  async #closeOldest(): Promise<void> {
    for (const [name, fd] of this.#open) {
      this.#open.delete(name)
      await nodeDisk.close(await fd)
      return
    }
  }
}
