// A file in the data folder while an import runs. A server does not start with the half that an interrupted one has left.
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { nodeDisk } from '../../extent/file/disk.ts'

const NAME = 'azurite-import'

/** The folder that is being imported. */
export async function markImport(location: string, from: string): Promise<void> {
  const fd = openSync(join(location, NAME), 'w', 0o600)
  try {
    writeSync(fd, from)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
  await nodeDisk.syncFolder(location)
}

export async function unmarkImport(location: string): Promise<void> {
  rmSync(join(location, NAME))
  await nodeDisk.syncFolder(location)
}

/** undefined if no import is unfinished. */
export function unfinishedImport(location: string): string | undefined {
  const path = join(location, NAME)
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined
}
