// The Table service with azure-storage, the predecessor of @azure/data-tables.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import azure from 'azure-storage'
import { startTestServer, type TestServer } from '../harness.ts'
import {
  call,
  entity,
  FIRST_PAGE,
  refused,
  type Callback,
  type Found,
  type Metadata,
  type Properties,
} from './azure-storage-legacy.ts'

const edm = azure.TableUtilities.entityGenerator

let server: TestServer
let service: azure.TableService

before(async () => {
  server = await startTestServer()
  service = azure.createTableService(server.connectionString)
})
after(() => server.close())

let tableCount = 0

async function freshTable(): Promise<string> {
  tableCount += 1
  const name = `Legacy${tableCount}`
  await call((done) => service.createTable(name, done))
  return name
}

function insert(table: string, rowKey: string, properties: Properties = {}): Promise<Metadata> {
  return call((done) => service.insertEntity(table, entity(rowKey, properties), done))
}

function retrieve(table: string, rowKey: string): Promise<Found> {
  return call((done) => service.retrieveEntity<Found>(table, 'p', rowKey, done))
}

/** The values without system properties. */
async function values(table: string, rowKey: string): Promise<Properties> {
  const {
    PartitionKey,
    RowKey,
    Timestamp,
    '.metadata': metadata,
    ...own
  } = await retrieve(table, rowKey)
  assert.deepEqual([PartitionKey?._, RowKey?._], ['p', rowKey])
  assert(Timestamp?._ instanceof Date && metadata.etag.startsWith('W/"datetime'))
  return Object.fromEntries(Object.entries(own).map(([name, { _ }]) => [name, _]))
}

/** The types of the package do not permit the first token to be missing. */
const FIRST_TABLES = null as unknown as azure.TableService.ListTablesContinuationToken

/** The row keys of each page. */
async function pages(table: string, query: azure.TableQuery): Promise<unknown[][]> {
  const found: unknown[][] = []
  let token: typeof FIRST_PAGE | undefined = FIRST_PAGE
  do {
    const from: typeof FIRST_PAGE = token
    const page: Pages = await call((done) => service.queryEntities<Found>(table, query, from, done))
    found.push(page.entries.map(({ RowKey }) => RowKey?._))
    token = page.continuationToken
  } while (token)
  return found
}

type Pages = azure.TableService.QueryEntitiesResult<Found>
type Tables = azure.TableService.ListTablesResponse
type TableResult = azure.TableService.TableResult

const CHANGES = {
  replaceEntity: (table: string, changed: object, done: Callback<Metadata>) =>
    service.replaceEntity(table, changed, done),
  mergeEntity: (table: string, changed: object, done: Callback<Metadata>) =>
    service.mergeEntity(table, changed, done),
  deleteEntity: (table: string, changed: object, done: Callback<unknown>) =>
    service.deleteEntity(table, changed, done),
} as const
const CHANGE_NAMES = ['replaceEntity', 'mergeEntity', 'deleteEntity'] as const

describe('tables', () => {
  test('are created once, listed by prefix in pages, and deleted', async () => {
    for (const name of ['ListB', 'ListA', 'ListC']) {
      await call((done) => service.createTable(name, done))
    }
    await refused('409 TableAlreadyExists', (done) => service.createTable('lista', done))
    const again = await call<TableResult>((done) => service.createTableIfNotExists('ListA', done))
    assert.equal(again.created, false)
    const first = await call<Tables>((done) =>
      service.listTablesSegmentedWithPrefix('List', FIRST_TABLES, { maxResults: 2 }, done),
    )
    assert.deepEqual(first.entries, ['ListA', 'ListB'])
    const second = await call<Tables>((done) =>
      service.listTablesSegmentedWithPrefix('List', first.continuationToken, done),
    )
    assert.deepEqual(second.entries, ['ListC'])
    assert(!second.continuationToken)
    await call((done) => service.deleteTable('ListA', done))
    const { exists } = await call<TableResult>((done) => service.doesTableExist('ListA', done))
    assert.equal(exists, false)
    const { exists: other } = await call<TableResult>((done) =>
      service.doesTableExist('ListB', done),
    )
    assert.equal(other, true)
    assert.equal(await call((done) => service.deleteTableIfExists('ListA', done)), false)
    await refused('404 ResourceNotFound', (done) => service.deleteTable('ListA', done))
  })

  test('have access policies', async () => {
    const table = await freshTable()
    const policy = { Permissions: 'r', Expiry: new Date('2030-01-01T00:00:00Z') }
    await call((done) => service.setTableAcl(table, { readers: policy }, done))
    const { signedIdentifiers } = await call<azure.TableService.GetTableAclResult>((done) =>
      service.getTableAcl(table, done),
    )
    assert.deepEqual(Object.keys(signedIdentifiers), ['readers'])
    assert.partialDeepStrictEqual(signedIdentifiers, { readers: { Permissions: 'r' } })
  })
})

test('service properties are set and read', async () => {
  const rule = {
    AllowedOrigins: ['https://example.com'],
    AllowedMethods: ['GET'],
    AllowedHeaders: ['*'],
    ExposedHeaders: ['*'],
    MaxAgeInSeconds: 60,
  }
  await call((done) => service.setServiceProperties({ Cors: { CorsRule: [rule] } }, done))
  const { Cors } = await call<azure.common.models.ServicePropertiesResult.ServiceProperties>(
    (done) => service.getServiceProperties(done),
  )
  assert.deepEqual(Cors?.CorsRule, [rule])
})

describe('an entity', () => {
  test('is inserted once', async () => {
    const table = await freshTable()
    const { '.metadata': metadata } = await insert(table, 'a', { name: edm.String('one') })
    assert.equal(metadata.etag, (await retrieve(table, 'a'))['.metadata'].etag)
    await refused('409 EntityAlreadyExists', (done) =>
      service.insertEntity(table, entity('a'), done),
    )
    assert.deepEqual(await values(table, 'a'), { name: 'one' })
  })

  test('is returned by an insert on request', async () => {
    const table = await freshTable()
    const echoed = await call((done) =>
      service.insertEntity(table, entity('a', { n: 1 }), { echoContent: true }, done),
    )
    assert.partialDeepStrictEqual(echoed, { RowKey: { _: 'a' }, n: { _: 1 } })
  })

  test('is replaced, merged and deleted unconditionally without an ETag', async () => {
    const table = await freshTable()
    await insert(table, 'a', { x: 1, y: 2 })
    await call((done) => service.mergeEntity(table, entity('a', { y: 3, z: 4 }), done))
    assert.deepEqual(await values(table, 'a'), { x: 1, y: 3, z: 4 })
    await call((done) => service.replaceEntity(table, entity('a', { w: 5 }), done))
    assert.deepEqual(await values(table, 'a'), { w: 5 })
    await call((done) => service.deleteEntity(table, entity('a'), done))
    await refused('404 ResourceNotFound', (done) => service.retrieveEntity(table, 'p', 'a', done))
    for (const name of CHANGE_NAMES) {
      await refused('404 ResourceNotFound', (done) => CHANGES[name](table, entity('a'), done))
    }
  })

  test('is created or changed by an upsert', async () => {
    const table = await freshTable()
    await call((done) => service.insertOrMergeEntity(table, entity('a', { x: 1 }), done))
    await call((done) => service.insertOrMergeEntity(table, entity('a', { y: 2 }), done))
    assert.deepEqual(await values(table, 'a'), { x: 1, y: 2 })
    await call((done) => service.insertOrReplaceEntity(table, entity('a', { z: 3 }), done))
    assert.deepEqual(await values(table, 'a'), { z: 3 })
  })

  for (const name of CHANGE_NAMES) {
    test(`${name} with a stale ETag is refused and with the current one succeeds`, async () => {
      const table = await freshTable()
      const stale = await insert(table, 'a', { x: 1 })
      const replaced = await call<Metadata>((done) =>
        service.replaceEntity(table, entity('a'), done),
      )
      await refused('412 UpdateConditionNotSatisfied', (done) =>
        CHANGES[name](table, { ...entity('a'), ...stale }, done),
      )
      await call((done) => CHANGES[name](table, { ...entity('a'), ...replaced }, done))
    })
  }

  test('can have any characters in its keys', async () => {
    const table = await freshTable()
    const rowKey = "größe & 'mehr' a+b%20c"
    await insert(table, rowKey, { x: 1 })
    assert.deepEqual(await values(table, rowKey), { x: 1 })
    await call((done) => service.mergeEntity(table, entity(rowKey, { y: 2 }), done))
    assert.deepEqual(await values(table, rowKey), { x: 1, y: 2 })
    await call((done) => service.deleteEntity(table, entity(rowKey), done))
  })
})

const GUID = 'c9da6455-213d-42c9-9a79-3e9149a57833'

// property, value sent, type and value returned
const TYPES: readonly (readonly [string, unknown, string | undefined, unknown])[] = [
  ['text', edm.String('grüße \u{1f30d}'), undefined, 'grüße \u{1f30d}'],
  ['empty', edm.String(''), undefined, ''],
  ['int32', edm.Int32(-2_147_483_648), undefined, -2_147_483_648],
  ['int64', edm.Int64('9223372036854775807'), 'Edm.Int64', '9223372036854775807'],
  ['double', edm.Double(1.5), undefined, 1.5],
  // Returned without its type, as 5.0; the package recognizes it by the decimal point.
  ['whole', edm.Double(5), 'Edm.Double', 5],
  ['infinite', edm.Double(Infinity), 'Edm.Double', Infinity],
  ['nan', edm.Double(NaN), 'Edm.Double', NaN],
  ['yes', edm.Boolean(true), undefined, true],
  [
    'time',
    edm.DateTime(new Date('2020-02-29T12:34:56.789Z')),
    'Edm.DateTime',
    new Date('2020-02-29T12:34:56.789Z'),
  ],
  ['guid', edm.Guid(GUID), 'Edm.Guid', GUID],
  ['binary', edm.Binary(Buffer.from([0, 255, 1])), 'Edm.Binary', Buffer.from([0, 255, 1])],
]

test('values of every type are returned as they were put', async () => {
  const table = await freshTable()
  await insert(table, 'a', Object.fromEntries(TYPES.map(([name, value]) => [name, value])))
  const found = await retrieve(table, 'a')
  for (const [name, , type, value] of TYPES) {
    assert.deepEqual(found[name], type === undefined ? { _: value } : { $: type, _: value }, name)
  }
})

// filter, its values, and the matching entities
const FILTERS: readonly (readonly [string, readonly unknown[], readonly string[]])[] = [
  ['PartitionKey eq ?', ['p'], ['0', '1', '2', '3', '4']],
  ['RowKey ge ? and RowKey lt ?', ['1', '3'], ['1', '2']],
  ['n gt ?', [2], ['3', '4']],
  ['n eq ?int64?', ['2'], []],
  ['big eq ?int64?', ['9007199254740993'], ['2']],
  ['not (n lt ?) or text eq ?', [4, "it's 1"], ['1', '4']],
  ['time lt ?', [new Date('2020-01-03T00:00:00Z')], ['0', '1']],
  ['guid eq ?guid?', [GUID], ['3']],
]

describe('a query', () => {
  let table: string

  before(async () => {
    table = await freshTable()
    for (const n of [0, 1, 2, 3, 4]) {
      await insert(table, String(n), {
        n: edm.Int32(n),
        text: edm.String(`it's ${n}`),
        time: edm.DateTime(new Date(Date.UTC(2020, 0, 1 + n))),
        ...(n === 2 && { big: edm.Int64('9007199254740993') }),
        ...(n === 3 && { guid: edm.Guid(GUID) }),
      })
    }
  })

  for (const [where, args, expected] of FILTERS) {
    test(`where ${where} ${JSON.stringify(args)}`, async () => {
      const query = new azure.TableQuery().where(where, ...args)
      assert.deepEqual(await pages(table, query), [expected])
    })
  }

  test('continues from page to page', async () => {
    const query = new azure.TableQuery().top(2)
    assert.deepEqual(await pages(table, query), [['0', '1'], ['2', '3'], ['4']])
  })

  test('selects properties', async () => {
    const query = new azure.TableQuery().select('n').where('RowKey eq ?', '1')
    const { entries } = await call<Pages>((done) =>
      service.queryEntities<Found>(table, query, FIRST_PAGE, done),
    )
    const names = entries.map((found) => Object.keys(found).filter((name) => name !== '.metadata'))
    assert.deepEqual(names, [['n']])
  })

  for (const format of ['FULL_METADATA', 'MINIMAL_METADATA', 'NO_METADATA'] as const) {
    test(`in ${format} returns usable ETags`, async () => {
      const payloadFormat = azure.TableUtilities.PayloadFormat[format]
      const query = new azure.TableQuery().where('RowKey eq ?', '0')
      const { entries } = await call<Pages>((done) =>
        service.queryEntities<Found>(table, query, FIRST_PAGE, { payloadFormat }, done),
      )
      const [found] = entries
      assert(found)
      await call((done) => service.mergeEntity(table, found, done))
    })
  }
})

describe('a batch', () => {
  test('runs all operations', async () => {
    const table = await freshTable()
    for (const rowKey of ['b', 'c', 'd', 'e', 'f']) await insert(table, rowKey, { x: 1 })
    const batch = new azure.TableBatch()
    batch.insertEntity(entity('a', { y: 2 }), { echoContent: true })
    batch.replaceEntity(entity('b', { y: 2 }))
    batch.mergeEntity(entity('c', { y: 2 }))
    batch.insertOrReplaceEntity(entity('d', { y: 2 }))
    batch.insertOrMergeEntity(entity('e', { y: 2 }))
    batch.deleteEntity(entity('f'))
    const results = await call<azure.TableService.BatchResult[]>((done) =>
      service.executeBatch(table, batch, done),
    )
    const statuses = results.map(({ response }) => Number(response.statusCode))
    assert.deepEqual(statuses, [201, 204, 204, 204, 204, 204])
    const found = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((key) => values(table, key)))
    assert.deepEqual(found, [{ y: 2 }, { y: 2 }, { x: 1, y: 2 }, { y: 2 }, { x: 1, y: 2 }])
    await refused('404 ResourceNotFound', (done) => service.retrieveEntity(table, 'p', 'f', done))
  })

  test('changes nothing if one part is refused, and reports which', async () => {
    const table = await freshTable()
    await insert(table, 'b')
    const batch = new azure.TableBatch()
    batch.insertEntity(entity('a'), {})
    batch.insertEntity(entity('b'), {})
    // The package has the index in the message.
    await assert.rejects(
      call((done) => service.executeBatch(table, batch, done)),
      /^StorageError: 1:The specified entity already exists/,
    )
    await refused('404 ResourceNotFound', (done) => service.retrieveEntity(table, 'p', 'a', done))
  })

  test('can have a hundred parts', async () => {
    const table = await freshTable()
    const batch = new azure.TableBatch()
    for (let n = 0; n < 100; n++) batch.insertEntity(entity(String(n).padStart(3, '0')), {})
    await call((done) => service.executeBatch(table, batch, done))
    const [rowKeys] = await pages(table, new azure.TableQuery())
    assert.equal(rowKeys?.length, 100)
  })

  test('can query one entity', async () => {
    const table = await freshTable()
    await insert(table, 'a', { x: 1 })
    const batch = new azure.TableBatch()
    batch.retrieveEntity('p', 'a')
    const [result] = await call<azure.TableService.BatchResult[]>((done) =>
      service.executeBatch(table, batch, done),
    )
    assert.partialDeepStrictEqual(result, { entity: { RowKey: { _: 'a' }, x: { _: 1 } } })
  })
})
