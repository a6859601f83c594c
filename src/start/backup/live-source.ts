// The source of a backup: the store of a running server, or that of a stopped one.
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileVolume } from '../../extent/file/local.ts'
import { openLmdbEngine } from '../../kv/engine/lmdb.ts'
import type { Kv } from '../../kv/kv.ts'
import { openKv } from '../../kv/runner/runner.ts'
import { checkFormat, getFormat } from '../../node/format.ts'
import { takeOwnership } from '../../node/owner.ts'
import { storeIdOf } from '../../node/store-id.ts'
import { MIGRATIONS } from '../../storage/migrations.ts'
import { StartError } from '../start-error.ts'
import { extentsOf } from '../store/database-volume.ts'
import { checkLocationExists } from '../store/location.ts'
import type { Store } from '../store/store.ts'
import type { BackupSource } from './backup-source.ts'

export type LiveStore = {
  readonly folder: string
  readonly store: Pick<Store, 'kv' | 'extents'> & {
    readonly snapshot: NonNullable<Store['snapshot']>
  }
  betweenSweeps<T>(work: () => Promise<T>): Promise<T>
}

export async function liveSource({
  folder,
  store,
  betweenSweeps,
}: LiveStore): Promise<BackupSource> {
  return {
    text: folder,
    storeId: await storeIdOf(store.kv, folder, randomUUID()),
    extents: store.extents,
    snapshot: (use) => betweenSweeps(async () => use(await store.snapshot())),
  }
}

export type StoppedSource = BackupSource & { close(): Promise<void> }

/** Throws StoreInUse if a server runs on the folder, and StartError if there is no store that can be backed up. */
export async function openStoppedSource(folder: string, pid: number): Promise<StoppedSource> {
  await checkLocationExists(folder)
  if (!existsSync(join(folder, 'store', 'data.mdb'))) {
    throw new StartError(`there is no store in the folder ${folder}`)
  }
  const engine = openLmdbEngine(join(folder, 'store'))
  const owner = await takeOwnership(engine, { folder, pid }).catch(async (error: unknown) => {
    await engine.close()
    throw error
  })
  const kv: Kv = openKv(engine)
  const extents = extentsOf(fileVolume({ folder: join(folder, 'extents') }), kv, Date.now)
  const close = async (): Promise<void> => {
    await extents.close()
    await owner.release()
    await kv.close()
  }
  try {
    checkFormat((await kv.read(getFormat)) ?? { version: 0 }, MIGRATIONS)
    const storeId = await storeIdOf(kv, folder, randomUUID())
    const snapshot: BackupSource['snapshot'] = async (use) => use(await engine.snapshot())
    return { text: folder, storeId, extents, snapshot, close }
  } catch (error) {
    await close()
    throw error
  }
}
