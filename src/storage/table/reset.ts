// Removes tables with their entities. Only the names go at once; the sweep removes the entities.
import type { Entry, Kv, Step, Tx } from '../../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../../kv/record.ts'
import { removeRange } from '../shared/remove-range.ts'
import { deletedTableKey, tablesRange } from './keys.ts'
import type { Table } from './table.ts'

/** `names`: the account and the table; without them, those of all accounts, or all of the account. */
export function resetTables(kv: Kv, ...[account, name]: readonly string[]): Promise<number> {
  return removeRange(kv, tablesRange(account, name), dropEntities)
}

function* dropEntities(tx: Tx, { value }: Entry): Step<void> {
  tx.put(deletedTableKey(decodeRecord<Table>(value).id), encodeRecord({}))
}
