// Tables: a record each, found by account and name. There are no ETags or conditions here: optimistic
// concurrency is a matter of entities.
import { compareKeys, encodeKey } from '../../kv/key.ts'
import { getFields } from '../../kv/fields.ts'
import { keyAfterPrefix, type ReadTx, type Step, type Tx } from '../../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../../kv/record.ts'
import type { SignedIdentifier } from '../shared/access-policy.ts'
import { StorageError } from '../shared/error.ts'
import { matchesTable, type FilterExpression } from './filter.ts'
import { tableRangeOf } from './key-range.ts'
import { deletedTableKey, tableKey, tableKeyParts } from './keys.ts'

export type TableAddress = { readonly account: string; readonly table: string }

export type Table = {
  readonly id: number
  /** As it was created. */
  readonly name: string
  readonly policies: readonly SignedIdentifier[]
}

export function getTable(tx: ReadTx, address: TableAddress): Step<Table | undefined> {
  return getFields<Table>(tx, tableKey(address.account, address.table))
}

export function* requireTable(tx: ReadTx, address: TableAddress): Step<Table> {
  const table = yield* getTable(tx, address)
  if (table === undefined) throw new StorageError('TableNotFound')
  return table
}

/** The name is one that checkTableName lets pass. */
export function* createTable(tx: Tx, address: TableAddress, id: number): Step<Table> {
  const existing = yield* getTable(tx, address)
  if (existing !== undefined) throw new StorageError('TableAlreadyExists')
  const table: Table = { id, name: address.table, policies: [] }
  saveTable(tx, address, table)
  return table
}

/** Its entities are swept later; nobody can reach them any more. The name is free, unless held-name.ts holds it. */
export function* deleteTable(tx: Tx, address: TableAddress): Step<void> {
  const table = yield* getTable(tx, address)
  // TableNotFound is what operations on its entities and its ACL get.
  if (table === undefined) throw new StorageError('ResourceNotFound')
  tx.delete(tableKey(address.account, address.table))
  tx.put(deletedTableKey(table.id), encodeRecord({}))
}

export function* setTableAcl(
  tx: Tx,
  address: TableAddress,
  policies: readonly SignedIdentifier[],
): Step<void> {
  const table = yield* requireTable(tx, address)
  saveTable(tx, address, { ...table, policies })
}

export type ListTables = {
  readonly filter?: FilterExpression | undefined
  /** The name at which the page begins, whether a table still has it or not. */
  readonly start?: string | undefined
  readonly countMax: number
}

export type TablePage = { readonly tables: readonly Table[]; readonly next: string | undefined }

/** A page that has looked at so many ends, however few of them match. */
const LOOK_COUNT_MAX = 10_000
/** Read at once. */
const CHUNK_COUNT_MAX = 256
/** Longer than every name: what is cut off the start of a page tells no two tables apart. */
const START_LENGTH_MAX = 64

const EVERY_TABLE: FilterExpression = { constant: true }

/** In the order of their names without case. */
export function* listTables(
  tx: ReadTx,
  account: string,
  { filter = EVERY_TABLE, start = '', countMax }: ListTables,
): Step<TablePage> {
  const { from, to } = tableRangeOf(filter)
  const parts = tableKeyParts(account)
  const lowest = start.slice(0, START_LENGTH_MAX).toLowerCase()
  const range = {
    from: encodeKey(...parts, lowest > from ? lowest : from),
    to: to === undefined ? keyAfterPrefix(encodeKey(...parts)) : encodeKey(...parts, to),
  }
  const tables: Table[] = []
  let lookedCount = 0
  while (compareKeys(range.from, range.to) < 0) {
    const missedCount = lookedCount - tables.length
    // As many as are missing, and one to begin the next page with; more when few of them match.
    const chunkCount = Math.min(CHUNK_COUNT_MAX, countMax - tables.length + 1 + missedCount)
    const entries = yield* tx.scanFields({ ...range, countMax: chunkCount })
    const chunk = entries.map(({ value }) => decodeRecord<Table>(value))
    for (const table of chunk) {
      if (tables.length === countMax || lookedCount === LOOK_COUNT_MAX) {
        return { tables, next: table.name.toLowerCase() }
      }
      lookedCount += 1
      if (matchesTable(filter, table.name)) tables.push(table)
    }
    const last = chunk.at(-1)
    if (last === undefined || chunk.length < chunkCount) break
    range.from = keyAfterPrefix(tableKey(account, last.name))
  }
  return { tables, next: undefined }
}

function saveTable(tx: Tx, address: TableAddress, table: Table): void {
  tx.put(tableKey(address.account, address.table), encodeRecord(table))
}
