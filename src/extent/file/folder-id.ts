// Ties a folder that nodes share to their store, by an id in the kv and in the name of a file. A node that mounts another
// store's folder would remove its files as orphans; one whose mount is missing would write to an empty folder of its own.
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { Kv, ReadTx, Step, Tx } from '../../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../../kv/record.ts'
import { EXTENT_RANGE, FOLDER_KEY } from '../keys.ts'
import type { Disk } from './disk.ts'

const FILE_NAME = /^([0-9a-f-]{36})\.store$/

type StoreState = { readonly id: string | undefined; readonly hasExtents: boolean }

/** Throws if the folder is not the one of this store. A new store gets the folder. */
export async function checkFolder(disk: Disk, folder: string, kv: Kv): Promise<void> {
  if (await isFolderOf(disk, folder, kv)) return
  const newId = randomUUID()
  const chosen = await kv.write((tx) => chooseId(tx, newId))
  await createFile(disk, join(folder, `${chosen}.store`))
  await disk.syncFolder(folder)
}

/** Whether the folder is the one of this store; false if a new store has none yet. Throws if it is another one. */
export async function isFolderOf(disk: Disk, folder: string, kv: Kv): Promise<boolean> {
  const names = await disk.list(folder)
  const found = names.map((name) => FILE_NAME.exec(name)?.[1]).filter((id) => id !== undefined)
  const { id, hasExtents } = await kv.read(readState)
  if (found.some((each) => each !== id)) {
    throw new FolderDiffers(`The folder ${folder} belongs to another store.`)
  }
  if (found.length === 0 && hasExtents) {
    throw new FolderDiffers(
      `The folder ${folder} does not have the bytes of this store. Is it mounted?`,
    )
  }
  return found.length > 0
}

export class FolderDiffers extends Error {}

function* readState(tx: ReadTx): Step<StoreState> {
  const extents = yield* tx.scanKeys({ ...EXTENT_RANGE, countMax: 1 })
  return { id: yield* readId(tx), hasExtents: extents.length > 0 }
}

function* readId(tx: ReadTx): Step<string | undefined> {
  const value = yield* tx.get(FOLDER_KEY)
  return value === undefined ? undefined : decodeRecord<{ id: string }>(value).id
}

/** The first node chooses. */
function* chooseId(tx: Tx, newId: string): Step<string> {
  const id = yield* readId(tx)
  if (id === undefined) tx.put(FOLDER_KEY, encodeRecord({ id: newId }))
  return id ?? newId
}

async function createFile(disk: Disk, path: string): Promise<void> {
  try {
    await disk.close(await disk.create(path))
  } catch (error) {
    // Another node has created it at the same time.
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
}
