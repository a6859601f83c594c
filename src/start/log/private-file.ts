// Files that contain names of data: only their owner can read them.
import { createWriteStream, fchmodSync, fstatSync, openSync, type WriteStream } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { makeFolder } from '../store/location.ts'
import { errorCode, errorReason, StartError } from '../start-error.ts'

export type FilePurpose = {
  /** For the error message: "the debug log". */
  readonly what: string
  /** The flag with its path: "--debug". */
  readonly flag: string
}

/** Appends. Opened right away, so that a bad path is reported before anything starts. */
export async function openPrivateFile(
  path: string,
  { what, flag }: FilePurpose,
): Promise<WriteStream> {
  try {
    await makeFolder(dirname(resolve(path)))
    return createWriteStream(path, { fd: openPrivate(path) })
  } catch (error) {
    throw new StartError(
      `cannot write ${what} ${path}: ${errorReason(error)}; choose another path with ${flag}`,
    )
  }
}

/** Resolves when everything is written, or when writing has failed before. */
export function endFile(file: WriteStream | undefined): Promise<void> {
  if (file === undefined || file.destroyed) return Promise.resolve()
  return new Promise((resolve) => {
    file.once('close', resolve)
    file.end()
  })
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
