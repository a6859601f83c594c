// Query Entities: the entities that match a filter, page by page, ordered by key. Conditions on the keys limit
// the range that is scanned; each entity in it is compared with the filter. A page ends after a number of
// entities, as the service's do after five seconds, so it may be short or empty and still have a next page.
import assert from 'node:assert/strict'
import { compareKeys, earlierKey, laterKey } from '../../kv/key.ts'
import { keyAfterPrefix, type Entry, type Key, type ReadTx, type Step } from '../../kv/kv.ts'
import { giveWay } from '../../kv/step.ts'
import { timestampOf } from '../shared/etag.ts'
import type { EdmProperties, EdmValue } from './edm.ts'
import {
  decodeEntityRecord,
  decodeEntityKey,
  type Entity,
  type EntityKeys,
} from './entity-record.ts'
import { matchesFilter, type FilterEntity, type FilterExpression } from './filter.ts'
import {
  entityKeyRangeOf,
  keyBound,
  scanRangeOf,
  type EntityKeyRange,
  type StringRange,
} from './key-range.ts'
import { entityKey, entityKeyParts, partitionEnd } from './keys.ts'
import { requireTable, type TableAddress } from './table.ts'

/** Both ends are inclusive. A row key limits only the partition at that end. */
export type EntityBounds = {
  readonly startPartitionKey?: string
  readonly startRowKey?: string
  readonly endPartitionKey?: string
  readonly endRowKey?: string
}

export type QueryEntities = {
  readonly filter?: FilterExpression | undefined
  /** Where the page starts. The entity need not exist any more. */
  readonly start?:
    { readonly partitionKey: string; readonly rowKey?: string | undefined } | undefined
  readonly countMax: number
  /** The entities that a SAS permits; the others are invisible. */
  readonly keyRange?: EntityBounds | undefined
}

type EntityPage = {
  readonly entities: readonly Entity[]
  readonly next: EntityKeys | undefined
}

/** A page ends after reading this much, since others wait for it. */
export const SCAN_COUNT_MAX = 10_000
const SCAN_BYTES_MAX = 16 * 1024 * 1024
/** Entities per scan. Most queries end with the first; a long filter takes a tenth of a millisecond per entity. */
const FIRST_CHUNK_COUNT_MAX = 256
const CHUNK_COUNT_MAX = 64

/** Few, because a filter may have hundreds of conditions. */
const GIVE_WAY_COUNT = 8

const EVERY_ENTITY: FilterExpression = { constant: true }

export function* queryEntities(
  tx: ReadTx,
  address: TableAddress,
  query: QueryEntities,
): Step<EntityPage> {
  assert(query.countMax > 0, 'a page has room for an entity')
  const table = yield* requireTable(tx, address)
  const { filter = EVERY_ENTITY, countMax } = query
  const keyRange = entityKeyRangeOf(filter)
  const page: Page = { filter, rows: keyRange.row, countMax, ...EMPTY, entities: [] }
  const { from, to } = boundsOf(table.id, keyRange, query)
  let at = from
  while (compareKeys(at, to) < 0) {
    const range = { from: at, to, countMax: chunkCountOf(page), ahead: FIRST_CHUNK_COUNT_MAX }
    const entries = yield* tx.scan(range)
    let last: EntityKeys | undefined
    for (const entry of entries) {
      last = addEntity(page, entry)
      if (page.scannedCount % GIVE_WAY_COUNT === 0) yield* giveWay()
    }
    if (page.next !== undefined || last === undefined || entries.length < range.countMax) break
    at = nextKey(table.id, last, page.rows)
  }
  return { entities: page.entities, next: page.next }
}

type Page = {
  readonly filter: FilterExpression
  readonly rows: StringRange
  readonly countMax: number
  readonly entities: Entity[]
  scannedCount: number
  scannedBytes: number
  /** The first entity of the next page, whether it matches or not. */
  next: EntityKeys | undefined
}

const EMPTY = { scannedCount: 0, scannedBytes: 0, next: undefined } as const

/** As many as the page has room for, and the first one of the next page; more if few of them match. */
function chunkCountOf({ countMax, entities, scannedCount }: Page): number {
  const missedCount = scannedCount - entities.length
  const chunkCountMax = scannedCount === 0 ? FIRST_CHUNK_COUNT_MAX : CHUNK_COUNT_MAX
  return Math.min(countMax - entities.length + 1 + missedCount, chunkCountMax)
}

/** Adds the entity to the page if it matches. */
function addEntity(page: Page, { key, value }: Entry): EntityKeys | undefined {
  if (page.next !== undefined) return undefined
  const keys = decodeEntityKey(key)
  if (isFull(page)) {
    page.next = keys
    return keys
  }
  page.scannedCount += 1
  if (isBefore(keys.rowKey, page.rows) || isAfter(keys.rowKey, page.rows)) return keys
  page.scannedBytes += value.value.length
  const entity = decodeEntityRecord(keys, value)
  if (matches(page.filter, entity)) page.entities.push(entity)
  return keys
}

function isFull({ countMax, entities, scannedCount, scannedBytes }: Page): boolean {
  return (
    entities.length === countMax || scannedCount >= SCAN_COUNT_MAX || scannedBytes >= SCAN_BYTES_MAX
  )
}

function matches(filter: FilterExpression, entity: Entity): boolean {
  if ('constant' in filter) return filter.constant
  return matchesFilter(filter, new Filtered(entity))
}

/** A class, since there is one per entity: an object literal would create its getter each time. */
class Filtered implements FilterEntity {
  readonly partitionKey: string
  readonly rowKey: string
  readonly properties: EdmProperties
  readonly #stamp: number

  constructor({ partitionKey, rowKey, stamp, properties }: Entity) {
    this.partitionKey = partitionKey
    this.rowKey = rowKey
    this.properties = properties
    this.#stamp = stamp
  }

  /** On demand: few filters use it. */
  get timestamp(): EdmValue {
    return { type: 'Edm.DateTime', value: timestampOf(this.#stamp) }
  }
}

function isBefore(rowKey: string, { from }: StringRange): boolean {
  return rowKey < from
}

function isAfter(rowKey: string, { to }: StringRange): boolean {
  return to !== undefined && rowKey >= to
}

/** The next key that can match. Skips the rest of a partition after the range of rows. */
function nextKey(tableId: number, { partitionKey, rowKey }: EntityKeys, rows: StringRange): Key {
  if (isBefore(rowKey, rows)) return entityKey(tableId, partitionKey, rows.from)
  if (isAfter(rowKey, rows)) return entityKey(tableId, `${partitionKey}\0`, rows.from)
  return keyAfterPrefix(entityKey(tableId, partitionKey, rowKey))
}

/** The intersection of filter, start of the page and SAS. */
function boundsOf(
  tableId: number,
  keyRange: EntityKeyRange,
  { start, keyRange: allowed = {} }: QueryEntities,
): { readonly from: Key; readonly to: Key } {
  let { from, to } = scanRangeOf(keyRange, entityKeyParts(tableId))
  const { startPartitionKey, startRowKey, endPartitionKey, endRowKey } = allowed
  const keyOf = (partitionKey: string, rowKey: string): Key =>
    entityKey(tableId, keyBound(partitionKey), keyBound(rowKey))
  if (start !== undefined) from = laterKey(from, keyOf(start.partitionKey, start.rowKey ?? ''))
  if (startPartitionKey !== undefined) {
    from = laterKey(from, keyOf(startPartitionKey, startRowKey ?? ''))
  }
  if (endPartitionKey !== undefined) {
    const end =
      endRowKey === undefined
        ? partitionEnd(tableId, keyBound(endPartitionKey))
        : keyAfterPrefix(keyOf(endPartitionKey, endRowKey))
    to = earlierKey(end, to)
  }
  return { from, to }
}
