// The Table service with `az storage table` and `az storage entity`. Every call takes a second to start, so there are
// few of them, two at a time, and the SDK writes the entities that they read.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { TableClient } from '@azure/data-tables'
import { startTestServer, type TestServer } from '../harness.ts'
import { cleanUp } from '../server-process.ts'
import { AZ_SUITE, azStorage } from './az.ts'
import type { Client } from './program.ts'

describe('az storage table and entity', AZ_SUITE, () => {
  let server: TestServer
  let az: Client
  let books: TableClient

  before(async () => {
    server = await startTestServer()
    az = azStorage(server.connectionString)
    const created = await az.ok('table', 'create', '--name', 'Books')
    assert.deepEqual(JSON.parse(created), { created: true })
    const options = { allowInsecureConnection: true }
    books = TableClient.fromConnectionString(server.connectionString, 'Books', options)
  })

  after(async () => {
    await cleanUp()
    await server.close()
  })

  const inBooks = ['--table-name', 'Books']
  const keys = (rowKey: string) => ['--partition-key', 'p', '--row-key', rowKey]

  async function put(rowKey: string, properties: object = {}): Promise<void> {
    await books.upsertEntity({ partitionKey: 'p', rowKey, ...properties }, 'Replace')
  }

  test('table list, exists, delete', async () => {
    const tableArgs = ['--name', 'Gone']
    await az.ok('table', 'create', ...tableArgs)
    const listed: unknown = JSON.parse(await az.ok('table', 'list', '--query', '[].name'))
    assert(Array.isArray(listed) && listed.includes('Books') && listed.includes('Gone'))
    assert.deepEqual(JSON.parse(await az.ok('table', 'delete', ...tableArgs)), { deleted: true })
    assert.deepEqual(JSON.parse(await az.ok('table', 'exists', ...tableArgs)), { exists: false })
  })

  test('entity insert, with a property type, and refused the second time', async () => {
    const entity = ['PartitionKey=p', 'RowKey=new', 'Title=größe', 'N=7', 'N@odata.type=Edm.Int64']
    await az.ok('entity', 'insert', ...inBooks, '--entity', ...entity)
    const found = await books.getEntity('p', 'new')
    assert.deepEqual([found['Title'], found['N']], ['größe', 7n])
    const output = await az.fails('entity', 'insert', ...inBooks, '--entity', ...entity)
    assert.match(output, /The specified entity already exists/)
  })

  test('entity show', async () => {
    await put('shown', { Title: "it's" })
    const returned: unknown = JSON.parse(
      await az.ok('entity', 'show', ...inBooks, ...keys('shown')),
    )
    assert.partialDeepStrictEqual(returned, { PartitionKey: 'p', RowKey: 'shown', Title: "it's" })
    assert.match(
      await az.fails('entity', 'show', ...inBooks, ...keys('missing')),
      /ErrorCode:ResourceNotFound/,
    )
  })

  test('entity query with a filter, in pages', async () => {
    for (const rowKey of ['q1', 'q2', 'q3']) await put(rowKey)
    const filter = "PartitionKey eq 'p' and RowKey ge 'q1' and RowKey le 'q3'"
    const query = ['entity', 'query', ...inBooks, '--filter', filter, '--num-results', '2']
    const page: unknown = JSON.parse(await az.ok(...query))
    assert.partialDeepStrictEqual(page, { items: [{ RowKey: 'q1' }, { RowKey: 'q2' }] })
    const marker = Object.entries(markerOf(page)).map(([name, value]) => `${name}=${value}`)
    const rest: unknown = JSON.parse(await az.ok(...query, '--marker', ...marker))
    assert.partialDeepStrictEqual(rest, { items: [{ RowKey: 'q3' }] })
  })

  function markerOf(page: unknown): object {
    assert(typeof page === 'object' && page !== null && 'nextMarker' in page, JSON.stringify(page))
    assert(typeof page.nextMarker === 'object' && page.nextMarker !== null)
    return page.nextMarker
  }

  test('entity merge keeps other properties', async () => {
    await put('merged', { x: 'one', y: 'two' })
    const entity = ['PartitionKey=p', 'RowKey=merged', 'y=three']
    await az.ok('entity', 'merge', ...inBooks, '--entity', ...entity)
    const found = await books.getEntity('p', 'merged')
    assert.deepEqual([found['x'], found['y']], ['one', 'three'])
  })

  test('entity delete by ETag', async () => {
    await put('old')
    const { etag } = await books.getEntity('p', 'old')
    await put('old', { x: 'one' })
    const remove = ['entity', 'delete', ...inBooks, ...keys('old'), '--if-match']
    assert.match(await az.fails(...remove, etag), /ErrorCode:UpdateConditionNotSatisfied/)
    await az.ok(...remove, '*')
    await assert.rejects(books.getEntity('p', 'old'), { statusCode: 404 })
  })
})
