// Entities: reading one and writing one. Concurrency is optimistic: who writes says by an ETag which state
// was seen, or with `*` or an upsert that it doesn't matter.
import type { ReadTx, Step, Tx } from '../../kv/kv.ts'
import { StorageError, type ErrorCode } from '../shared/error.ts'
import { timestampOf } from '../shared/etag.ts'
import { nextStamp, type Moment } from '../../node/moment.ts'
import type { EdmProperties } from './edm.ts'
import { checkEntityKeys, checkEntitySize, checkProperties } from './entity-limit.ts'
import { decodeEntity, encodeState, type Entity, type EntityKeys } from './entity-record.ts'
import { KEY_LENGTH_MAX } from './key-range.ts'
import { entityKey } from './keys.ts'
import { requireTable, type TableAddress } from './table.ts'

export type { Entity, EntityKeys } from './entity-record.ts'

/** An entity's ETag as the client has it, or `*`: any that is there. */
export type ETagMatch = string

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
type Refusal = Extract<ErrorCode, 'EntityAlreadyExists' | 'ResourceNotFound'>

// "Insert Entity", "Update Entity", …  on a missing entity  on one that is there
// prettier-ignore
const EFFECTS: Readonly<Record<EntityWrite['kind'], readonly [Effect | Refusal, Effect | Refusal]>> = {
  insert:        ['create',           'EntityAlreadyExists'],
  replace:       ['ResourceNotFound', 'replace'],
  merge:         ['ResourceNotFound', 'merge'],
  upsertReplace: ['create',           'replace'],
  upsertMerge:   ['create',           'merge'],
  delete:        ['ResourceNotFound', 'delete'],
}

/** Every write makes another one, also in one tick of the clock. */
export function entityETag(stamp: number): string {
  return entityETagAt(timestampOf(stamp))
}

/** The same for who has the Timestamp already. */
export function entityETagAt(timestamp: string): string {
  return `W/"datetime'${timestamp.replaceAll(':', '%3A')}'"`
}

/** Clients send an ETag as they got it or with the colons of the time that it is. */
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
  // No entity has such keys, and the store has no room for them.
  if (partitionKey.length > KEY_LENGTH_MAX || rowKey.length > KEY_LENGTH_MAX) return undefined
  const record = yield* tx.get(entityKey(tableId, partitionKey, rowKey))
  return record === undefined ? undefined : decodeEntity(keys, record)
}

/** The entity as it is now; nothing after a delete. */
export function* writeEntity(
  tx: Tx,
  address: TableAddress,
  write: EntityWrite,
  moment: Moment,
): Step<Entity | undefined> {
  checkWrite(write)
  const table = yield* requireTable(tx, address)
  return yield* applyWrite(tx, table.id, write, moment)
}

/** What can be said of a write without looking at the table. */
export function checkWrite(write: EntityWrite): void {
  const [onMissing] = EFFECTS[write.kind]
  if (onMissing === 'create') checkEntityKeys(write)
  if (write.kind !== 'delete') checkProperties(write, write.properties)
}

/** A write that checkWrite let pass. */
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

/** A merge keeps what it doesn't name, and a property that it names takes on the new type as well. */
function merged(
  keys: EntityKeys,
  current: Entity | undefined,
  properties: EdmProperties,
): EdmProperties {
  const result = { ...current?.properties, ...properties }
  checkEntitySize(keys, result)
  return result
}
