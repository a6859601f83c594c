// Files that contain names of data: only their owner can read them. They are appended to, so a program that rotates logs may
// also truncate them; after it has renamed one, `reopen` goes on in a new file.
import { createWriteStream, fchmodSync, fstatSync, openSync, type WriteStream } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { makeFolder } from '../store/location.ts'
import { errorCode, errorReason, StartError } from '../start-error.ts'
import type { LineStream } from './line-buffer.ts'

export type FilePurpose = {
  /** For the error message: "the debug log". */
  readonly what: string
  /** The flag with its path: "--debug". */
  readonly flag: string
}

export class PrivateFile implements LineStream {
  readonly #path: string
  readonly #failed: (error: unknown) => void
  #stream: WriteStream
  #waiting: (() => void)[] = []

  constructor(path: string, failed: (error: unknown) => void) {
    this.#path = path
    this.#failed = failed
    this.#stream = this.#open()
  }

  write(text: string): boolean {
    return this.#stream.write(text)
  }

  /** Also called after a reopen, since the new file has room. */
  once(_event: 'drain', listener: () => void): void {
    this.#waiting.push(listener)
  }

  /** Goes on in the file that has the path now. Throws if there can be none; the old one is used on. */
  reopen(): void {
    const before = this.#stream
    this.#stream = this.#open()
    before.end()
    this.#drained()
  }

  /** Resolves when everything is written, or when writing has failed before. */
  end(): Promise<void> {
    const stream = this.#stream
    if (stream.destroyed) return Promise.resolve()
    return new Promise((done) => {
      stream.once('close', done)
      stream.end()
    })
  }

  #open(): WriteStream {
    const stream = createWriteStream(this.#path, { fd: openPrivate(this.#path) })
    stream.on('error', this.#failed)
    stream.on('drain', () => this.#drained())
    return stream
  }

  #drained(): void {
    for (const listener of this.#waiting.splice(0)) listener()
  }
}

/** Opened right away, so that a bad path is reported before anything starts. `failed` is called when writing fails. */
export async function openPrivateFile(
  path: string,
  { what, flag }: FilePurpose,
  failed: (error: unknown) => void,
): Promise<PrivateFile> {
  try {
    await makeFolder(dirname(resolve(path)))
    return new PrivateFile(path, failed)
  } catch (error) {
    throw new StartError(
      `cannot write ${what} ${path}: ${errorReason(error)}; choose another path with ${flag}`,
    )
  }
}

/** Also restricts an existing file. */
function openPrivate(path: string): number {
  const fd = openSync(path, 'a', 0o600)
  const stats = fstatSync(fd)
  if (!stats.isFile() || (stats.mode & 0o077) === 0) return fd
  try {
    fchmodSync(fd, 0o600)
  } catch (error) {
    // A writable file of another user.
    if (errorCode(error) !== 'EPERM') throw error
  }
  return fd
}
