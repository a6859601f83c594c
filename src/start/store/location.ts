// The folder that holds all data. A folder that Lazuli makes, or finds empty, gets its own .gitignore,
// so that no data is committed by mistake; one with other files in it does not, since there a
// .gitignore would hide its owner's work.
import { mkdir, open, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { nodeDisk } from '../../extent/file/disk.ts'
import { errorCode, reasonOf, StartError } from '../start-error.ts'

export const DEFAULT_LOCATION = '.lazuli'

export function locationPath(location: string | undefined, cwd: string): string {
  return resolve(cwd, location ?? DEFAULT_LOCATION)
}

/** Makes the folder if need be and makes sure that it can be written to. */
export async function prepareLocation(path: string): Promise<void> {
  try {
    await makeFolder(path, PRIVATE)
    await nodeDisk.syncFolder(dirname(path))
    if ((await readdir(path)).length === 0) await writeIgnore(path)
    else await checkWritable(path)
  } catch (error) {
    throw new StartError(
      `cannot write to the location ${path}: ${reasonOf(error)}; choose another with --location`,
    )
  }
}

const PRIVATE = 0o700

async function writeIgnore(path: string): Promise<void> {
  await writeFile(join(path, '.gitignore'), '*\n', { mode: 0o600 })
}

/**
 * Not mkdir's own `recursive`: where the file system answers ENOENT below a folder that exists, as in
 * /proc, that tries for ever.
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

/** For commands that look at existing data and must not make a folder. */
export async function checkLocationExists(path: string): Promise<void> {
  try {
    await readdir(path)
  } catch (error) {
    throw new StartError(`cannot read the location ${path}: ${reasonOf(error)}`)
  }
}

/** Permission bits do not tell (root, read-only mounts, network shares); a written file does. */
async function checkWritable(path: string): Promise<void> {
  const probe = join(path, '.write-check')
  try {
    await (await open(probe, 'wx', 0o600)).close()
  } catch (error) {
    // Another process of the same location checks at this moment, or died while it did.
    if (errorCode(error) !== 'EEXIST') throw error
  }
  await rm(probe, { force: true })
}
