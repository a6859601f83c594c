// Removes the entities of deleted tables, in bounded transactions. Clients already see none of them.
import { decodeKey } from '../../kv/key.ts'
import type { Kv, Step, Tx } from '../../kv/kv.ts'
import { DELETED_TABLES, deletedTableKey, entityRange } from './keys.ts'

/** Small enough that concurrent writes wait only a few milliseconds. */
const RECORDS_PER_STEP = 200

type SweptTables = { readonly recordCount: number }

export async function sweepTables(kv: Kv): Promise<SweptTables> {
  let recordCount = 0
  for (;;) {
    const tableId = await firstDeleted(kv)
    if (tableId === undefined) return { recordCount }
    let removed: number
    do {
      removed = await kv.write((tx) => removeSome(tx, tableId))
      recordCount += removed
    } while (removed > 0)
  }
}

async function firstDeleted(kv: Kv): Promise<number | undefined> {
  const range = { ...DELETED_TABLES, countMax: 1 }
  const [first] = await kv.read((tx) => tx.scanKeys(range))
  return first && Number(decodeKey(first)[1])
}

/** The last step, which finds nothing more, deletes the mark. */
function* removeSome(tx: Tx, tableId: number): Step<number> {
  const range = { ...entityRange(tableId), countMax: RECORDS_PER_STEP }
  const keys = yield* tx.scanKeys(range)
  for (const key of keys) tx.delete(key)
  if (keys.length === 0) tx.delete(deletedTableKey(tableId))
  return keys.length
}
