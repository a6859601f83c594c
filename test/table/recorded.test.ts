// Responses of the Table service compared with those recorded from Azure in the SDKs' own tests: headers and the format
// of errors.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { RawResponse } from '../harness.ts'
import { ownHeaders } from '../own-headers.ts'
import { send, entityPath, newTable, insert, outcome, startTableFixture } from './fixture.ts'

const server = await startTableFixture()

const JSON_HEADERS = 'cache-control content-type x-content-type-options'
const NO_CONTENT = 'cache-control x-content-type-options'

function write(method: string, table: string, row: string, headers = {}): Promise<RawResponse> {
  const isInsert = method === 'POST'
  const path = isInsert ? `/${table}` : entityPath(table, 'p', row)
  const entity = JSON.stringify({ PartitionKey: 'p', RowKey: row })
  const body = method === 'DELETE' ? {} : { body: entity }
  return send(server, { method, path, headers, ...body })
}

describe('headers of responses:', () => {
  test('no response has DataServiceVersion', async () => {
    const table = await newTable(server)
    const created = await write('POST', table, 'a')
    assert.equal(
      ownHeaders(created),
      `cache-control content-type etag location x-content-type-options`,
    )
    const quiet = await write('POST', table, 'b', { Prefer: 'return-no-content' })
    assert.equal(
      ownHeaders(quiet),
      'cache-control dataserviceid etag location preference-applied x-content-type-options',
    )
    const put = await write('PUT', table, 'a', { 'If-Match': '*' })
    assert.equal(ownHeaders(put), `cache-control etag x-content-type-options`)
    assert.equal(ownHeaders(await write('DELETE', table, 'a', { 'If-Match': '*' })), NO_CONTENT)
    for (const path of ['/Tables', `/${table}()`]) {
      assert.equal(ownHeaders(await send(server, { method: 'GET', path })), JSON_HEADERS)
    }
  })

  test('an access policy has no Cache-Control', async () => {
    const path = `/${await newTable(server)}?comp=acl`
    assert.equal(ownHeaders(await send(server, { method: 'GET', path })), 'content-type')
  })
})

describe('errors', () => {
  test('of operations on tables or entities have no code in the headers', async () => {
    const table = await newTable(server)
    await insert(server, table, { RowKey: 'a' })
    const conflict = await write('POST', table, 'a')
    assert.equal(outcome(conflict), '409 EntityAlreadyExists')
    assert.equal(ownHeaders(conflict), JSON_HEADERS)
    assert.equal(
      conflict.headers['content-type'],
      'application/json;odata=minimalmetadata;streaming=true;charset=utf-8',
    )
    const missing = await send(server, { method: 'DELETE', path: "/Tables('missing')" })
    assert.equal(outcome(missing), '404 ResourceNotFound')
    assert.equal(ownHeaders(missing), JSON_HEADERS)
  })

  test('of a missing table and of a malformed filter have no Cache-Control', async () => {
    const answer = await write('POST', 'missing', 'a')
    assert.equal(outcome(answer), '404 TableNotFound')
    assert.equal(ownHeaders(answer), 'content-type x-content-type-options')
    const path = `/${await newTable(server)}()?$filter=aaa%20bbb%20ccc`
    const malformed = await send(server, { method: 'GET', path })
    assert.equal(outcome(malformed), '400 InvalidInput')
    assert.match(malformed.text, /"Syntax error at position 7 in 'aaa bbb ccc'\./)
    assert.equal(ownHeaders(malformed), 'content-type x-content-type-options')
  })

  test('before an operation runs have the code in the headers', async () => {
    const headers = { Authorization: 'SharedKey a:AAAA' }
    const answer = await send(server, { method: 'GET', path: '/Tables', headers, sign: 'none' })
    assert.equal(answer.status, 403)
    assert.equal(answer.headers['content-type'], 'application/json')
    assert.equal(answer.headers['x-ms-error-code'], 'AuthenticationFailed')
    assert.equal(answer.headers['x-content-type-options'], undefined)
  })

  test('of operations with comp are XML', async () => {
    const table = await newTable(server)
    const policies = '<SignedIdentifier><Id>i</Id></SignedIdentifier>'.repeat(6)
    const answer = await send(server, {
      method: 'PUT',
      path: `/${table}?comp=acl`,
      headers: { 'content-type': 'application/xml' },
      body: `<SignedIdentifiers>${policies}</SignedIdentifiers>`,
    })
    assert.equal(outcome(answer), '400 InvalidXmlDocument')
    assert.equal(ownHeaders(answer), 'content-type x-ms-error-code')
    assert.equal(answer.headers['content-type'], 'application/xml')
    assert.match(
      answer.text,
      /^<\?xml version="1\.0" encoding="utf-8"\?><m:error xmlns:m="http:\/\/schemas\.microsoft\.com\/ado\/2007\/08\/dataservices\/metadata"><m:code>InvalidXmlDocument<\/m:code><m:message xml:lang="en-US">XML specified is not syntactically valid\.\nRequestId:[^<]*<\/m:message><\/m:error>$/,
    )
    const stats = await send(server, { method: 'GET', path: '/?restype=service&comp=stats' })
    assert.equal(outcome(stats), '400 InvalidQueryParameterValue')
    assert.match(stats.text, /<m:error /)
  })

  test('of a path below a table are those of a missing table', async () => {
    const table = await newTable(server)
    for (const path of ['/mytable/Tables', `/${table}/Tables`]) {
      const answer = await send(server, { method: 'POST', path, body: '{"TableName":"new"}' })
      assert.equal(outcome(answer), '404 TableNotFound')
    }
  })

  test("of an invalid character in a name have Azure's spelling", async () => {
    const body = JSON.stringify({ TableName: 'my_table' })
    const answer = await send(server, { method: 'POST', path: '/Tables', body })
    assert.equal(outcome(answer), '400 InvalidResourceName')
    assert.match(answer.text, /The specifed resource name contains invalid characters\./)
  })
})
