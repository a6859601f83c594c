// The data folder. A new or empty folder gets a .gitignore, so that no data is committed by mistake. A folder with other
// files does not, since a .gitignore would hide them from git.
import { mkdir, open, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { nodeDisk } from '../../extent/file/disk.ts'
import { errorCode, errorReason, StartError } from '../start-error.ts'

export const DEFAULT_LOCATION = '.lazuli'

export function locationPath(location: string | undefined, cwd: string): string {
  return resolve(cwd, location ?? DEFAULT_LOCATION)
}

/** Creates the folder if necessary and checks that it is writable. */
export async function prepareLocation(path: string): Promise<void> {
  try {
    await makeFolder(path, PRIVATE)
    await nodeDisk.syncFolder(dirname(path))
    if ((await readdir(path)).length === 0) await writeIgnore(path)
    else await checkWritable(path)
  } catch (error) {
    throw new StartError(
      `cannot write to the data folder ${path}: ${errorReason(error)}; choose another with --location`,
    )
  }
}

const PRIVATE = 0o700

async function writeIgnore(path: string): Promise<void> {
  await writeFile(join(path, '.gitignore'), '*\n', { mode: 0o600 })
}

/**
 * Does not use mkdir's `recursive`: it loops forever if the file system answers ENOENT below an existing folder, as
 * /proc does.
 */
export async function makeFolder(path: string, mode?: number): Promise<void> {
  try {
    await mkdir(path, { mode })
  } catch (error) {
    if (errorCode(error) === 'EEXIST' && (await stat(path)).isDirectory()) return
    const parent = dirname(path)
    if (errorCode(error) !== 'ENOENT' || parent === path) throw error
    await makeFolder(parent)
    await mkdir(path, { mode })
  }
}

/** For commands that need existing data and must not create a folder. */
export async function checkLocationExists(path: string): Promise<void> {
  try {
    await readdir(path)
  } catch (error) {
    throw new StartError(
      `cannot read the data folder ${path}: ${errorReason(error)}; choose another with --location`,
    )
  }
}

/** Writes a file, since permission bits are not reliable (root, read-only mounts, network shares). */
async function checkWritable(path: string): Promise<void> {
  const probe = join(path, '.write-check')
  try {
    await (await open(probe, 'wx', 0o600)).close()
  } catch (error) {
    // Another process is checking the same folder right now, or was killed while it did.
    if (errorCode(error) !== 'EEXIST') throw error
  }
  await rm(probe, { force: true })
}
