// A backup in a folder. Files get their name when they are complete and durable, and never change afterwards; so an earlier
// backup stays valid until the new manifest replaces its own, and a run after an interrupted one uses what is there.
import { randomUUID } from 'node:crypto'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { nodeDisk } from '../../extent/file/disk.ts'
import { makeFolder } from '../store/location.ts'
import { errorCode, errorReason, StartError } from '../start-error.ts'
import type { BackupFiles, BackupWriter } from './files.ts'
import { MANIFEST_NAME } from './manifest.ts'
import { OpenFiles } from './open-files.ts'

const SUBFOLDERS = ['records', 'extents'] as const
const OWN_FILE = /^(?:[0-9a-f]{64}\.records|[0-9a-f]{14}-[0-9a-f]{16}\.slices)$/
const DRAFT = '.new'
/** Names the run that writes to the folder: the last one that began. */
const RUN_NAME = 'run'
const PRIVATE_FILE = 0o600
const PRIVATE_FOLDER = 0o700

export function openFolder(path: string): BackupFiles {
  const files = new OpenFiles((name) => join(path, name))
  return {
    text: path,
    list: () => listFolder(path),
    read: (name, offset, lengthBytes) => files.read(name, offset, lengthBytes),
    close: () => files.close(),
  }
}

async function listFolder(path: string): Promise<ReadonlyMap<string, number>> {
  const sizes = new Map<string, number>()
  for (const folder of SUBFOLDERS) {
    for (const name of await namesIn(join(path, folder))) {
      if (!OWN_FILE.test(name)) continue
      const size = await nodeDisk.sizeBytes(join(path, folder, name))
      if (size !== undefined) sizes.set(`${folder}/${name}`, size)
    }
  }
  const manifest = await nodeDisk.sizeBytes(join(path, MANIFEST_NAME))
  if (manifest !== undefined) sizes.set(MANIFEST_NAME, manifest)
  return sizes
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return nodeDisk.list(folder).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return []
    throw error
  })
}

/** Throws StartError if the folder has something else in it, or can't be written. */
export async function writeFolder(path: string): Promise<BackupWriter> {
  const run = randomUUID()
  await prepare(path, run)
  const files = openFolder(path)
  const checkRun = async (): Promise<void> => {
    if (String(await readFile(join(path, RUN_NAME))) === run) return
    throw new StartError(`another backup to ${path} has begun; this one gives up`)
  }
  return {
    files,
    write: (name, _lengthBytes, chunks) => writeDurably(join(path, name), chunks),
    finish: async (manifest) => {
      for (const folder of SUBFOLDERS) await nodeDisk.syncFolder(join(path, folder))
      await nodeDisk.remove(join(path, MANIFEST_NAME + DRAFT))
      await writeDraft(join(path, MANIFEST_NAME + DRAFT), [manifest])
    },
    publish: async (needed) => {
      await checkRun()
      await rename(join(path, MANIFEST_NAME + DRAFT), join(path, MANIFEST_NAME))
      await nodeDisk.syncFolder(path)
      await prune(path, needed)
    },
    close: () => files.close(),
  }
}

async function prepare(path: string, run: string): Promise<void> {
  try {
    await makeFolder(path, PRIVATE_FOLDER)
    await nodeDisk.syncFolder(dirname(path))
    await checkIsOurs(path)
    for (const folder of SUBFOLDERS) await makeFolder(join(path, folder), PRIVATE_FOLDER)
    await nodeDisk.syncFolder(path)
    await writeFile(join(path, RUN_NAME), run, { mode: PRIVATE_FILE, flush: true })
  } catch (error) {
    if (error instanceof StartError) throw error
    throw new StartError(`cannot write to the backup folder ${path}: ${errorReason(error)}`)
  }
}

/** A mistyped path must not mix a backup with other files, or with a data folder. */
async function checkIsOurs(path: string): Promise<void> {
  const known: readonly string[] = [...SUBFOLDERS, RUN_NAME, MANIFEST_NAME, MANIFEST_NAME + DRAFT]
  const names = await nodeDisk.list(path)
  const other = names.find((name) => !known.includes(name))
  const isBackup = names.includes(RUN_NAME) || names.length === 0
  if (other === undefined && isBackup) return
  const what = other === undefined ? '' : `, such as ${other}`
  throw new StartError(`the folder ${path} has other files${what}; choose an empty one`)
}

async function writeDurably(path: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  const draft = path + DRAFT
  await nodeDisk.remove(draft)
  await writeDraft(draft, chunks)
  await rename(draft, path)
}

async function writeDraft(
  path: string,
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<void> {
  const fd = await nodeDisk.create(path)
  try {
    let position = 0
    for await (const chunk of chunks) {
      await nodeDisk.write(fd, [chunk], position)
      position += chunk.length
    }
    await nodeDisk.sync(fd)
  } finally {
    await nodeDisk.close(fd)
  }
}

/** Only files that a backup has written. */
async function prune(path: string, needed: ReadonlySet<string>): Promise<void> {
  for (const folder of SUBFOLDERS) {
    for (const name of await namesIn(join(path, folder))) {
      const isOurs = OWN_FILE.test(name.endsWith(DRAFT) ? name.slice(0, -DRAFT.length) : name)
      if (isOurs && !needed.has(`${folder}/${name}`)) await rm(join(path, folder, name))
    }
  }
}
