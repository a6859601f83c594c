// Reads and writes of single entities. Concurrency is optimistic: a write names the ETag of the state that the
// client has seen, or `*` for any. Upserts have no ETag.
import type { ReadTx, Step, Tx } from '../../kv/kv.ts'
import { StorageError, type ErrorCode } from '../shared/error.ts'
import { timestampOf } from '../shared/etag.ts'
import { nextStamp, type Moment } from '../../node/moment.ts'
import type { EdmProperties } from './edm.ts'
import { checkEntityKeys, checkEntitySize, checkProperties } from './entity-limit.ts'
import { decodeEntityRecord, encodeState, type Entity, type EntityKeys } from './entity-record.ts'
import { ENTITY_KEY_LENGTH_MAX } from './key-range.ts'
import { entityKey } from './keys.ts'
import { requireTable, type TableAddress } from './table.ts'

export type { Entity, EntityKeys } from './entity-record.ts'

/** The ETag from the client, or `*` for any existing entity. */
type ETagMatch = string

export type EntityWrite = EntityKeys &
  (
    | {
        readonly kind: 'insert' | 'upsertReplace' | 'upsertMerge'
        readonly properties: EdmProperties
      }
    | {
        readonly kind: 'replace' | 'merge'
        readonly properties: EdmProperties
        readonly ifMatch: ETagMatch
      }
    | { readonly kind: 'delete'; readonly ifMatch: ETagMatch }
  )

type Effect = 'create' | 'replace' | 'merge' | 'delete'
type Failure = Extract<ErrorCode, 'EntityAlreadyExists' | 'ResourceNotFound'>

// "Insert Entity", "Update Entity", …  on a missing entity  on an existing one
// prettier-ignore
const EFFECTS: Readonly<Record<EntityWrite['kind'], readonly [Effect | Failure, Effect | Failure]>> = {
  insert:        ['create',           'EntityAlreadyExists'],
  replace:       ['ResourceNotFound', 'replace'],
  merge:         ['ResourceNotFound', 'merge'],
  upsertReplace: ['create',           'replace'],
  upsertMerge:   ['create',           'merge'],
  delete:        ['ResourceNotFound', 'delete'],
}

/** Every write changes it, even within one millisecond. */
export function entityETag(stamp: number): string {
  return entityETagAt(timestampOf(stamp))
}

/** The same for callers that already have the Timestamp. */
export function entityETagAt(timestamp: string): string {
  return `W/"datetime'${timestamp.replaceAll(':', '%3A')}'"`
}

/** Clients send the ETag as they received it, or with its colons decoded. */
export function isETagOf(stamp: number, match: ETagMatch): boolean {
  if (match === '*') return true
  return match.replaceAll(/%3a/gi, ':') === `W/"datetime'${timestampOf(stamp)}'"`
}

export function* getEntity(tx: ReadTx, address: TableAddress, keys: EntityKeys): Step<Entity> {
  const table = yield* requireTable(tx, address)
  const entity = yield* findEntity(tx, table.id, keys)
  if (entity === undefined) throw new StorageError('ResourceNotFound')
  return entity
}

function* findEntity(tx: ReadTx, tableId: number, keys: EntityKeys): Step<Entity | undefined> {
  const { partitionKey, rowKey } = keys
  // No entity has such keys, and they would exceed the limit of the store.
  if (partitionKey.length > ENTITY_KEY_LENGTH_MAX || rowKey.length > ENTITY_KEY_LENGTH_MAX)
    return undefined
  const record = yield* tx.get(entityKey(tableId, partitionKey, rowKey))
  return record === undefined ? undefined : decodeEntityRecord(keys, record)
}

/** Returns the entity as written; undefined after a delete. */
export function* writeEntity(
  tx: Tx,
  address: TableAddress,
  write: EntityWrite,
  moment: Moment,
): Step<Entity | undefined> {
  checkEntityWrite(write)
  const table = yield* requireTable(tx, address)
  return yield* applyWrite(tx, table.id, write, moment)
}

/** The checks that don't need the table. */
export function checkEntityWrite(write: EntityWrite): void {
  const [onMissing] = EFFECTS[write.kind]
  if (onMissing === 'create') checkEntityKeys(write)
  if (write.kind !== 'delete') checkProperties(write, write.properties)
}

/** Runs a write that passed checkEntityWrite. */
export function* applyWrite(
  tx: Tx,
  tableId: number,
  write: EntityWrite,
  moment: Moment,
): Step<Entity | undefined> {
  const current = yield* findEntity(tx, tableId, write)
  const effect = EFFECTS[write.kind][current === undefined ? 0 : 1]
  if (effect === 'EntityAlreadyExists' || effect === 'ResourceNotFound') {
    throw new StorageError(effect)
  }
  if (current !== undefined && 'ifMatch' in write && !isETagOf(current.stamp, write.ifMatch)) {
    throw new StorageError('UpdateConditionNotSatisfied')
  }
  const { partitionKey, rowKey } = write
  const key = entityKey(tableId, partitionKey, rowKey)
  if (write.kind === 'delete') {
    tx.delete(key)
    return undefined
  }
  const properties =
    effect === 'merge' ? merged(write, current, write.properties) : write.properties
  const state = { stamp: nextStamp(current?.stamp, moment), properties }
  tx.put(key, encodeState(state))
  return { partitionKey, rowKey, ...state }
}

/** A merge keeps the properties that it doesn't name. Those that it names may change their type. */
function merged(
  keys: EntityKeys,
  current: Entity | undefined,
  properties: EdmProperties,
): EdmProperties {
  const result = { ...current?.properties, ...properties }
  checkEntitySize(keys, result)
  return result
}
