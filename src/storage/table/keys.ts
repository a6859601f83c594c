// All keys of the Table service. The keys of entities contain the id of their table, so deleting a table
// changes one record, and a new one of the same name starts empty. Entities are in the order of query results:
// by PartitionKey, then by RowKey.
import { encodeKey } from '../../kv/key.ts'
import { keyAfterPrefix, prefixRange, type Key, type KeyRange } from '../../kv/kv.ts'

/** → Table. Names of tables are case-insensitive, but keep their case. */
export function tableKey(account: string, name: string): Key {
  return encodeKey('table', account, name.toLowerCase())
}

/** The tables of an account, or of all; or the one with this name. */
export function tablesRange(account?: string, name?: string): KeyRange {
  if (account === undefined) return prefixRange(encodeKey('table'))
  return prefixRange(name === undefined ? encodeKey('table', account) : tableKey(account, name))
}

/** The first parts of the keys of an account's tables. */
export function tableKeyParts(account: string): readonly [string, string] {
  return ['table', account]
}

/** → the stamp and the properties of an Entity (entity-record.ts) */
export function entityKey(tableId: number, partitionKey: string, rowKey: string): Key {
  return encodeKey('entity', tableId, partitionKey, rowKey)
}

/** The first parts of the keys of a table's entities. */
export function entityKeyParts(tableId: number): readonly [string, number] {
  return ['entity', tableId]
}

/** The end of a partition. */
export function partitionEnd(tableId: number, partitionKey: string): Key {
  return keyAfterPrefix(encodeKey('entity', tableId, partitionKey))
}

/** All entities of a table. */
export function entityRange(tableId: number) {
  return prefixRange(encodeKey(...entityKeyParts(tableId)))
}

/** → {}: a deleted table whose entities are still to be swept */
export function deletedTableKey(tableId: number): Key {
  return encodeKey('deleted-table', tableId)
}

export const DELETED_TABLES = prefixRange(encodeKey('deleted-table'))
