// Tables over the wire: create, query, ACL and delete; and the common behaviour of all requests of the service.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { send, newTable, insert, outcome, startTableFixture } from './fixture.ts'

const server = await startTableFixture()

const create = (name: string, headers = {}) =>
  send(server, {
    method: 'POST',
    path: '/Tables',
    headers,
    body: JSON.stringify({ TableName: name }),
  })
const remove = (name: string) => send(server, { method: 'DELETE', path: `/Tables('${name}')` })
const get = (path: string, accept = 'application/json;odata=nometadata') =>
  send(server, { method: 'GET', path, headers: { accept } })

describe('Create Table', () => {
  test('returns 201 with the table', async () => {
    const answer = await create('Created')
    assert.equal(answer.status, 201)
    assert.equal(
      answer.text,
      `{"odata.metadata":"${server.endpoint}/$metadata#Tables/@Element","TableName":"Created"}`,
    )
    const { headers } = answer
    assert.equal(headers.location, `${server.endpoint}/Tables('Created')`)
    assert.equal(headers['cache-control'], 'no-cache')
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.equal(headers.server, 'Windows-Azure-Table/1.0 Microsoft-HTTPAPI/2.0')
    assert.equal(
      headers['content-type'],
      'application/json;odata=minimalmetadata;streaming=true;charset=utf-8',
    )
    assert.equal(headers['preference-applied'], undefined)
  })

  test('returns no content with Prefer: return-no-content', async () => {
    const answer = await create('NoContent', { Prefer: 'return-no-content' })
    assert.equal(answer.status, 204)
    assert.equal(answer.text, '')
    assert.equal(answer.headers['preference-applied'], 'return-no-content')
    assert.equal(answer.headers['dataserviceid'], `${server.endpoint}/Tables('NoContent')`)
  })

  test('returns the table with Prefer: return-content', async () => {
    const answer = await create('Content', { Prefer: 'return-content' })
    assert.equal(answer.status, 201)
    assert.equal(answer.headers['preference-applied'], 'return-content')
  })

  const NAMES = [
    ['ab', '400 OutOfRangeInput'],
    ['a'.repeat(64), '400 OutOfRangeInput'],
    ['with-dash', '400 InvalidResourceName'],
    ['1digit', '400 InvalidResourceName'],
    ['tables', '400 InvalidResourceName'],
    ['Abc', '201'],
    ['aBC', '409 TableAlreadyExists'],
    ['a'.repeat(63), '201'],
  ] as const
  for (const [name, expected] of NAMES) {
    test(`${name} → ${expected}`, async () => assert.equal(outcome(await create(name)), expected))
  }

  test('refuses bodies without a table name', async () => {
    const post = (body: string, type = 'application/json') =>
      send(server, { method: 'POST', path: '/Tables', headers: { 'Content-Type': type }, body })
    assert.equal(outcome(await post('')), '400 InvalidInput')
    assert.equal(outcome(await post('{"TableName":1}')), '400 InvalidInput')
    assert.equal(outcome(await post('{}')), '400 PropertiesNeedValue')
    assert.equal(
      outcome(await post('<entry/>', 'application/atom+xml')),
      '415 AtomFormatNotSupported',
    )
  })
})

describe('Query Tables and Get Table', () => {
  test('return tables in pages, ordered by name without regard to case', async () => {
    for (const name of ['Qb', 'qC', 'QA'].map((letter) => `${letter}Table`)) await create(name)
    const filter = `$filter=TableName ge 'qa' and TableName lt 'qz'`.replaceAll(' ', '%20')
    const first = await get(`/Tables?${filter}&$top=2`)
    assert.equal(first.text, '{"value":[{"TableName":"QATable"},{"TableName":"QbTable"}]}')
    const next = first.headers['x-ms-continuation-nexttablename']
    const second = await get(`/Tables?${filter}&$top=2&NextTableName=${String(next)}`)
    assert.equal(second.text, '{"value":[{"TableName":"qCTable"}]}')
    assert.equal(second.headers['x-ms-continuation-nexttablename'], undefined)
  })

  test('return one table', async () => {
    const name = await newTable(server)
    assert.equal((await get(`/Tables('${name.toLowerCase()}')`)).text, `{"TableName":"${name}"}`)
    assert.equal(outcome(await get("/Tables('Missing')")), '404 ResourceNotFound')
  })

  const REFUSED = [
    ['/Tables?$filter=TableName', '400 InvalidInput'],
    ['/Tables?$top=1001', '400 InvalidInput'],
    ['/Tables?$orderby=TableName', '501 NotImplemented'],
    ['/Tables?NextTableName=x', '400 InvalidInput'],
    ['/Tables(abc)', '400 InvalidInput'],
    ['/$metadata', '501 NotImplemented'],
  ] as const
  for (const [path, expected] of REFUSED) {
    test(`GET ${path} → ${expected}`, async () => assert.equal(outcome(await get(path)), expected))
  }
})

describe('Delete Table', () => {
  test('deletes the entities and frees the name at once', async () => {
    const name = await newTable(server)
    await insert(server, name, {})
    assert.equal(outcome(await remove(name.toUpperCase())), '204')
    assert.equal(outcome(await remove(name)), '404 ResourceNotFound')
    assert.equal(outcome(await get(`/${name}()`)), '404 TableNotFound')
    assert.equal(outcome(await create(name)), '201')
    assert.equal((await get(`/${name}()`)).text, '{"value":[]}')
  })
})

describe('the ACL of a table', () => {
  const POLICY =
    '<SignedIdentifier><Id>a</Id><AccessPolicy><Start>2026-01-01T00:00:00.0000000Z</Start>' +
    '<Expiry>2027-01-01T00:00:00.0000000Z</Expiry><Permission>raud</Permission></AccessPolicy>' +
    '</SignedIdentifier>'
  const set = (table: string, body: string) =>
    send(server, {
      method: 'PUT',
      path: `/${table}?comp=acl`,
      headers: { 'Content-Type': 'application/xml' },
      body,
    })

  test('is returned as set', async () => {
    const table = await newTable(server)
    const xml = `<SignedIdentifiers>${POLICY}</SignedIdentifiers>`
    assert.equal(outcome(await set(table, xml)), '204')
    const answer = await send(server, { method: 'GET', path: `/${table}?comp=acl` })
    assert.equal(answer.text, `<?xml version="1.0" encoding="utf-8"?>${xml}`)
    assert.equal(answer.headers['content-type'], 'application/xml')
  })

  test('is refused if invalid', async () => {
    const table = await newTable(server)
    assert.equal(outcome(await set(table, '<x/>')), '400 InvalidXmlDocument')
    assert.equal(outcome(await set('Missing', '')), '404 TableNotFound')
    const answer = await send(server, { method: 'GET', path: '/Missing?comp=acl' })
    assert.equal(outcome(answer), '404 TableNotFound')
  })
})

describe('all requests:', () => {
  test('errors are JSON with request id and time', async () => {
    const answer = await get('/Missing()')
    assert.match(String(answer.headers['content-type']), /^application\/json;odata=minimalmetadata/)
    const id = String(answer.headers['x-ms-request-id'])
    assert.match(
      answer.text,
      new RegExp(
        String.raw`^\{"odata\.error":\{"code":"TableNotFound","message":\{"lang":"en-US",` +
          String.raw`"value":"The table specified does not exist\.\\nRequestId:${id}\\nTime:[^"]+Z"\}\}\}$`,
      ),
    )
  })

  const METHODS = [
    ['PUT', '/Tables', '405 MethodNotAllowed'],
    ['PUT', "/Tables('abc')", '405 MethodNotAllowed'],
    ['DELETE', '/abc', '405 MethodNotAllowed'],
    ['POST', "/abc(PartitionKey='a',RowKey='b')", '405 MethodNotAllowed'],
    ['GET', '/$batch', '405 MethodNotAllowed'],
    ['GET', '/?restype=service&comp=stats', '400 InvalidQueryParameterValue'],
    ['GET', '/a-b?comp=acl', '400 InvalidResourceName'],
    ['GET', '/abc?comp=nothing', '400 InvalidQueryParameterValue'],
  ] as const
  for (const [method, path, expected] of METHODS) {
    test(`${method} ${path} → ${expected}`, async () => {
      assert.equal(outcome(await send(server, { method, path })), expected)
    })
  }

  test('the host can name the account', async () => {
    const headers = { Host: `devstoreaccount1.table.localhost:${server.tablePort}` }
    const table = await newTable(server)
    const path = `/Tables('${table}')`
    const answer = await send(server, { method: 'GET', path, headers, wholePath: true })
    assert.equal(
      answer.text,
      `{"odata.metadata":"http://${headers.Host}/$metadata#Tables/@Element","TableName":"${table}"}`,
    )
  })

  test('a wrong or missing signature is refused', async () => {
    const headers = { Authorization: 'SharedKey devstoreaccount1:AAAA' }
    const wrong = await send(server, { method: 'GET', path: '/Tables', headers, sign: 'none' })
    assert.equal(outcome(wrong), '403 AuthenticationFailed')
    const none = await send(server, { method: 'GET', path: '/Tables', sign: 'none' })
    assert.equal(none.status, 401)
  })

  test('CORS rules apply', async () => {
    const xml =
      '<StorageServiceProperties><Cors><CorsRule><AllowedOrigins>https://a.example</AllowedOrigins>' +
      '<AllowedMethods>GET</AllowedMethods><MaxAgeInSeconds>9</MaxAgeInSeconds>' +
      '<ExposedHeaders>*</ExposedHeaders><AllowedHeaders>*</AllowedHeaders></CorsRule></Cors>' +
      '</StorageServiceProperties>'
    const path = '/?restype=service&comp=properties'
    const headers = { 'Content-Type': 'application/xml' }
    assert.equal(outcome(await send(server, { method: 'PUT', path, headers, body: xml })), '202')
    const preflight = await send(server, {
      method: 'OPTIONS',
      path: "/T(PartitionKey='a',RowKey='b')",
      headers: { Origin: 'https://a.example', 'Access-Control-Request-Method': 'GET' },
      sign: 'none',
    })
    assert.equal(preflight.status, 200)
    const origin = { Origin: 'https://a.example' }
    const answer = await send(server, { method: 'GET', path: '/Tables', headers: origin })
    assert.equal(answer.headers['access-control-allow-origin'], 'https://a.example')
  })
})
