// A disk in memory for crash tests. It tracks what is durable: a crash loses or keeps unsynced data, and it can happen
// at any call.
import assert from 'node:assert/strict'
import { DIRECT_ALIGNMENT } from './direct.ts'
import type { Disk } from './disk.ts'

type File = { bytes: Buffer; synced: Buffer }

export type Crash = {
  /** The call that fails, counted from 1, and whether it takes effect nevertheless. */
  readonly atCall: number
  readonly takesEffect: boolean
  /** Whether the kernel had already written unsynced data to the disk. */
  readonly keepsUnsynced: boolean
}

export class MachineStopped extends Error {
  override readonly name = 'MachineStopped'
}

/** Counts the calls of both disk and kv; from `atCall` on, every call fails. */
export class Machine {
  readonly #crash: Crash | undefined
  callCount = 0

  constructor(crash?: Crash) {
    this.#crash = crash
  }

  async call<T>(action: () => Promise<T>): Promise<T> {
    this.callCount += 1
    const atCall = this.#crash?.atCall ?? Infinity
    if (this.callCount < atCall) return action()
    if (this.callCount === atCall && this.#crash?.takesEffect === true) await action()
    throw new MachineStopped()
  }
}

export class SimulatedDisk {
  #names = new Map<string, File>()
  #syncedNames = new Map<string, File>()
  #open: File[] = []
  readonly #direct = new Set<number>()

  /** Restores the state that is on disk after a crash. */
  restart(keepsUnsynced: boolean): void {
    this.#open = []
    this.#direct.clear()
    if (keepsUnsynced) return
    this.#names = new Map(this.#syncedNames)
    for (const file of this.#names.values()) file.bytes = Buffer.from(file.synced)
  }

  totalBytes(): number {
    return [...this.#names.values()].reduce((total, file) => total + file.bytes.length, 0)
  }

  on(machine: Machine): Disk {
    return {
      makeFolder: () => machine.call(async () => {}),
      list: () =>
        machine.call(async () =>
          [...this.#names.keys()].map((path) => path.split('/').at(-1) ?? ''),
        ),
      syncFolder: () =>
        machine.call(async () => {
          this.#syncedNames = new Map(this.#names)
        }),
      create: (path) => machine.call(async () => this.#create(path)),
      openDirect: (path) => machine.call(async () => this.#openDirect(path)),
      open: (path) => machine.call(async () => this.#openFile(path)),
      read: (fd, buffer, position) => machine.call(async () => this.#read(fd, buffer, position)),
      write: (fd, chunks, position) => machine.call(async () => this.#write(fd, chunks, position)),
      sync: (fd) =>
        machine.call(async () => {
          const file = this.#file(fd)
          file.synced = Buffer.from(file.bytes)
        }),
      close: () => machine.call(async () => {}),
      remove: (path) =>
        machine.call(async () => {
          this.#names.delete(path)
        }),
      sizeBytes: (path) => machine.call(async () => this.#names.get(path)?.bytes.length),
    }
  }

  #create(path: string): number {
    if (this.#names.has(path)) throw Object.assign(new Error(path), { code: 'EEXIST' })
    const file = { bytes: Buffer.alloc(0), synced: Buffer.alloc(0) }
    this.#names.set(path, file)
    return this.#open.push(file) - 1
  }

  #openFile(path: string): number {
    const file = this.#names.get(path)
    if (file === undefined) throw Object.assign(new Error(path), { code: 'ENOENT' })
    return this.#open.push(file) - 1
  }

  #openDirect(path: string): number {
    const fd = this.#openFile(path)
    this.#direct.add(fd)
    return fd
  }

  #read(fd: number, buffer: Uint8Array, position: number): number {
    return this.#file(fd).bytes.copy(buffer, 0, position)
  }

  #write(fd: number, chunks: readonly Uint8Array[], position: number): void {
    const file = this.#file(fd)
    const added = Buffer.concat(chunks)
    if (this.#direct.has(fd)) {
      checkAligned([position, added.length, ...chunks.map(({ byteOffset }) => byteOffset)])
    }
    const bytes = Buffer.alloc(Math.max(file.bytes.length, position + added.length))
    file.bytes.copy(bytes)
    added.copy(bytes, position)
    file.bytes = bytes
  }

  #file(fd: number): File {
    const file = this.#open[fd]
    if (file === undefined) throw Object.assign(new Error(`${fd}`), { code: 'EBADF' })
    return file
  }
}

/** Only `byteOffset` is visible here, so it stands for the address of the memory. */
function checkAligned(places: readonly number[]): void {
  assert(
    places.every((place) => place % DIRECT_ALIGNMENT === 0),
    `${places.join(', ')}`,
  )
}
