import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { entityETag, type EntityWrite } from './entity.ts'
import { ENGINES, int, tableWorld, text, type TableWorld } from './harness.ts'
import { TransactionError } from './transaction.ts'

const insert = (rowKey: string, partitionKey = 'p'): EntityWrite => {
  return { partitionKey, rowKey, kind: 'insert', properties: text(rowKey) }
}

const STALE = `W/"datetime'2020-01-01T00%3A00%3A00.0000000Z'"`
const OLD = { partitionKey: 'p', rowKey: 'old' }

async function failureOf(work: Promise<unknown>) {
  try {
    await work
  } catch (error) {
    assert(error instanceof TransactionError, String(error))
    return { at: error.failedAt, code: error.code, status: error.status, message: error.message }
  }
  return undefined
}

async function rowsOf(world: TableWorld): Promise<string[]> {
  const { entities } = await world.query({ countMax: 1_000 })
  return entities.map(({ rowKey }) => rowKey)
}

const many = (count: number): EntityWrite[] => {
  return Array.from({ length: count }, (_, i) => insert(`${i}`))
}

// Writes to a table with the row `old` → index, code, status and start of the message
// prettier-ignore
const FAILURES: readonly (readonly [string, readonly EntityWrite[], number, string, number, string])[] = [
  ['inserting an existing row',    [insert('a'), insert('old'), insert('b')],                              1, 'EntityAlreadyExists', 409, '1:The specified entity already exists.'],
  ['deleting a missing row',       [insert('a'), insert('b'), { partitionKey: 'p', rowKey: 'x', kind: 'delete', ifMatch: '*' }], 2, 'ResourceNotFound', 404, '2:The specified resource does not exist.'],
  ['a stale ETag',                 [{ ...OLD, kind: 'merge', properties: {}, ifMatch: STALE }, insert('a')], 0, 'UpdateConditionNotSatisfied', 412, '0:The update condition specified in the request was not satisfied.'],
  ['a row twice',                  [insert('a'), insert('b'), insert('a')],                                2, 'InvalidDuplicateRow', 400, '2:The batch request contains multiple changes with same row key.'],
  ['a row deleted and inserted',   [{ ...OLD, kind: 'delete', ifMatch: '*' }, insert('old')],              1, 'InvalidDuplicateRow', 400, '1:'],
  ['two partitions',               [insert('a'), insert('b', 'q')],                                        1, 'CommandsInBatchActOnDifferentPartitions', 400, '1:All commands in a batch must operate on same entity group.'],
  ['101 writes',                   many(101),                                                              99, 'InvalidInput', 400, '99:The batch request operation exceeds the maximum 100 changes per change set.'],
  ['a key with a slash',           [insert('a'), insert('b/c')],                                           1, 'OutOfRangeInput', 400, `1:The 'RowKey' parameter of value 'b/c' is out of range.`],
  ['a value that is too large',    [insert('a'), { partitionKey: 'p', rowKey: 'b', kind: 'insert', properties: text('x'.repeat(33_000)) }], 1, 'PropertyValueTooLarge', 400, '1:The property value exceeds the maximum allowed size (64KB).'],
]

for (const [engine, options] of ENGINES) {
  describe(engine, () => {
    test('a transaction can contain every kind of write', async () => {
      const world = await tableWorld(options)
      await world.writeAll([insert('1'), insert('2'), insert('3'), insert('4')])
      const { stamp } = await world.get('p', '1')
      const p = { partitionKey: 'p' }
      const properties = int('New', 1)
      const written = await world.writeAll([
        { ...p, rowKey: '1', kind: 'merge', properties, ifMatch: entityETag(stamp) },
        { ...p, rowKey: '2', kind: 'replace', properties, ifMatch: '*' },
        { ...p, rowKey: '3', kind: 'delete', ifMatch: '*' },
        { ...p, rowKey: '4', kind: 'upsertMerge', properties },
        { ...p, rowKey: '5', kind: 'upsertReplace', properties },
        { ...p, rowKey: '6', kind: 'insert', properties },
      ])
      const { entities } = await world.query({ countMax: 10 })
      assert.deepEqual(
        entities,
        written.filter((entity) => entity !== undefined),
      )
      assert.equal(written[2], undefined)
      assert.deepEqual(
        entities.map(({ properties: { Text, New } }) => [Text?.value, New?.value]),
        [
          ['1', 1],
          [undefined, 1],
          ['4', 1],
          [undefined, 1],
          [undefined, 1],
        ],
      )
    })

    test('transactions on overlapping rows are atomic', async () => {
      const world = await tableWorld(options)
      const rows = ['a', 'b', 'c', 'd']
      await world.writeAll(rows.map((row) => insert(row)))
      const batch = async (i: number): Promise<void> => {
        // Each writes three of the four rows, in a different order.
        const chosen = [0, 1, 2].map((k) => rows[(i + k) % 4] ?? '')
        const writes = chosen.map((rowKey): EntityWrite => {
          return { partitionKey: 'p', rowKey, kind: 'upsertReplace', properties: int('By', i) }
        })
        await world.writeAll([...writes, insert(`log ${i}`)])
      }
      await Promise.all(Array.from({ length: 60 }, (_, i) => batch(i)))
      const { entities } = await world.query({ countMax: 1_000 })
      assert.equal(entities.length, 64)
      const by = entities.slice(0, 4).map(({ properties }) => Number(properties['By']?.value))
      // The last transaction wrote three of the four rows.
      const counts = by.map((i) => by.filter((j) => j === i).length)
      assert(counts.includes(3), `${by}`)
    })

    test('one of several transactions that insert the same row succeeds, and the others write nothing', async () => {
      const world = await tableWorld(options)
      const works = Array.from({ length: 20 }, (_, i) =>
        failureOf(world.writeAll([insert(`${i} first`), insert('same'), insert(`${i} last`)])),
      )
      const failures = await Promise.all(works)
      const winner = failures.indexOf(undefined)
      assert.deepEqual(
        (await rowsOf(world)).toSorted(),
        [`${winner} first`, `${winner} last`, 'same'].toSorted(),
      )
      for (const failure of failures.toSpliced(winner, 1)) {
        assert.equal(failure?.code, 'EntityAlreadyExists')
        assert.equal(failure?.at, 1)
      }
    })
  })
}

for (const [name, writes, at, code, status, message] of FAILURES) {
  test(`${name} → ${code} at ${at}, without writing anything`, async () => {
    const world = await tableWorld()
    await world.write(insert('old'))
    const before = await world.query({ countMax: 1_000 })
    const failure = await failureOf(world.writeAll(writes))
    assert(failure !== undefined)
    assert(failure.message.startsWith(message), failure.message)
    assert.deepEqual([failure.at, failure.code, failure.status], [at, code, status])
    assert.deepEqual(await world.query({ countMax: 1_000 }), before)
  })
}

test('a transaction on a missing table → TableNotFound at 0', async () => {
  const world = await tableWorld()
  await world.drop()
  const failure = await failureOf(world.writeAll([insert('a'), insert('b')]))
  assert.deepEqual(failure, {
    at: 0,
    code: 'TableNotFound',
    status: 404,
    message: '0:The table specified does not exist.',
  })
})

test('100 writes are allowed, and row keys are case-sensitive', async () => {
  const world = await tableWorld()
  await world.writeAll([...many(98), insert('x'), insert('X')])
  assert.equal((await rowsOf(world)).length, 100)
})
