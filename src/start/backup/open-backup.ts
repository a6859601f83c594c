// Opens what `lazuli backup` has written: a folder, or a tar file.
import { stat } from 'node:fs/promises'
import { errorReason, StartError } from '../start-error.ts'
import type { BackupFiles, BackupWriter } from './files.ts'
import { openFolder, writeFolder } from './folder.ts'
import { decodeManifest, MANIFEST_NAME, type Manifest } from './manifest.ts'
import { openTarFile, writeTarFile } from './tar-file.ts'

export type Backup = { readonly files: BackupFiles; readonly manifest: Manifest }

/** Throws StartError if there is no complete backup. Whoever gets it closes the files. */
export async function openBackup(path: string): Promise<Backup> {
  const isFolder = await isFolderAt(path)
  if (isFolder === undefined) throw new StartError(`there is no backup ${path}`)
  const files = isFolder ? openFolder(path) : await openTarFile(path)
  try {
    const manifest = await readManifest(files)
    if (manifest === undefined) throw new StartError(`${path} is not a complete backup`)
    return { files, manifest }
  } catch (error) {
    await files.close()
    throw error
  }
}

export async function readManifest(files: BackupFiles): Promise<Manifest | undefined> {
  const lengthBytes = (await files.list()).get(MANIFEST_NAME)
  if (lengthBytes === undefined) return undefined
  return decodeManifest(await files.read(MANIFEST_NAME, 0, lengthBytes), files.text)
}

/** A folder, unless there is a file, or the path ends with `.tar`. */
export async function writeBackupTo(path: string): Promise<BackupWriter> {
  const isFolder = (await isFolderAt(path)) ?? !path.endsWith('.tar')
  return isFolder ? writeFolder(path) : writeTarFile(path)
}

/** undefined if there is nothing. */
async function isFolderAt(path: string): Promise<boolean | undefined> {
  try {
    return (await stat(path)).isDirectory()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw new StartError(`cannot read ${path}: ${errorReason(error)}`)
  }
}
