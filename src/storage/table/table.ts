// Tables: one record each, found by account and name. Tables have no ETags or conditions; only entities do.
import { compareKeys, encodeKey } from '../../kv/key.ts'
import { keyAfterPrefix, type ReadTx, type Step, type Tx } from '../../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../../kv/record.ts'
import type { SignedIdentifier } from '../shared/access-policy.ts'
import { StorageError } from '../shared/error.ts'
import { requireFields } from '../shared/require-fields.ts'
import { matchesTable, type FilterExpression } from './filter.ts'
import { tableRangeOf } from './key-range.ts'
import { deletedTableKey, tableKey, tableKeyParts } from './keys.ts'

export type TableAddress = { readonly account: string; readonly table: string }

export type Table = {
  readonly id: number
  /** In the case in which it was created. */
  readonly name: string
  readonly policies: readonly SignedIdentifier[]
}

export function getTable(tx: ReadTx, address: TableAddress): Step<Table | undefined> {
  return tx.getFields(tableKey(address.account, address.table))
}

export function requireTable(tx: ReadTx, address: TableAddress): Step<Table> {
  return requireFields(tx, tableKey(address.account, address.table), 'TableNotFound')
}

/** The name has passed checkTableName. */
export function* createTable(tx: Tx, address: TableAddress, id: number): Step<Table> {
  const existing = yield* getTable(tx, address)
  if (existing !== undefined) throw new StorageError('TableAlreadyExists')
  const table: Table = { id, name: address.table, policies: [] }
  saveTable(tx, address, table)
  return table
}

/** The entities are swept later; clients can't reach them any more. The name is free unless held-name.ts holds it. */
export function* deleteTable(tx: Tx, address: TableAddress): Step<void> {
  const key = tableKey(address.account, address.table)
  // TableNotFound is for operations on entities and on the ACL.
  const { id } = yield* requireFields<Table>(tx, key, 'ResourceNotFound')
  tx.delete(key)
  tx.put(deletedTableKey(id), encodeRecord({}))
}

export function* setTableAcl(
  tx: Tx,
  address: TableAddress,
  policies: readonly SignedIdentifier[],
): Step<void> {
  const table = yield* requireTable(tx, address)
  saveTable(tx, address, { ...table, policies })
}

type ListTables = {
  readonly filter?: FilterExpression | undefined
  /** The page starts at this name. The table need not exist any more. */
  readonly start?: string | undefined
  readonly countMax: number
}

type TablePage = { readonly tables: readonly Table[]; readonly next: string | undefined }

/** A page ends after reading this many tables, however few match. */
const SCAN_COUNT_MAX = 10_000
/** Tables per scan. */
const CHUNK_COUNT_MAX = 256
/** Longer than every name, so cutting off the rest changes nothing. */
const START_LENGTH_MAX = 64

const EVERY_TABLE: FilterExpression = { constant: true }

/** Ordered by lower-case name. */
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
  let scannedCount = 0
  while (compareKeys(range.from, range.to) < 0) {
    const missedCount = scannedCount - tables.length
    // As many as the page has room for, and the first one of the next page; more if few of them match.
    const chunkCount = Math.min(CHUNK_COUNT_MAX, countMax - tables.length + 1 + missedCount)
    const entries = yield* tx.scanFields({ ...range, countMax: chunkCount })
    const chunk = entries.map(({ value }) => decodeRecord<Table>(value))
    for (const table of chunk) {
      if (tables.length === countMax || scannedCount === SCAN_COUNT_MAX) {
        return { tables, next: table.name.toLowerCase() }
      }
      scannedCount += 1
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
