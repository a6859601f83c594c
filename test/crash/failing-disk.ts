// Makes the n-th call that the bytes of a store make to the file system of this process fail. LMDB calls the system by itself:
// failing-lmdb.test.ts does the same from outside.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

export type DiskFailure = 'EIO' | 'ENOSPC' | 'short write'

type Callback = (error: NodeJS.ErrnoException | null, ...rest: unknown[]) => void
type Call = (...args: unknown[]) => unknown

/** Calls that begin with a path, and those that begin with a descriptor. */
const BY_PATH = ['open'] as const
const BY_DESCRIPTOR = ['read', 'writev', 'fdatasync', 'fsync'] as const
// prettier-ignore
const PROMISES = ['mkdir', 'readdir', 'rm', 'rename', 'open', 'readFile', 'writeFile', 'stat'] as const

export class FailingDisk {
  readonly #folder: string
  readonly #undo: (() => void)[] = []
  readonly #descriptors = new Set<number>()
  #failure: DiskFailure = 'EIO'
  #left = Number.POSITIVE_INFINITY
  /** What failed, or was cut short. */
  struck: string | undefined

  /** Watches the calls on files in the folder. */
  constructor(folder: string) {
    this.#folder = folder
    const callbacks = fs as unknown as Record<string, Call>
    for (const name of BY_PATH) this.#replace(callbacks, name, (call) => this.#opening(name, call))
    for (const name of BY_DESCRIPTOR) {
      this.#replace(callbacks, name, (call) => this.#using(name, call))
    }
    const promises = fs.promises as unknown as Record<string, Call>
    for (const name of PROMISES) this.#replace(promises, name, (call) => this.#promised(name, call))
    syncBuiltinESMExports()
  }

  /** The n-th call from now on fails, once. */
  arm(nth: number, failure: DiskFailure): void {
    this.#left = nth
    this.#failure = failure
    this.struck = undefined
  }

  disarm(): void {
    this.#left = Number.POSITIVE_INFINITY
  }

  restore(): void {
    for (const undo of this.#undo) undo()
    syncBuiltinESMExports()
  }

  #replace(within: Record<string, Call>, name: string, make: (call: Call) => Call): void {
    const original = within[name]
    if (original === undefined) throw new Error(name)
    within[name] = make(original)
    this.#undo.push(() => {
      within[name] = original
    })
  }

  /** Whether this is the call. */
  #strikes(name: string): boolean {
    this.#left -= 1
    if (this.#left !== 0) return false
    this.struck = name
    return true
  }

  #opening(name: string, call: Call): Call {
    return (...args) => {
      const callback = args.at(-1) as Callback
      if (!String(args[0]).startsWith(this.#folder)) return call(...args)
      // Opening a file can't be cut short.
      const isStruck = this.#strikes(name) && this.#failure !== 'short write'
      if (isStruck) return void setImmediate(() => callback(this.#error(name)))
      const watched: Callback = (error, fd) => {
        if (error === null) this.#descriptors.add(fd as number)
        callback(error, fd)
      }
      return call(...args.slice(0, -1), watched)
    }
  }

  #using(name: string, call: Call): Call {
    return (...args) => {
      if (!this.#descriptors.has(args[0] as number) || !this.#strikes(name)) return call(...args)
      if (this.#failure === 'short write') return call(...shortened(name, args))
      return void setImmediate(() => (args.at(-1) as Callback)(this.#error(name)))
    }
  }

  #promised(name: string, call: Call): Call {
    return (...args) => {
      if (!String(args[0]).startsWith(this.#folder) || !this.#strikes(name)) return call(...args)
      return this.#failure === 'short write' ? call(...args) : Promise.reject(this.#error(name))
    }
  }

  #error(name: string): NodeJS.ErrnoException {
    const code = this.#failure === 'ENOSPC' ? 'ENOSPC' : 'EIO'
    return Object.assign(new Error(`${code}: made to fail, ${name}`), { code })
  }
}

/** A write or a read of about half of what was asked for; others have nothing to shorten. */
function shortened(name: string, args: readonly unknown[]): readonly unknown[] {
  if (name === 'writev') {
    const [fd, chunks, ...rest] = args as [number, Uint8Array[], ...unknown[]]
    const [first = new Uint8Array(0)] = chunks
    // Whole blocks, as the system writes them when it bypasses the page cache.
    const half = Math.floor(first.length / 2)
    const cut = half >= 4_096 ? half - (half % 4_096) : half
    return [fd, [cut > 0 ? first.subarray(0, cut) : first], ...rest]
  }
  if (name === 'read') {
    const [fd, buffer, offset, lengthBytes, ...rest] = args as [number, Buffer, number, number]
    return [fd, buffer, offset, Math.max(1, Math.floor(lengthBytes / 2)), ...rest]
  }
  return args
}
