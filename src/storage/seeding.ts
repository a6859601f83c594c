// Whether a store is empty, and whether it is being seeded: a start that finds an unfinished seed begins it again.
import { encodeKey } from '../kv/key.ts'
import type { ReadTx, Step, Tx } from '../kv/kv.ts'
import { encodeRecord } from '../kv/record.ts'
import { containersRange } from './blob/keys.ts'
import { sharesRange } from './file/keys.ts'
import { queuesRange } from './queue/keys.ts'
import { tablesRange } from './table/keys.ts'

/** → {}: the store is being seeded */
const SEEDING_KEY = encodeKey('seeding')

export function* isSeedUnfinished(tx: ReadTx): Step<boolean> {
  return (yield* tx.get(SEEDING_KEY)) !== undefined
}

export function* beginSeeding(tx: Tx): Step<void> {
  tx.put(SEEDING_KEY, encodeRecord({}))
}

export function* endSeeding(tx: Tx): Step<void> {
  tx.delete(SEEDING_KEY)
}

/** There is no container, queue, table or share. */
export function* isStoreEmpty(tx: ReadTx): Step<boolean> {
  for (const range of [containersRange(), queuesRange(), tablesRange(), sharesRange()]) {
    if ((yield* tx.scanKeys({ ...range, countMax: 1 })).length > 0) return false
  }
  return true
}
