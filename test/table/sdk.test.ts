// The Table service with Azure's own JavaScript client.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { odata, RestError, TableTransaction } from '@azure/data-tables'
import { newTable, serviceClient, startTableFixture, tableClient } from './fixture.ts'

const server = await startTableFixture()

const isRefused = (statusCode: number, code: string) => (error: unknown) => {
  assert(error instanceof RestError, String(error))
  const details: unknown = error.details
  const known = error.code ?? JSON.stringify(details)
  return error.statusCode === statusCode && (known.includes(code) || error.message.includes(code))
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

describe('tables', () => {
  test('are created, listed and deleted', async () => {
    const client = serviceClient(server)
    await client.createTable('Books')
    await client.createTable('Authors')
    // The client treats an existing table as created.
    await client.createTable('books')
    const named = await all(client.listTables())
    assert.deepEqual(
      named.map(({ name }) => name).filter((name) => /Books|Authors/.test(name ?? '')),
      ['Authors', 'Books'],
    )
    const some = await all(
      client.listTables({ queryOptions: { filter: odata`TableName eq ${'Books'}` } }),
    )
    assert.deepEqual(
      some.map(({ name }) => name),
      ['Books'],
    )
    await client.deleteTable('Books')
    await client.deleteTable('Authors')
    assert.deepEqual(await all(client.listTables()), [])
  })

  test('have service properties', async () => {
    const client = serviceClient(server)
    const cors = [
      {
        allowedOrigins: 'https://example.com',
        allowedMethods: 'GET',
        allowedHeaders: '*',
        exposedHeaders: '*',
        maxAgeInSeconds: 60,
      },
    ]
    await client.setProperties({ cors })
    assert.deepEqual((await client.getProperties()).cors, cors)
    await client.setProperties({ cors: [] })
  })

  test('have access policies', async () => {
    const client = tableClient(server, await newTable(server))
    const start = new Date('2026-01-01T00:00:00Z')
    const expiry = new Date('2027-01-01T00:00:00Z')
    await client.setAccessPolicy([
      { id: 'readers', accessPolicy: { start, expiry, permission: 'r' } },
    ])
    const [policy] = await client.getAccessPolicy()
    assert.deepEqual(policy, { id: 'readers', accessPolicy: { start, expiry, permission: 'r' } })
  })
})

describe('entities', () => {
  test('keep values of every type', async () => {
    const client = tableClient(server, await newTable(server))
    const entity = {
      partitionKey: "it's",
      rowKey: 'ä/ö'.replace('/', '|'),
      text: 'a "quoted" text\n',
      flag: false,
      int32: -5,
      int64: { type: 'Int64' as const, value: '9223372036854775807' },
      double: 0.5,
      whole: { type: 'Double' as const, value: '5' },
      time: { type: 'DateTime' as const, value: '2026-11-15T19:46:33.1657319Z' },
      guid: { type: 'Guid' as const, value: '11111111-2222-3333-4444-555555555555' },
      binary: new Uint8Array([1, 2, 3]),
    }
    await client.createEntity(entity)
    const got = await client.getEntity(entity.partitionKey, entity.rowKey, {
      disableTypeConversion: true,
    })
    assert.deepEqual(got.text, { value: entity.text, type: 'String' })
    assert.deepEqual(got.flag, { value: 'false', type: 'Boolean' })
    assert.deepEqual(got.int32, { value: '-5', type: 'Int32' })
    assert.deepEqual(got.int64, entity.int64)
    assert.deepEqual(got.time, entity.time)
    assert.deepEqual(got.guid, entity.guid)
    assert.equal(got.partitionKey, entity.partitionKey)
    assert.equal(got.rowKey, entity.rowKey)
    assert.match(String(got.etag), /^W\/"datetime'/)
    await client.deleteEntity(entity.partitionKey, entity.rowKey)
    const missing = client.getEntity(entity.partitionKey, entity.rowKey)
    await assert.rejects(missing, isRefused(404, 'ResourceNotFound'))
  })

  test('are updated, merged and upserted', async () => {
    const client = tableClient(server, await newTable(server))
    const keys = { partitionKey: 'p', rowKey: 'r' }
    await assert.rejects(client.updateEntity(keys), isRefused(404, 'ResourceNotFound'))
    await client.upsertEntity({ ...keys, a: 1, b: 2 }, 'Merge')
    await client.upsertEntity({ ...keys, b: 3 }, 'Merge')
    const merged = await client.getEntity<{ a: number; b: number }>('p', 'r')
    assert.deepEqual([merged.a, merged.b], [1, 3])
    await client.updateEntity({ ...keys, c: 4 }, 'Replace', { etag: merged.etag })
    const replaced = await client.getEntity('p', 'r')
    assert.deepEqual([replaced.a, replaced.c], [undefined, 4])
    const stale = client.updateEntity({ ...keys, c: 5 }, 'Merge', { etag: merged.etag })
    await assert.rejects(stale, isRefused(412, 'UpdateConditionNotSatisfied'))
  })

  test('are queried in pages', async () => {
    const client = tableClient(server, await newTable(server))
    for (let at = 0; at < 7; at += 1) {
      await client.createEntity({ partitionKey: 'p', rowKey: String(at), even: at % 2 === 0 })
    }
    const pages = await all(client.listEntities().byPage({ maxPageSize: 3 }))
    assert.deepEqual(
      pages.map((page) => page.map(({ rowKey }) => rowKey).join('')),
      ['012', '345', '6'],
    )
    const filter = odata`PartitionKey eq ${'p'} and even eq ${true} and RowKey lt ${'5'}`
    const some = await all(client.listEntities({ queryOptions: { filter, select: ['rowKey'] } }))
    assert.deepEqual(
      some.map(({ rowKey }) => rowKey),
      ['0', '2', '4'],
    )
    assert.equal(some[0]?.partitionKey, undefined)
  })
})

describe('transactions', () => {
  test('apply all operations', async () => {
    const client = tableClient(server, await newTable(server))
    await client.createEntity({ partitionKey: 'p', rowKey: 'old', n: 1 })
    const transaction = new TableTransaction()
    transaction.createEntity({ partitionKey: 'p', rowKey: 'new', n: 2 })
    transaction.updateEntity({ partitionKey: 'p', rowKey: 'old', n: 3 }, 'Merge')
    transaction.upsertEntity({ partitionKey: 'p', rowKey: 'upserted', n: 4 }, 'Replace')
    const answer = await client.submitTransaction(transaction.actions)
    assert.equal(answer.status, 202)
    assert.deepEqual(
      answer.subResponses.map(({ status }) => status),
      [204, 204, 204],
    )
    assert.match(answer.getResponseForEntity('new')?.etag ?? '', /^W\/"datetime'/)
    const found = await all(client.listEntities<{ n: number }>())
    assert.deepEqual(
      found.map(({ rowKey, n }) => [rowKey, n]),
      [
        ['new', 2],
        ['old', 3],
        ['upserted', 4],
      ],
    )
  })

  test('or none of them', async () => {
    const client = tableClient(server, await newTable(server))
    await client.createEntity({ partitionKey: 'p', rowKey: 'b' })
    const transaction = new TableTransaction()
    transaction.createEntity({ partitionKey: 'p', rowKey: 'a' })
    transaction.createEntity({ partitionKey: 'p', rowKey: 'b' })
    const failed = client.submitTransaction(transaction.actions)
    await assert.rejects(failed, (error: unknown) => {
      assert(error instanceof RestError)
      assert.equal(error.statusCode, 409)
      assert.equal(error.code, 'EntityAlreadyExists')
      assert.match(error.message, /^1:The specified entity already exists\./)
      return true
    })
    assert.equal((await all(client.listEntities())).length, 1)
  })
})
