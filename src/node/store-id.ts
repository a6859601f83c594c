// The id of a store, by which a backup knows it again: ids of extents and places in them mean something only within one store.
// A copy of the folder gets another id, since both go on in their own ways.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { encodeKey } from '../kv/key.ts'
import type { Kv, Step, Tx } from '../kv/kv.ts'
import { encodeRecord } from '../kv/record.ts'

type StoreId = {
  readonly id: string
  /** The inode of the file with the records. Without the device, whose number may differ after a restart. */
  readonly inode: string
}

const KEY = encodeKey('store-id')

/** `newId` is used if the store in this folder has no id yet. */
export async function storeIdOf(kv: Kv, folder: string, newId: string): Promise<string> {
  const { ino } = statSync(join(folder, 'store', 'data.mdb'), { bigint: true })
  return kv.write((tx) => getOrPut(tx, { id: newId, inode: String(ino) }))
}

function* getOrPut(tx: Tx, next: StoreId): Step<string> {
  const stored = yield* tx.getFields<StoreId>(KEY)
  if (stored?.inode === next.inode) return stored.id
  tx.put(KEY, encodeRecord(next))
  return next.id
}
