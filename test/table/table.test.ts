// Tables over the wire: made, found, described and deleted; and what every request of the service gets.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ask, freshTable, insert, outcome, startTableServer } from './table-server.ts'
import type { TableServer } from './table-server.ts'

let server: TableServer

before(async () => {
  server = await startTableServer()
})
after(() => server.close())

const create = (name: string, headers = {}) =>
  ask(server, {
    method: 'POST',
    path: '/Tables',
    headers,
    body: JSON.stringify({ TableName: name }),
  })
const remove = (name: string) => ask(server, { method: 'DELETE', path: `/Tables('${name}')` })
const get = (path: string, accept = 'application/json;odata=nometadata') =>
  ask(server, { method: 'GET', path, headers: { accept } })

describe('Create Table', () => {
  test('201 with the table', async () => {
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

  test('Prefer: return-no-content', async () => {
    const answer = await create('NoContent', { Prefer: 'return-no-content' })
    assert.equal(answer.status, 204)
    assert.equal(answer.text, '')
    assert.equal(answer.headers['preference-applied'], 'return-no-content')
    assert.equal(answer.headers['dataserviceid'], `${server.endpoint}/Tables('NoContent')`)
  })

  test('Prefer: return-content', async () => {
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

  test('bodies that name no table', async () => {
    const post = (body: string, type = 'application/json') =>
      ask(server, { method: 'POST', path: '/Tables', headers: { 'Content-Type': type }, body })
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
  test('page by page, by name without case', async () => {
    for (const name of ['Qb', 'qC', 'QA'].map((letter) => `${letter}Table`)) await create(name)
    const filter = `$filter=TableName ge 'qa' and TableName lt 'qz'`.replaceAll(' ', '%20')
    const first = await get(`/Tables?${filter}&$top=2`)
    assert.equal(first.text, '{"value":[{"TableName":"QATable"},{"TableName":"QbTable"}]}')
    const next = first.headers['x-ms-continuation-nexttablename']
    const second = await get(`/Tables?${filter}&$top=2&NextTableName=${String(next)}`)
    assert.equal(second.text, '{"value":[{"TableName":"qCTable"}]}')
    assert.equal(second.headers['x-ms-continuation-nexttablename'], undefined)
  })

  test('one of them', async () => {
    const name = await freshTable(server)
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
  test('its entities go with it, and the name is free at once', async () => {
    const name = await freshTable(server)
    await insert(server, name, {})
    assert.equal(outcome(await remove(name.toUpperCase())), '204')
    assert.equal(outcome(await remove(name)), '404 ResourceNotFound')
    assert.equal(outcome(await get(`/${name}()`)), '404 TableNotFound')
    assert.equal(outcome(await create(name)), '201')
    assert.equal((await get(`/${name}()`)).text, '{"value":[]}')
  })
})

describe('Table ACL', () => {
  const POLICY =
    '<SignedIdentifier><Id>a</Id><AccessPolicy><Start>2026-01-01T00:00:00.0000000Z</Start>' +
    '<Expiry>2027-01-01T00:00:00.0000000Z</Expiry><Permission>raud</Permission></AccessPolicy>' +
    '</SignedIdentifier>'
  const set = (table: string, body: string) =>
    ask(server, {
      method: 'PUT',
      path: `/${table}?comp=acl`,
      headers: { 'Content-Type': 'application/xml' },
      body,
    })

  test('is kept as it was set', async () => {
    const table = await freshTable(server)
    const xml = `<SignedIdentifiers>${POLICY}</SignedIdentifiers>`
    assert.equal(outcome(await set(table, xml)), '204')
    const answer = await ask(server, { method: 'GET', path: `/${table}?comp=acl` })
    assert.equal(answer.text, `<?xml version="1.0" encoding="utf-8"?>${xml}`)
    assert.equal(answer.headers['content-type'], 'application/xml')
  })

  test('refusals', async () => {
    const table = await freshTable(server)
    assert.equal(outcome(await set(table, '<x/>')), '400 InvalidXmlDocument')
    assert.equal(outcome(await set('Missing', '')), '404 TableNotFound')
    const answer = await ask(server, { method: 'GET', path: '/Missing?comp=acl' })
    assert.equal(outcome(answer), '404 TableNotFound')
  })
})

describe('every request', () => {
  test('errors are JSON, and say who and when', async () => {
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
      assert.equal(outcome(await ask(server, { method, path })), expected)
    })
  }

  test('the account may be named by the host', async () => {
    const headers = { Host: `devstoreaccount1.table.localhost:${server.port}` }
    const table = await freshTable(server)
    const path = `/Tables('${table}')`
    const answer = await ask(server, { method: 'GET', path, headers, wholePath: true })
    assert.equal(
      answer.text,
      `{"odata.metadata":"http://${headers.Host}/$metadata#Tables/@Element","TableName":"${table}"}`,
    )
  })

  test('a wrong signature, and none', async () => {
    const headers = { Authorization: 'SharedKey devstoreaccount1:AAAA' }
    const wrong = await ask(server, { method: 'GET', path: '/Tables', headers, sign: 'none' })
    assert.equal(outcome(wrong), '403 AuthenticationFailed')
    const none = await ask(server, { method: 'GET', path: '/Tables', sign: 'none' })
    assert.equal(none.status, 401)
  })

  test('CORS', async () => {
    const xml =
      '<StorageServiceProperties><Cors><CorsRule><AllowedOrigins>https://a.example</AllowedOrigins>' +
      '<AllowedMethods>GET</AllowedMethods><MaxAgeInSeconds>9</MaxAgeInSeconds>' +
      '<ExposedHeaders>*</ExposedHeaders><AllowedHeaders>*</AllowedHeaders></CorsRule></Cors>' +
      '</StorageServiceProperties>'
    const path = '/?restype=service&comp=properties'
    const headers = { 'Content-Type': 'application/xml' }
    assert.equal(outcome(await ask(server, { method: 'PUT', path, headers, body: xml })), '202')
    const preflight = await ask(server, {
      method: 'OPTIONS',
      path: "/T(PartitionKey='a',RowKey='b')",
      headers: { Origin: 'https://a.example', 'Access-Control-Request-Method': 'GET' },
      sign: 'none',
    })
    assert.equal(preflight.status, 200)
    const origin = { Origin: 'https://a.example' }
    const answer = await ask(server, { method: 'GET', path: '/Tables', headers: origin })
    assert.equal(answer.headers['access-control-allow-origin'], 'https://a.example')
  })
})
