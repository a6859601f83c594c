// `lazuli fsck --store`: checks a store in PostgreSQL beside the nodes that use it. It only reads: it registers nothing and
// has no role, so nobody notices it, and nothing is left behind if it is stopped.
import { FolderDiffers } from '../../extent/file/folder-id.ts'
import { BytesKindDiffers } from '../../node/bytes-kind.ts'
import { checkFormat, getFormat } from '../../node/format.ts'
import type { Environment } from '../../postgres/settings.ts'
import { MIGRATIONS } from '../../storage/migrations.ts'
import { extentsOf, openDatabaseVolume } from './database-volume.ts'
import { databaseError, openDatabaseReader } from './database.ts'
import { checkOpen, type Fsck, type FsckRun } from './fsck.ts'
import { StartError } from '../start-error.ts'

export type DatabaseName = { readonly url: string; readonly bytesFolder: string | undefined }

export async function checkDatabase(
  name: DatabaseName,
  env: Environment,
  run: FsckRun = {},
): Promise<Fsck> {
  const database = await openDatabaseReader(name.url, env)
  const { kv, settings, nowMs } = database
  try {
    checkFormat((await kv.read(getFormat)) ?? { version: 0 }, MIGRATIONS)
    const volume = await openDatabaseVolume(database, name.bytesFolder)
    const extents = extentsOf(volume, kv, nowMs)
    try {
      return await checkOpen(kv, extents, run)
    } finally {
      await extents.close()
    }
  } catch (error) {
    const isNamed = error instanceof BytesKindDiffers || error instanceof FolderDiffers
    throw isNamed ? new StartError(error.message, 1, error) : databaseError(settings, error)
  } finally {
    await database.close()
  }
}
