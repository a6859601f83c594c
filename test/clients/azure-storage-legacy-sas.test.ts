// The Table service through azure-storage with a shared access signature instead of the key.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import azure from 'azure-storage'
import { ACCOUNT, ACCOUNT_KEY, startTestServer, type TestServer } from '../harness.ts'
import { asked, entity, FIRST_PAGE, refused, type Found } from './azure-storage-legacy.ts'

const HOUR_MS = 3_600_000

let server: TestServer
let service: azure.TableService

before(async () => {
  server = await startTestServer()
  service = azure.createTableService(server.connectionString)
})
after(() => server.close())

type Page = azure.TableService.QueryEntitiesResult<Found>

let made = 0

async function freshTable(...rows: readonly string[]): Promise<string> {
  made += 1
  const table = `Shared${made}`
  await asked((done) => service.createTable(table, done))
  for (const row of rows) {
    await asked((done) => service.insertEntity(table, entity(row, { x: 1 }), done))
  }
  return table
}

async function rowKeys(from: azure.TableService, table: string): Promise<unknown[]> {
  const { entries } = await asked<Page>((done) =>
    from.queryEntities<Found>(table, new azure.TableQuery(), FIRST_PAGE, done),
  )
  return entries.map(({ RowKey }) => RowKey?._)
}

describe('a shared access signature', () => {
  const policy = (Permissions: string, more = {}) => {
    const Expiry = new Date(Date.now() + HOUR_MS)
    return { AccessPolicy: { Permissions, Expiry, ...more } }
  }
  const guest = (sas: string) => azure.createTableServiceWithSas(server.tableEndpoint, sas)

  test('for a table gives what it says', async () => {
    const table = await freshTable('a')
    const reader = guest(service.generateSharedAccessSignature(table, policy('r')))
    const found = await asked<Found>((done) => reader.retrieveEntity<Found>(table, 'p', 'a', done))
    assert.equal(found['x']?._, 1)
    await refused('403 AuthorizationPermissionMismatch', (done) =>
      reader.insertEntity(table, entity('b'), done),
    )
  })

  test('for a range of keys does not see others', async () => {
    const table = await freshTable('a', 'b', 'c', 'd')
    const range = { StartPk: 'p', StartRk: 'b', EndPk: 'p', EndRk: 'c' }
    const reader = guest(service.generateSharedAccessSignature(table, policy('r', range)))
    assert.deepEqual(await rowKeys(reader, table), ['b', 'c'])
  })

  test('may write a batch', async () => {
    const table = await freshTable()
    const writer = guest(service.generateSharedAccessSignature(table, policy('a')))
    const batch = new azure.TableBatch()
    batch.insertEntity(entity('a'), {})
    batch.insertEntity(entity('b'), {})
    await asked((done) => writer.executeBatch(table, batch, done))
    assert.deepEqual(await rowKeys(service, table), ['a', 'b'])
  })

  test('for the account creates tables', async () => {
    const sas = azure.generateAccountSharedAccessSignature(ACCOUNT, ACCOUNT_KEY, {
      AccessPolicy: {
        Services: 't',
        ResourceTypes: 'sco',
        Permissions: 'rwdlau',
        Expiry: new Date(Date.now() + HOUR_MS),
      },
    })
    const owner = guest(sas)
    await asked((done) => owner.createTable('BySas', done))
    await asked((done) => owner.insertOrMergeEntity('BySas', entity('a'), done))
    await asked((done) => owner.deleteTable('BySas', done))
  })
})
