import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as fc from 'fast-check'
import { timestampOf } from '../shared/etag.ts'
import type { EdmProperties } from './edm.ts'
import { writeEntity, type Entity, type EntityKeys } from './entity.ts'
import { matchesFilter, type FilterExpression, type FilterOperator } from './filter.ts'
import { parseFilter } from './filter-parse.ts'
import { ENGINES, int, tableWorld, outcomeOf, TABLE, text, type TableWorld } from './harness.ts'
import { SCAN_COUNT_MAX, type EntityBounds, type QueryEntities } from './query.ts'

const MOMENT = { nowMs: 0, stamp: 1_024_000 }

/** Writes many entities in one transaction. */
async function fill(world: TableWorld, keys: Iterable<readonly [string, string, EdmProperties?]>) {
  const all = [...keys]
  await world.kv.write(function* (tx) {
    for (const [partitionKey, rowKey, properties = {}] of all) {
      const write = { partitionKey, rowKey, kind: 'upsertReplace', properties } as const
      yield* writeEntity(tx, TABLE, write, MOMENT)
    }
  })
}

const two = (i: number): string => String(i).padStart(2, '0')

/** 20 partitions p00 … p19 of 50 rows r00 … r49. */
function* grid(): Generator<readonly [string, string, EdmProperties]> {
  for (let p = 0; p < 20; p += 1) {
    for (let r = 0; r < 50; r += 1) yield [`p${two(p)}`, `r${two(r)}`, int('N', p * 50 + r)]
  }
}

async function readAll(world: TableWorld, query: QueryEntities): Promise<Entity[]> {
  const found: Entity[] = []
  let start: EntityKeys | undefined
  do {
    const page = await world.query(start === undefined ? query : { ...query, start })
    assert(page.entities.length <= query.countMax)
    found.push(...page.entities)
    start = page.next
  } while (start !== undefined)
  return found
}

// filter and $top → number of entities, whether there are more, and number of records read
// prettier-ignore
const COSTS: readonly (readonly [string, number, number, boolean, number])[] = [
  ['',                                                                     10, 10, true,  11],
  ['',                                                                  1_000, 1_000, false, 1_000],
  [`PartitionKey eq 'p07' and RowKey eq 'r11'`,                         1_000, 1, false, 1],
  [`PartitionKey eq 'p07' and RowKey eq 'none'`,                        1_000, 0, false, 0],
  [`PartitionKey eq 'p07'`,                                             1_000, 50, false, 50],
  [`PartitionKey eq 'p07'`,                                                50, 50, false, 50],
  [`PartitionKey eq 'p07'`,                                                49, 49, true, 50],
  [`PartitionKey eq 'p07' and RowKey ge 'r10' and RowKey lt 'r20'`,     1_000, 10, false, 10],
  [`PartitionKey eq 'p07' and RowKey ge 'r10' and RowKey lt 'r20'`,         5, 5, true, 6],
  [`PartitionKey ge 'p07' and PartitionKey le 'p08'`,                   1_000, 100, false, 100],
  [`PartitionKey eq 'p07' and N ge 395`,                                1_000, 5, false, 50],
  [`PartitionKey eq 'p03' or PartitionKey eq 'p05'`,                    1_000, 100, false, 150],
  [`PartitionKey lt 'p00'`,                                             1_000, 0, false, 0],
  [`PartitionKey eq 'a' and PartitionKey eq 'b'`,                       1_000, 0, false, 0],
  [`N eq 999`,                                                          1_000, 1, false, 1_000],
]

for (const [engine, options] of ENGINES) {
  describe(engine, () => {
    test('the cost of a page depends on its range of keys, not on the size of the table', async () => {
      const world = await tableWorld(options)
      await fill(world, grid())
      for (const [filter, countMax, count, hasNext, readCount] of COSTS) {
        const query = { filter: parseFilter(filter), countMax }
        const { page, readCount: read } = await world.queryCounted(query)
        const actual = [page.entities.length, page.next !== undefined, read]
        assert.deepEqual(actual, [count, hasNext, readCount], `${filter} ${countMax}`)
      }
    })

    test('all pages together contain the same as a full scan', async () => {
      const world = await tableWorld(options)
      await fc.assert(
        fc.asyncProperty(
          fc.array(anEntity, { maxLength: 40 }),
          aFilter,
          someBounds,
          fc.integer({ min: 1, max: 12 }),
          async (given, filter, keyRange, countMax) => {
            await world.drop()
            await world.create()
            await fill(world, given)
            const found = await readAll(world, { filter, keyRange, countMax })
            assert.deepEqual(found, model(given, filter, keyRange))
          },
        ),
        { numRuns: 300 },
      )
    })
  })
}

const aKey = fc.oneof(
  fc.constantFrom('', 'a', 'ab', 'b', 'B', 'ä', '😀', '\uffff'),
  fc.string({ unit: fc.constantFrom('-', 'a', 'b', 'ü'), maxLength: 3 }),
)

const anEntity = fc
  .tuple(aKey, aKey, fc.integer({ min: 0, max: 4 }))
  .map(([p, r, n]) => [p, r, { ...int('N', n), ...text(p) }] as const)

const anOperator = fc.constantFrom<FilterOperator[]>('eq', 'ne', 'gt', 'ge', 'lt', 'le')

const aComparison: fc.Arbitrary<FilterExpression> = fc.oneof(
  fc.record({
    property: fc.constantFrom('PartitionKey', 'RowKey', 'Text', 'Missing'),
    operator: anOperator,
    value: aKey.map((value) => ({ type: 'Edm.String', value }) as const),
  }),
  fc.record({
    property: fc.constant('N'),
    operator: anOperator,
    value: fc.nat(4).map((value) => ({ type: 'Edm.Int32', value }) as const),
  }),
  fc.record({
    property: fc.constant('Timestamp'),
    operator: anOperator,
    value: fc.constant({ type: 'Edm.DateTime', value: timestampOf(MOMENT.stamp) } as const),
  }),
)

const aFilter: fc.Arbitrary<FilterExpression> = fc.letrec<{ filter: FilterExpression }>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 3 },
    { arbitrary: aComparison, weight: 3 },
    {
      arbitrary: fc.record({ all: fc.array(tie('filter'), { minLength: 1, maxLength: 3 }) }),
      weight: 2,
    },
    {
      arbitrary: fc.record({ any: fc.array(tie('filter'), { minLength: 1, maxLength: 3 }) }),
      weight: 1,
    },
    { arbitrary: fc.record({ not: tie('filter') }), weight: 1 },
    { arbitrary: fc.record({ constant: fc.boolean() }), weight: 1 },
  ),
})).filter

const someBounds: fc.Arbitrary<EntityBounds> = fc.record(
  { startPartitionKey: aKey, startRowKey: aKey, endPartitionKey: aKey, endRowKey: aKey },
  { requiredKeys: [] },
)

function model(
  given: readonly (readonly [string, string, EdmProperties])[],
  filter: FilterExpression,
  bounds: EntityBounds,
): Entity[] {
  const entities = new Map<string, Entity>()
  for (const [partitionKey, rowKey, properties] of given) {
    const key = JSON.stringify([partitionKey, rowKey])
    // A second write with the same moment gets the next stamp.
    const stamp = (entities.get(key)?.stamp ?? MOMENT.stamp - 1) + 1
    entities.set(key, { partitionKey, rowKey, stamp, properties })
  }
  return [...entities.values()]
    .filter((entity) => isAllowed(entity, bounds) && matchesFilter(filter, timed(entity)))
    .sort((a, b) => order(a.partitionKey, b.partitionKey) || order(a.rowKey, b.rowKey))
}

const timed = (entity: Entity) => {
  return {
    ...entity,
    timestamp: { type: 'Edm.DateTime', value: timestampOf(entity.stamp) } as const,
  }
}

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

function isAllowed({ partitionKey, rowKey }: Entity, bounds: EntityBounds): boolean {
  const { startPartitionKey: sp, startRowKey: sr = '', endPartitionKey: ep, endRowKey: er } = bounds
  const isFrom = sp === undefined || partitionKey > sp || (partitionKey === sp && rowKey >= sr)
  const isTo = ep === undefined || partitionKey < ep
  return isFrom && (isTo || (partitionKey === ep && (er === undefined || rowKey <= er)))
}

test('a long scan is split into pages', async () => {
  const world = await tableWorld()
  const rows = Array.from({ length: SCAN_COUNT_MAX + 1_500 }, (_, i) => String(i).padStart(6, '0'))
  await fill(
    world,
    rows.map((row) => ['p', row, int('N', Number(row))] as const),
  )
  const filter = parseFilter('N ge 11400')
  const first = await world.query({ filter, countMax: 1_000 })
  assert.deepEqual(first, { entities: [], next: { partitionKey: 'p', rowKey: '010000' } })
  const second = await world.query({ filter, countMax: 1_000, start: first.next })
  assert.equal(second.entities.length, 100)
  assert.equal(second.next, undefined)
})

test('a page that takes several scans misses no entity', async () => {
  const world = await tableWorld()
  const rows = Array.from({ length: 500 }, (_, i) => '-'.repeat(i))
  await fill(
    world,
    rows.map((row) => ['p', row] as const),
  )
  const { entities } = await world.query({ countMax: 1_000 })
  assert.deepEqual(
    entities.map(({ rowKey }) => rowKey),
    rows,
  )
})

test('the size of a page in bytes is limited', async () => {
  const world = await tableWorld()
  const value = { type: 'Edm.String', value: 'x'.repeat(30_000) } as const
  const properties: EdmProperties = Object.fromEntries(
    Array.from({ length: 10 }, (_, i) => [`P${i}`, value]),
  )
  await fill(
    world,
    Array.from({ length: 70 }, (_, i) => ['p', two(i), properties] as const),
  )
  const page = await world.query({ countMax: 1_000 })
  assert(page.entities.length < 60, `${page.entities.length}`)
  assert.equal((await readAll(world, { countMax: 1_000 })).length, 70)
})

test('a query skips the rest of a partition after the range of rows', async () => {
  const world = await tableWorld()
  const large = Array.from({ length: 5_000 }, (_, i) => ['a', `r${i}`] as const)
  await fill(world, [...large, ['b', 'q'], ['b', 'r1'], ['c', 'r1']])
  const query = { filter: parseFilter(`RowKey eq 'r1'`), countMax: 1_000 }
  const { page, readCount } = await world.queryCounted(query)
  const partitions = page.entities.map(({ partitionKey }) => partitionKey)
  assert.deepEqual(partitions, ['a', 'b', 'c'])
  assert(readCount < 600, `${readCount}`)
})

test('a page costs the same in large and small tables', async () => {
  const counts: number[] = []
  for (const size of [1_000, 50_000]) {
    const world = await tableWorld()
    const keys = Array.from({ length: size }, (_, i) => [`p${i % 100}`, `${i}`] as const)
    await fill(world, keys)
    const filter = parseFilter(`PartitionKey eq 'p5' and RowKey ge '1'`)
    counts.push((await world.queryCounted({ filter, countMax: 5 })).readCount)
  }
  assert.deepEqual(counts, [6, 6])
})

test('a page starts where the last one ended, whatever was deleted or inserted meanwhile', async () => {
  const world = await tableWorld()
  await fill(world, grid())
  const first = await world.query({ countMax: 10 })
  assert.deepEqual(first.next, { partitionKey: 'p00', rowKey: 'r10' })
  for (const rowKey of ['r09', 'r10', 'r11']) {
    await world.write({ partitionKey: 'p00', rowKey, kind: 'delete', ifMatch: '*' })
  }
  await fill(world, [
    ['p00', 'r05x'],
    ['p00', 'r10x'],
  ])
  const second = await world.query({ countMax: 3, start: first.next })
  const rows = second.entities.map(({ rowKey }) => rowKey)
  assert.deepEqual(rows, ['r10x', 'r12', 'r13'])
})

test('a start can be a partition only, or longer than any key', async () => {
  const world = await tableWorld()
  await fill(world, [...grid(), ['p19', 'r'.repeat(512)], ['q'.repeat(512), 'r00']])
  const firstOf = async (start: QueryEntities['start']) => {
    const [entity] = (await world.query({ countMax: 1, start })).entities
    return entity && `${entity.partitionKey} ${entity.rowKey}`
  }
  assert.equal(await firstOf({ partitionKey: 'p19' }), 'p19 r00')
  assert.equal(await firstOf({ partitionKey: 'p18', rowKey: 's' }), 'p19 r00')
  assert.equal(await firstOf({ partitionKey: 'o'.repeat(5_000), rowKey: 'x' }), 'p00 r00')
  const last = `${'q'.repeat(512)} r00`
  assert.equal(await firstOf({ partitionKey: 'p19', rowKey: 'r'.repeat(513) }), last)
  assert.equal(await firstOf({ partitionKey: 'q'.repeat(513) }), undefined)
})

test('the bounds of a SAS can be longer than any key', async () => {
  const world = await tableWorld()
  const long = `p05${'x'.repeat(5_000)}`
  await fill(world, [...grid(), [long.slice(0, 512), 'r00']])
  const from = await world.query({ countMax: 1, keyRange: { startPartitionKey: long } })
  assert.equal(from.entities[0]?.partitionKey, 'p06')
  const to = await readAll(world, { countMax: 1_000, keyRange: { endPartitionKey: long } })
  assert.equal(to.length, 301)
})

test('a query of a missing table → TableNotFound', async () => {
  const world = await tableWorld()
  await world.drop()
  assert.equal(await outcomeOf(world.query({ countMax: 1 })), 'TableNotFound')
})
