// The content of a store in PostgreSQL, for those who only read it: in the database, or in a folder that its nodes share.
import { withSmallSlices } from '../../extent/content/small.ts'
import type { SweptExtentStore } from '../../extent/extent.ts'
import { viewExtents } from '../../extent/extents.ts'
import { nodeDisk } from '../../extent/file/disk.ts'
import { isFolderOf } from '../../extent/file/folder-id.ts'
import { fileVolume } from '../../extent/file/local.ts'
import { postgresVolume } from '../../extent/postgres.ts'
import type { Volume } from '../../extent/volume.ts'
import type { Kv } from '../../kv/kv.ts'
import { checkStoredBytesKind, type BytesKind } from '../../node/bytes-kind.ts'
import type { DatabaseReader } from './database.ts'

/** Throws BytesKindDiffers or FolderDiffers if the content is somewhere else. */
export async function openDatabaseVolume(
  { kv, settings }: Pick<DatabaseReader, 'kv' | 'settings'>,
  bytesFolder: string | undefined,
): Promise<Volume> {
  await checkStoredBytesKind(kv, bytesKindOf(bytesFolder))
  if (bytesFolder === undefined) return postgresVolume(settings)
  await isFolderOf(nodeDisk, bytesFolder, kv)
  return fileVolume({ folder: bytesFolder })
}

export function bytesKindOf(bytesFolder: string | undefined): BytesKind {
  return bytesFolder === undefined ? 'postgres' : 'folder'
}

/** To read what is in the volume, and the small slices in the kv. */
export function extentsOf(volume: Volume, kv: Kv, clock: () => number): SweptExtentStore {
  return withSmallSlices(viewExtents(volume, { kv, clock }), kv)
}
