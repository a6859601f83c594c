// The Table service with azure-storage and a SAS instead of the key.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import azure from 'azure-storage'
import { ACCOUNT, ACCOUNT_KEY, startTestServer, type TestServer } from '../harness.ts'
import { call, entity, FIRST_PAGE, refused, type Found } from './azure-storage-legacy.ts'

const HOUR_MS = 3_600_000

let server: TestServer
let service: azure.TableService

before(async () => {
  server = await startTestServer()
  service = azure.createTableService(server.connectionString)
})
after(() => server.close())

type Page = azure.TableService.QueryEntitiesResult<Found>

let tableCount = 0

async function freshTable(...rows: readonly string[]): Promise<string> {
  tableCount += 1
  const table = `Shared${tableCount}`
  await call((done) => service.createTable(table, done))
  for (const row of rows) {
    await call((done) => service.insertEntity(table, entity(row, { x: 1 }), done))
  }
  return table
}

async function rowKeys(from: azure.TableService, table: string): Promise<unknown[]> {
  const { entries } = await call<Page>((done) =>
    from.queryEntities<Found>(table, new azure.TableQuery(), FIRST_PAGE, done),
  )
  return entries.map(({ RowKey }) => RowKey?._)
}

describe('a SAS', () => {
  const policy = (Permissions: string, more = {}) => {
    const Expiry = new Date(Date.now() + HOUR_MS)
    return { AccessPolicy: { Permissions, Expiry, ...more } }
  }
  const guest = (sas: string) => azure.createTableServiceWithSas(server.tableEndpoint, sas)

  test('for a table grants its permissions', async () => {
    const table = await freshTable('a')
    const reader = guest(service.generateSharedAccessSignature(table, policy('r')))
    const found = await call<Found>((done) => reader.retrieveEntity<Found>(table, 'p', 'a', done))
    assert.equal(found['x']?._, 1)
    await refused('403 AuthorizationPermissionMismatch', (done) =>
      reader.insertEntity(table, entity('b'), done),
    )
  })

  test('for a key range hides other entities', async () => {
    const table = await freshTable('a', 'b', 'c', 'd')
    const range = { StartPk: 'p', StartRk: 'b', EndPk: 'p', EndRk: 'c' }
    const reader = guest(service.generateSharedAccessSignature(table, policy('r', range)))
    assert.deepEqual(await rowKeys(reader, table), ['b', 'c'])
  })

  test('permits a batch', async () => {
    const table = await freshTable()
    const writer = guest(service.generateSharedAccessSignature(table, policy('a')))
    const batch = new azure.TableBatch()
    batch.insertEntity(entity('a'), {})
    batch.insertEntity(entity('b'), {})
    await call((done) => writer.executeBatch(table, batch, done))
    assert.deepEqual(await rowKeys(service, table), ['a', 'b'])
  })

  test('for the account permits creating tables', async () => {
    const sas = azure.generateAccountSharedAccessSignature(ACCOUNT, ACCOUNT_KEY, {
      AccessPolicy: {
        Services: 't',
        ResourceTypes: 'sco',
        Permissions: 'rwdlau',
        Expiry: new Date(Date.now() + HOUR_MS),
      },
    })
    const owner = guest(sas)
    await call((done) => owner.createTable('BySas', done))
    await call((done) => owner.insertOrMergeEntity('BySas', entity('a'), done))
    await call((done) => owner.deleteTable('BySas', done))
  })
})
