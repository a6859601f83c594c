// Every key of the Table service. A table's entities are found by its id, so deleting it is one record and a
// new one of the same name starts empty. Entities stand in the order in which queries answer: by PartitionKey
// and then by RowKey.
import { encodeKey } from '../../kv/key.ts'
import { keyAfterPrefix, prefixRange, type Key } from '../../kv/kv.ts'

/** → Table. The names of tables have no case, and keep the one that they were created with. */
export function tableKey(account: string, name: string): Key {
  return encodeKey('table', account, name.toLowerCase())
}

/** What the keys of an account's tables begin with. */
export function tableKeyParts(account: string): readonly [string, string] {
  return ['table', account]
}

/** → the stamp and the properties of an Entity */
export function entityKey(tableId: number, partitionKey: string, rowKey: string): Key {
  return encodeKey('entity', tableId, partitionKey, rowKey)
}

/** What the keys of a table's entities begin with. */
export function entityKeyParts(tableId: number): readonly [string, number] {
  return ['entity', tableId]
}

/** Behind the last entity of a partition. */
export function partitionEnd(tableId: number, partitionKey: string): Key {
  return keyAfterPrefix(encodeKey('entity', tableId, partitionKey))
}

/** The entities of a table. */
export function entityRange(tableId: number) {
  return prefixRange(encodeKey(...entityKeyParts(tableId)))
}

/** → {}: a table that is gone and whose entities are still to be swept */
export function deletedTableKey(tableId: number): Key {
  return encodeKey('deleted-table', tableId)
}

export const DELETED_TABLES = prefixRange(encodeKey('deleted-table'))
