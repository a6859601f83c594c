// Both ends of a copy: a data folder, or a database with its content inside or in a folder.
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { SweptExtentStore } from '../../extent/extent.ts'
import { nodeDisk } from '../../extent/file/disk.ts'
import { checkFolder } from '../../extent/file/folder-id.ts'
import { fileVolume } from '../../extent/file/local.ts'
import { postgresVolume } from '../../extent/postgres.ts'
import type { Volume } from '../../extent/volume.ts'
import { openLmdbEngine } from '../../kv/engine/lmdb.ts'
import { openPostgresEngine } from '../../kv/engine/postgres.ts'
import { encodeKey } from '../../kv/key.ts'
import { prefixRange, type Kv, type ReadTx, type Step, type Tx } from '../../kv/kv.ts'
import { openKv, versionsOf } from '../../kv/runner/runner.ts'
import { putBytesKind } from '../../node/bytes-kind.ts'
import { DatabaseClock } from '../../node/database-clock.ts'
import { getClusterState, listedNodes } from '../../node/node-list.ts'
import { takeOwnership } from '../../node/owner.ts'
import { settingsText, type Environment } from '../../postgres/settings.ts'
import type { StoreName } from '../options/command.ts'
import { StartError } from '../start-error.ts'
import { bytesKindOf, extentsOf, openDatabaseVolume } from '../store/database-volume.ts'
import {
  databaseError,
  databaseSettings,
  openDatabaseReader,
  type DatabaseReader,
} from '../store/database.ts'
import { checkLocationExists, makeFolder, prepareLocation } from '../store/location.ts'

type Place = {
  /** For people. */
  readonly text: string
  readonly kv: Kv
  readonly volume: Volume
  close(): Promise<void>
}

export type CopySource = Place & {
  /** A digest that changes whenever a server changes the store. */
  state(): Promise<string>
}

export type CopyTarget = Place & {
  /** To check what was copied. Uses the volume. */
  readonly extents: SweptExtentStore
  /** The clock of the servers that will use it. */
  nowMs(): number
  /** Called when the store is marked as unfinished, before anything is copied. */
  begin(): Promise<void>
  /** Writes what belongs to the place, when everything is there. */
  finish(tx: Tx): Step<void>
}

export type OpenSettings = { readonly env: Environment; readonly pid: number }

/** Throws StartError if there is no store, or it is in use. */
export function openStoreToCopy(name: StoreName, settings: OpenSettings): Promise<CopySource> {
  if ('folder' in name) return openFolderSource(name.folder, settings.pid)
  return openDatabaseSource(name.url, name.bytesFolder, settings.env)
}

export function openTarget(name: StoreName, settings: OpenSettings): Promise<CopyTarget> {
  if ('folder' in name) return openFolderTarget(name.folder, settings.pid)
  return openDatabaseTarget(name.url, name.bytesFolder, settings.env)
}

async function openFolderSource(folder: string, pid: number): Promise<CopySource> {
  await checkLocationExists(folder)
  if (!existsSync(join(folder, 'store', 'data.mdb'))) {
    throw new StartError(`there is no store in the folder ${folder}`)
  }
  const { kv, close } = await openOwned(folder, pid)
  const volume = fileVolume({ folder: join(folder, 'extents') })
  return { text: folder, kv, volume, state: () => stateOf(kv, ''), close: closing(volume, close) }
}

/** Opens the records as a server does, without its migrations and repairs: the source stays as it is. */
async function openOwned(folder: string, pid: number) {
  const engine = openLmdbEngine(join(folder, 'store'))
  try {
    const owner = await takeOwnership(engine, { folder, pid })
    const kv: Kv = openKv(engine)
    const close = async (): Promise<void> => {
      await owner.release()
      await kv.close()
    }
    return { kv, close }
  } catch (error) {
    await engine.close()
    throw error
  }
}

async function openDatabaseSource(
  url: string,
  bytesFolder: string | undefined,
  env: Environment,
): Promise<CopySource> {
  const database = await openDatabaseReader(url, env)
  const { kv, settings } = database
  const text = settingsText(settings)
  try {
    await checkNoNodes(text, database)
    const volume = await openDatabaseVolume(database, bytesFolder)
    const state = async (): Promise<string> => stateOf(kv, await database.writersText())
    return { text, kv, volume, state, close: closing(volume, database.close) }
  } catch (error) {
    await database.close()
    throw error
  }
}

/** One that was silent for long and comes back is noticed at the end, by the state of the store. */
async function checkNoNodes(text: string, { kv, nowMs }: DatabaseReader): Promise<void> {
  const { nodes } = await kv.read((tx) => getClusterState(tx, nowMs()))
  const running = listedNodes(nodes, () => undefined, nowMs()).filter(({ isSilent }) => !isSilent)
  if (running.length === 0) return
  const names = running.map(({ name }) => name).join(', ')
  throw new StartError(`${text} is in use by ${names}; stop all nodes first`)
}

/** Every server that starts reserves ids. */
async function stateOf(kv: Kv, writers: string): Promise<string> {
  const values = await kv.read(stateRecords)
  const hash = createHash('sha256').update(writers)
  for (const value of values) hash.update(`\n${value.length}\n`).update(value)
  return hash.digest('base64')
}

function* stateRecords(tx: ReadTx): Step<readonly Uint8Array[]> {
  const values: Uint8Array[] = []
  for (const kind of ['format', 'next-id', 'extent-next', 'moment-floor']) {
    const entries = yield* tx.scan({ ...prefixRange(encodeKey(kind)), countMax: STATE_COUNT_MAX })
    values.push(...entries.map(({ value }) => value.value))
  }
  return values
}

const STATE_COUNT_MAX = 1_000

async function openFolderTarget(folder: string, pid: number): Promise<CopyTarget> {
  await prepareLocation(folder)
  const { kv, close } = await openOwned(folder, pid)
  try {
    const extentsFolder = join(folder, 'extents')
    await nodeDisk.makeFolder(extentsFolder)
    // LMDB syncs its file but not the folder entry.
    await nodeDisk.syncFolder(join(folder, 'store'))
    await nodeDisk.syncFolder(folder)
    // Slices keep their offsets, and direct writes need aligned ones.
    const volume = fileVolume({ folder: extentsFolder, directBytesMin: Infinity })
    return {
      text: folder,
      kv,
      volume,
      extents: extentsOf(volume, kv, Date.now),
      nowMs: Date.now,
      begin: async () => undefined,
      *finish() {},
      close: closing(volume, close),
    }
  } catch (error) {
    await close()
    throw error
  }
}

async function openDatabaseTarget(
  url: string,
  bytesFolder: string | undefined,
  env: Environment,
): Promise<CopyTarget> {
  const settings = databaseSettings(url, env)
  const clock = new DatabaseClock()
  const onTime = clock.observe.bind(clock)
  const engine = await openPostgresEngine(settings, { onTime }).catch((error: unknown) => {
    throw databaseError(settings, error)
  })
  const kv: Kv = openKv(engine, { nextVersion: versionsOf(engine.number) })
  const nowMs = (): number => clock.nowMs()
  try {
    if (bytesFolder !== undefined) await makeFolder(bytesFolder, 0o700)
    const volume =
      bytesFolder === undefined
        ? postgresVolume(settings)
        : fileVolume({ folder: bytesFolder, directBytesMin: Infinity })
    return {
      text: settingsText(settings),
      kv,
      volume,
      extents: extentsOf(volume, kv, nowMs),
      nowMs,
      begin: async () => {
        if (bytesFolder !== undefined) await checkFolder(nodeDisk, bytesFolder, kv)
      },
      finish: (tx) => putBytesKind(tx, bytesKindOf(bytesFolder)),
      close: closing(volume, () => kv.close()),
    }
  } catch (error) {
    await kv.close()
    throw error
  }
}

function closing(volume: Volume, closeKv: () => Promise<void>): () => Promise<void> {
  return async () => {
    await volume.close()
    await closeKv()
  }
}
