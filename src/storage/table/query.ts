// Query Entities: the entities that match a filter, page by page, in the order of their keys. Bounds on the
// keys become the range that is read; what they don't decide is looked at one by one, and a page ends when
// it has looked at much, as the service's do after five seconds: it may be short, or empty, and have a next.
import assert from 'node:assert/strict'
import { compareKeys } from '../../kv/key.ts'
import { keyAfterPrefix, type Entry, type Key, type ReadTx, type Step } from '../../kv/kv.ts'
import { giveWay } from '../../kv/paced.ts'
import { timestampOf } from '../shared/etag.ts'
import type { EdmProperties, EdmValue } from './edm.ts'
import { decodeEntity, decodeEntityKey, type Entity, type EntityKeys } from './entity-record.ts'
import { matchesFilter, type FilterEntity, type FilterExpression } from './filter.ts'
import {
  KEY_LENGTH_MAX,
  keyRangeOf,
  scanRangeOf,
  type KeyRange,
  type StringRange,
} from './key-range.ts'
import { entityKey, entityKeyParts, partitionEnd } from './keys.ts'
import { requireTable, type TableAddress } from './table.ts'

/** Both ends are included; a row key bounds only the rows of the partition at that end. */
export type EntityBounds = {
  readonly startPartitionKey?: string
  readonly startRowKey?: string
  readonly endPartitionKey?: string
  readonly endRowKey?: string
}

export type QueryEntities = {
  readonly filter?: FilterExpression | undefined
  /** Where the page begins, whether an entity is still there or not. */
  readonly start?:
    { readonly partitionKey: string; readonly rowKey?: string | undefined } | undefined
  readonly countMax: number
  /** What a SAS lets see: the rest is as if it weren't there. */
  readonly keyRange?: EntityBounds | undefined
}

export type EntityPage = {
  readonly entities: readonly Entity[]
  readonly next: EntityKeys | undefined
}

/** A page that has looked at so much ends: others wait for it. */
export const LOOK_COUNT_MAX = 10_000
const LOOK_BYTES_MAX = 16 * 1024 * 1024
/** Read at once. Most queries end with the first chunk; a long filter takes a tenth of a millisecond for each entity. */
const FIRST_CHUNK_COUNT_MAX = 256
const CHUNK_COUNT_MAX = 64

const EVERY_ENTITY: FilterExpression = { constant: true }

export function* queryEntities(
  tx: ReadTx,
  address: TableAddress,
  query: QueryEntities,
): Step<EntityPage> {
  assert(query.countMax > 0, 'a page has room for an entity')
  const table = yield* requireTable(tx, address)
  const { filter = EVERY_ENTITY, countMax } = query
  const keyRange = keyRangeOf(filter)
  const page: Page = { filter, rows: keyRange.row, countMax, ...EMPTY, entities: [] }
  const { from, to } = boundsOf(table.id, keyRange, query)
  let at = from
  while (compareKeys(at, to) < 0) {
    const range = { from: at, to, countMax: chunkCountOf(page) }
    const entries = yield* tx.scan(range)
    const chunk = entries.map((entry) => look(page, entry))
    const last = chunk.at(-1)
    if (page.next !== undefined || last === undefined || chunk.length < range.countMax) break
    at = keyBehind(table.id, last, page.rows)
    yield* giveWay()
  }
  return { entities: page.entities, next: page.next }
}

type Page = {
  readonly filter: FilterExpression
  readonly rows: StringRange
  readonly countMax: number
  readonly entities: Entity[]
  lookedCount: number
  lookedBytes: number
  /** The first entity that it has no room for, whether that matches or not. */
  next: EntityKeys | undefined
}

const EMPTY = { lookedCount: 0, lookedBytes: 0, next: undefined } as const

/** As many as are missing, and one to begin the next page with; more where few of them match. */
function chunkCountOf({ countMax, entities, lookedCount }: Page): number {
  const missedCount = lookedCount - entities.length
  const chunkCountMax = lookedCount === 0 ? FIRST_CHUNK_COUNT_MAX : CHUNK_COUNT_MAX
  return Math.min(countMax - entities.length + 1 + missedCount, chunkCountMax)
}

function look(page: Page, { key, value }: Entry): EntityKeys | undefined {
  if (page.next !== undefined) return undefined
  const keys = decodeEntityKey(key)
  if (isFull(page)) {
    page.next = keys
    return keys
  }
  page.lookedCount += 1
  if (isBefore(keys.rowKey, page.rows) || isBehind(keys.rowKey, page.rows)) return keys
  page.lookedBytes += value.value.length
  const entity = decodeEntity(keys, value)
  if (matches(page.filter, entity)) page.entities.push(entity)
  return keys
}

function isFull({ countMax, entities, lookedCount, lookedBytes }: Page): boolean {
  return (
    entities.length === countMax || lookedCount >= LOOK_COUNT_MAX || lookedBytes >= LOOK_BYTES_MAX
  )
}

function matches(filter: FilterExpression, entity: Entity): boolean {
  if ('constant' in filter) return filter.constant
  return matchesFilter(filter, new Filtered(entity))
}

/** A class, because there is one for each entity: a getter of an object is made with it. */
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

  /** Few filters ask for it. */
  get timestamp(): EdmValue {
    return { type: 'Edm.DateTime', value: timestampOf(this.#stamp) }
  }
}

function isBefore(rowKey: string, { from }: StringRange): boolean {
  return rowKey < from
}

function isBehind(rowKey: string, { to }: StringRange): boolean {
  return to !== undefined && rowKey >= to
}

/** The next key that the filter leaves possible: a large partition is left when its rows are past. */
function keyBehind(tableId: number, { partitionKey, rowKey }: EntityKeys, rows: StringRange): Key {
  if (isBefore(rowKey, rows)) return entityKey(tableId, partitionKey, rows.from)
  if (isBehind(rowKey, rows)) return entityKey(tableId, `${partitionKey}\0`, rows.from)
  return keyAfterPrefix(entityKey(tableId, partitionKey, rowKey))
}

/** What the filter, the page's start and the SAS have in common. */
function boundsOf(
  tableId: number,
  keyRange: KeyRange,
  { start, keyRange: allowed = {} }: QueryEntities,
): { readonly from: Key; readonly to: Key } {
  let { from, to } = scanRangeOf(keyRange, entityKeyParts(tableId))
  const { startPartitionKey, startRowKey, endPartitionKey, endRowKey } = allowed
  const keyOf = (partitionKey: string, rowKey: string): Key =>
    entityKey(tableId, shortened(partitionKey), shortened(rowKey))
  if (start !== undefined) from = later(from, keyOf(start.partitionKey, start.rowKey ?? ''))
  if (startPartitionKey !== undefined) {
    from = later(from, keyOf(startPartitionKey, startRowKey ?? ''))
  }
  if (endPartitionKey !== undefined) {
    const end =
      endRowKey === undefined
        ? partitionEnd(tableId, shortened(endPartitionKey))
        : keyAfterPrefix(keyOf(endPartitionKey, endRowKey))
    to = compareKeys(end, to) < 0 ? end : to
  }
  return { from, to }
}

function later(a: Key, b: Key): Key {
  return compareKeys(a, b) < 0 ? b : a
}

/** Keys are no longer than the limit, so this bounds the same ones; the store has no room for others. */
function shortened(text: string): string {
  return text.length <= KEY_LENGTH_MAX ? text : `${text.slice(0, KEY_LENGTH_MAX)}\0`
}
