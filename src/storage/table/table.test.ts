import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as fc from 'fast-check'
import { parseFilter } from './filter-parse.ts'
import { matchesTable } from './filter.ts'
import { ENGINES, tableWorld, outcomeOf, TABLE, text, type TableWorld } from './harness.ts'
import { getTable, listTables, requireTable, setTableAcl } from './table.ts'

const POLICIES = [{ id: 'a', policy: { permission: 'raud' } }]

const at = (table: string, account = 'account') => ({ account, table })

type ListTables = Parameters<typeof listTables>[2]

function list(world: TableWorld, options: Partial<ListTables> = {}) {
  return world.kv.read((tx) => listTables(tx, 'account', { countMax: 1_000, ...options }))
}

async function namesOf(world: TableWorld, filter: string): Promise<string[]> {
  const { tables } = await list(world, { filter: parseFilter(filter, 'table') })
  return tables.map(({ name }) => name)
}

for (const [engine, options] of ENGINES) {
  describe(engine, () => {
    test('names are case-insensitive and keep the case in which they were created', async () => {
      const world = await tableWorld(options)
      assert.equal(await outcomeOf(world.create(at('PEOPLE'))), 'TableAlreadyExists')
      const table = await world.kv.read((tx) => requireTable(tx, at('people')))
      assert.equal(table.name, 'People')
      await world.create(at('People', 'other'))
    })

    test('one of 20 concurrent creations of a table succeeds', async () => {
      const world = await tableWorld(options)
      const works = Array.from({ length: 20 }, () => outcomeOf(world.create(at('New'))))
      const outcomes = await Promise.all(works)
      assert.equal(outcomes.filter((outcome) => outcome === 'ok').length, 1)
      assert.equal(outcomes.filter((outcome) => outcome === 'TableAlreadyExists').length, 19)
    })

    test('the name of a deleted table is free at once, and the new table is empty', async () => {
      const world = await tableWorld(options)
      await world.write({ partitionKey: 'p', rowKey: 'r', kind: 'insert', properties: text('x') })
      await world.kv.write((tx) => setTableAcl(tx, TABLE, POLICIES))
      await world.drop(at('pEoPlE'))
      assert.equal(await world.kv.read((tx) => getTable(tx, TABLE)), undefined)
      assert.equal(await outcomeOf(world.drop()), 'ResourceNotFound')
      const table = await world.create(at('PEOPLE'))
      assert.deepEqual(table.policies, [])
      assert.equal(await outcomeOf(world.get('p', 'r')), 'ResourceNotFound')
    })

    test('an ACL is stored, and requires a table', async () => {
      const world = await tableWorld(options)
      await world.kv.write((tx) => setTableAcl(tx, at('people'), POLICIES))
      const table = await world.kv.read((tx) => requireTable(tx, TABLE))
      assert.deepEqual([table.name, table.policies], ['People', POLICIES])
      const missing = world.kv.write((tx) => setTableAcl(tx, at('None'), POLICIES))
      assert.equal(await outcomeOf(missing), 'TableNotFound')
    })
  })
}

// prettier-ignore
const FILTERS: readonly (readonly [string, readonly string[]])[] = [
  ['', ['Alpha', 'beta', 'Gamma', 'People']],
  [`TableName eq 'BETA'`, ['beta']],
  [`TableName ge 'b' and TableName lt 'h'`, ['beta', 'Gamma']],
  [`TableName gt 'gamma'`, ['People']],
  [`TableName ne 'alpha'`, ['beta', 'Gamma', 'People']],
  [`TableName eq 'alpha' or TableName eq 'people'`, ['Alpha', 'People']],
  [`not (TableName le 'beta')`, ['Gamma', 'People']],
  [`TableName eq 'none'`, []],
]

for (const [filter, expected] of FILTERS) {
  test(`Query Tables ${filter} → ${expected}`, async () => {
    const world = await tableWorld()
    for (const name of ['Gamma', 'Alpha', 'beta']) await world.create(at(name))
    await world.create(at('Foreign', 'other'))
    assert.deepEqual(await namesOf(world, filter), expected)
  })
}

test('all pages of tables together are complete, even if a table is deleted between them', async () => {
  const world = await tableWorld()
  const names = Array.from({ length: 30 }, (_, i) => `${i % 2 ? 'T' : 't'}able${i + 1}`)
  const sorted = names.toSorted((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1))
  for (const name of names) await world.create(at(name))
  const texts = [
    '',
    `TableName ge 'table15'`,
    `TableName ne 'table20'`,
    `TableName eq 'people' or TableName eq 'table9'`,
  ]
  const filters = texts.map((filter) => parseFilter(filter, 'table'))
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...filters),
      fc.integer({ min: 1, max: 40 }),
      async (filter, countMax) => {
        const found: string[] = []
        let start: string | undefined
        do {
          const page = await list(world, { filter, countMax, start })
          assert(page.tables.length <= countMax)
          found.push(...page.tables.map(({ name }) => name))
          start = page.next
        } while (start !== undefined)
        assert.deepEqual(
          found,
          ['People', ...sorted].filter((name) => matchesTable(filter, name)),
        )
      },
    ),
  )
  const { next } = await list(world, { countMax: 5 })
  await world.drop(at(next ?? ''))
  const rest = await list(world, { start: next })
  assert.deepEqual(
    rest.tables.map(({ name }) => name),
    sorted.slice(5),
  )
  assert.equal(rest.next, undefined)
})

test('a start can be longer than any name', async () => {
  const world = await tableWorld()
  assert.deepEqual((await list(world, { start: 'z'.repeat(5_000) })).tables, [])
  assert.equal((await list(world, { start: 'A'.repeat(5_000) })).tables.length, 1)
  const filter = parseFilter(`TableName lt 'b'`, 'table')
  assert.deepEqual((await list(world, { filter, start: 'c' })).tables, [])
})
