// Access to tables and entities with a SAS: permissions, key ranges, stored policies. Azure's own client creates the
// SAS, so the signed text is Azure's.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  AzureNamedKeyCredential,
  generateAccountSas,
  generateTableSas,
  type AccountSasPermissions,
  type TableSasPermissions,
  type TableSasSignatureValues,
} from '@azure/data-tables'
import { ACCOUNT, ACCOUNT_KEY } from '../harness.ts'
import { send, entityPath, newTable, insert, outcome, startTableFixture } from './fixture.ts'

const server = await startTableFixture()

const credential = new AzureNamedKeyCredential(ACCOUNT, ACCOUNT_KEY)
const expiresOn = new Date(Date.now() + 3_600_000)

function tableSas(table: string, letters: string, more: TableSasSignatureValues = {}): string {
  const permissions: TableSasPermissions = {
    query: letters.includes('r'),
    add: letters.includes('a'),
    update: letters.includes('u'),
    delete: letters.includes('d'),
  }
  return generateTableSas(table, credential, { expiresOn, permissions, ...more })
}

const BODY = '{"PartitionKey":"p","RowKey":"new"}'

// operation, method, path, If-Match, required permissions
const OPERATIONS = [
  ['Query Entities', 'GET', '()', '', 'r'],
  ['Get Entity', 'GET', "(PartitionKey='p',RowKey='r')", '', 'r'],
  ['Insert Entity', 'POST', '', '', 'a'],
  ['Update Entity', 'PUT', "(PartitionKey='p',RowKey='r')", '*', 'u'],
  ['Merge Entity', 'MERGE', "(PartitionKey='p',RowKey='r')", '*', 'u'],
  ['Insert Or Replace Entity', 'PUT', "(PartitionKey='p',RowKey='r')", '', 'au'],
  ['Insert Or Merge Entity', 'PATCH', "(PartitionKey='p',RowKey='r')", '', 'au'],
  ['Delete Entity', 'DELETE', "(PartitionKey='p',RowKey='r')", '*', 'd'],
] as const

function use(sas: string, table: string, operation: (typeof OPERATIONS)[number]) {
  const [, method, rest, match] = operation
  const body = rest === '' ? BODY : '{}'
  return send(server, {
    method,
    path: `/${table}${rest}`,
    headers: match === '' ? {} : { 'If-Match': match },
    ...(['POST', 'PUT', 'MERGE', 'PATCH'].includes(method) && { body }),
    sign: sas,
  })
}

describe('the permissions of a table SAS:', () => {
  for (const operation of OPERATIONS) {
    const [name, , , , needed] = operation
    test(`${name} needs ${needed}`, async () => {
      for (const letters of ['r', 'a', 'u', 'd', 'au', 'raud']) {
        const table = await newTable(server)
        await insert(server, table, {})
        const answer = await use(tableSas(table, letters), table, operation)
        const isEnough = [...needed].every((letter) => letters.includes(letter))
        const code = answer.headers['x-ms-error-code']
        assert.equal(code, isEnough ? undefined : 'AuthorizationPermissionMismatch', letters)
      }
    })
  }

  test('apply to one table, whose name is not case-sensitive', async () => {
    const table = await newTable(server)
    const sas = tableSas(table.toUpperCase(), 'r')
    assert.equal((await use(sas, table.toLowerCase(), OPERATIONS[0])).status, 200)
    const other = await use(sas, await newTable(server), OPERATIONS[0])
    assert.equal(outcome(other), '403 AuthenticationFailed')
  })

  test('do not include operations on tables and their policies', async () => {
    const table = await newTable(server)
    const sas = tableSas(table, 'raud')
    const acl = await send(server, { method: 'GET', path: `/${table}?comp=acl`, sign: sas })
    assert.equal(outcome(acl), '403 AuthorizationFailure')
    for (const path of ['/Tables', `/Tables('${table}')`]) {
      assert.equal((await send(server, { method: 'GET', path, sign: sas })).status, 403)
    }
  })
})

describe('a range of keys', () => {
  const RANGE = {
    startPartitionKey: 'b',
    startRowKey: '2',
    endPartitionKey: 'c',
    endRowKey: '1',
  }
  const KEYS = ['a1', 'b1', 'b2', 'b3', 'c1', 'c2', 'd1'].map((text) => [...text])
  const INSIDE = ['b2', 'b3', 'c1']

  async function filled(): Promise<string> {
    const table = await newTable(server)
    for (const [PartitionKey, RowKey] of KEYS) await insert(server, table, { PartitionKey, RowKey })
    return table
  }

  test('limits the entities of a query', async () => {
    const table = await filled()
    const sas = tableSas(table, 'r', RANGE)
    const headers = { Accept: 'application/json;odata=nometadata' }
    const { text } = await send(server, { method: 'GET', path: `/${table}()`, headers, sign: sas })
    const rows: Record<string, string>[] = JSON.parse(text).value
    assert.deepEqual(
      rows.map((row) => `${row['PartitionKey']}${row['RowKey']}`),
      INSIDE,
    )
  })

  test('prevents reading and writing entities outside', async () => {
    const table = await filled()
    const sas = tableSas(table, 'raud', RANGE)
    for (const [partitionKey = '', rowKey = ''] of KEYS) {
      const isInside = INSIDE.includes(`${partitionKey}${rowKey}`)
      const path = entityPath(table, partitionKey, rowKey)
      const got = await send(server, { method: 'GET', path, sign: sas })
      assert.equal(outcome(got), isInside ? '200' : '404 ResourceNotFound')
      const put = await send(server, { method: 'PUT', path, body: '{}', sign: sas })
      assert.equal(outcome(put), isInside ? '204' : '403 AuthorizationFailure')
      const headers = { 'If-Match': '*' }
      const deleted = await send(server, { method: 'DELETE', path, headers, sign: sas })
      assert.equal(outcome(deleted), isInside ? '204' : '403 AuthorizationFailure')
    }
  })
})

describe('a batch', () => {
  const batch = (sas: string, ...requests: string[]) => {
    const parts = requests.map(
      (request) => `--c\r\nContent-Type: application/http\r\n\r\n${request}\r\n`,
    )
    const body = `--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n${parts.join('')}--c--\r\n--b--\r\n`
    const headers = { 'Content-Type': 'multipart/mixed; boundary=b' }
    return send(server, { method: 'POST', path: '/$batch', headers, body, sign: sas })
  }
  const adds = (table: string, partitionKey: string) =>
    `POST /${table} HTTP/1.1\r\nPrefer: return-no-content\r\n\r\n{"PartitionKey":"${partitionKey}","RowKey":"r"}`
  const puts = (table: string) => `PUT ${entityPath(table, 'b', 'put')} HTTP/1.1\r\n\r\n{}`

  test('needs permission for each of its parts', async () => {
    const table = await newTable(server)
    const other = await newTable(server)
    const range = { startPartitionKey: 'b', endPartitionKey: 'c' }
    const statusOf = async (sas: string, ...requests: string[]) => {
      const answer = await batch(sas, ...requests)
      if (answer.status !== 202) return outcome(answer)
      const code = /"code":"(\w+)"/.exec(answer.text)?.[1] ?? ''
      return `${/HTTP\/1\.1 (\d+)/.exec(answer.text)?.[1]} ${code}`.trim()
    }
    assert.equal(await statusOf(tableSas(table, 'a', range), adds(table, 'b')), '204')
    assert.equal(
      await statusOf(tableSas(table, 'a', range), adds(table, 'a')),
      '403 AuthorizationFailure',
    )
    assert.equal(
      await statusOf(tableSas(table, 'a'), puts(table)),
      '403 AuthorizationPermissionMismatch',
    )
    assert.equal(await statusOf(tableSas(table, 'au'), puts(table)), '204')
    assert.equal(await statusOf(tableSas(table, 'a'), adds(other, 'b')), '403 AuthorizationFailure')
    assert.equal((await batch('', adds(table, 'z'))).status, 401)
  })

  test('can use a stored policy', async () => {
    const table = await newTable(server)
    await setPolicy(table, 'writers', 'a')
    const sas = generateTableSas(table, credential, { identifier: 'writers' })
    assert.equal((await batch(sas, adds(table, 'b'))).status, 202)
  })
})

async function setPolicy(table: string, id: string, permission: string): Promise<void> {
  const expiry = expiresOn.toISOString()
  const body =
    `<SignedIdentifiers><SignedIdentifier><Id>${id}</Id><AccessPolicy><Expiry>${expiry}</Expiry>` +
    `<Permission>${permission}</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>`
  const headers = { 'Content-Type': 'application/xml' }
  const answer = await send(server, { method: 'PUT', path: `/${table}?comp=acl`, headers, body })
  assert.equal(answer.status, 204, answer.text)
}

test('a stored policy completes a SAS', async () => {
  const table = await newTable(server)
  await setPolicy(table, 'readers', 'r')
  const sas = generateTableSas(table, credential, { identifier: 'readers' })
  assert.equal(outcome(await use(sas, table, OPERATIONS[0])), '200')
  assert.equal(outcome(await use(sas, table, OPERATIONS[2])), '403 AuthorizationPermissionMismatch')
  const unknown = generateTableSas(table, credential, { identifier: 'nobody' })
  assert.equal(outcome(await use(unknown, table, OPERATIONS[0])), '403 AuthenticationFailed')
})

describe('an account SAS', () => {
  const accountSas = (permissions: AccountSasPermissions, resourceTypes: string) =>
    generateAccountSas(credential, {
      expiresOn,
      permissions,
      resourceTypes,
      services: { table: true },
    })

  test('needs l on containers to list tables and r on objects to read entities', async () => {
    const table = await newTable(server)
    const list = { method: 'GET', path: '/Tables' }
    const read = { method: 'GET', path: `/${table}()` }
    const lister = accountSas({ list: true }, 'c')
    const reader = accountSas({ query: true }, 'o')
    assert.equal(outcome(await send(server, { ...list, sign: lister })), '200')
    assert.equal(outcome(await send(server, { ...read, sign: reader })), '200')
    assert.equal(
      outcome(await send(server, { ...read, sign: lister })),
      '403 AuthorizationResourceTypeMismatch',
    )
    assert.equal(
      outcome(await send(server, { ...list, sign: accountSas({ query: true }, 'c') })),
      '403 AuthorizationPermissionMismatch',
    )
  })

  test('needs a and u to upsert', async () => {
    const table = await newTable(server)
    const upsert = OPERATIONS[5]
    const enough = accountSas({ add: true, update: true }, 'o')
    assert.equal(outcome(await use(enough, table, upsert)), '204')
    const short = accountSas({ add: true }, 'o')
    assert.equal(outcome(await use(short, table, upsert)), '403 AuthorizationPermissionMismatch')
  })
})
