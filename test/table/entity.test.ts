// Entities over the wire: the six writes with and without If-Match, their responses and errors.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  send,
  entityPath,
  newTable,
  getEntity,
  insert,
  outcome,
  startTableFixture,
} from './fixture.ts'

const server = await startTableFixture()

const AT = (table: string) => entityPath(table, 'p', 'r')
const STALE = `W/"datetime'2020-01-01T00%3A00%3A00.0000000Z'"`

const write = (method: string, table: string, headers = {}, body = '{"B":2}') =>
  send(server, { method, path: AT(table), headers, ...(method !== 'DELETE' && { body }) })

/** The properties of the entity, without system properties. */
async function stored(table: string): Promise<unknown> {
  const answer = await getEntity(server, table)
  if (answer.status !== 200) return undefined
  const { PartitionKey: _p, RowKey: _r, Timestamp: _t, ...rest } = JSON.parse(answer.text)
  return rest
}

// table.md 2: method, If-Match, on a missing entity, on { A: 1 }, the entity afterwards
const WRITES = [
  ['PUT', undefined, '204', '204', { B: 2 }],
  ['PUT', '*', '404 ResourceNotFound', '204', { B: 2 }],
  ['PUT', 'current', '404 ResourceNotFound', '204', { B: 2 }],
  ['PUT', 'stale', '404 ResourceNotFound', '412 UpdateConditionNotSatisfied', { A: 1 }],
  ['MERGE', undefined, '204', '204', { A: 1, B: 2 }],
  ['MERGE', '*', '404 ResourceNotFound', '204', { A: 1, B: 2 }],
  ['MERGE', 'current', '404 ResourceNotFound', '204', { A: 1, B: 2 }],
  ['MERGE', 'stale', '404 ResourceNotFound', '412 UpdateConditionNotSatisfied', { A: 1 }],
  ['PATCH', undefined, '204', '204', { A: 1, B: 2 }],
  ['PATCH', 'current', '404 ResourceNotFound', '204', { A: 1, B: 2 }],
  ['PATCH', 'stale', '404 ResourceNotFound', '412 UpdateConditionNotSatisfied', { A: 1 }],
  ['DELETE', undefined, '400 InvalidInput', '400 InvalidInput', { A: 1 }],
  ['DELETE', '*', '404 ResourceNotFound', '204', undefined],
  ['DELETE', 'current', '404 ResourceNotFound', '204', undefined],
  ['DELETE', 'stale', '404 ResourceNotFound', '412 UpdateConditionNotSatisfied', { A: 1 }],
] as const

for (const [method, match, onMissing, onPresent, left] of WRITES) {
  test(`${method} with If-Match ${match}: ${onMissing}, ${onPresent}`, async () => {
    const table = await newTable(server)
    const header = (etag: string) => (match === undefined ? {} : { 'If-Match': etag })
    const before = header(match === '*' ? '*' : STALE)
    assert.equal(outcome(await write(method, table, before)), onMissing)
    await send(server, { method: 'DELETE', path: AT(table), headers: { 'If-Match': '*' } })
    const etag = String((await insert(server, table, { A: 1 })).headers.etag)
    const values = { '*': '*', current: etag, stale: STALE, undefined: '' }
    const answer = await write(method, table, header(values[match ?? 'undefined']))
    assert.equal(outcome(answer), onPresent)
    assert.deepEqual(await stored(table), left)
    if (onPresent !== '204' || left === undefined) return
    assert.notEqual(answer.headers.etag, etag)
    assert.equal(answer.headers.etag, (await getEntity(server, table)).headers.etag)
  })
}

describe('If-Match', () => {
  const MALFORMED = ['x', '"strong"', 'W/"a", W/"b"', "datetime'2020'", 'W/"a']
  for (const etag of MALFORMED) {
    test(`${etag} → 400 InvalidInput`, async () => {
      const table = await newTable(server)
      await insert(server, table, {})
      for (const method of ['PUT', 'MERGE', 'DELETE']) {
        const answer = await write(method, table, { 'If-Match': etag })
        assert.equal(outcome(answer), '400 InvalidInput')
      }
    })
  }

  test('with unescaped colons is accepted', async () => {
    const table = await newTable(server)
    const etag = String((await insert(server, table, {})).headers.etag)
    const headers = { 'If-Match': decodeURIComponent(etag) }
    assert.equal(outcome(await write('MERGE', table, headers)), '204')
  })

  test('cannot be replaced by If-None-Match', async () => {
    const table = await newTable(server)
    for (const method of ['PUT', 'MERGE', 'DELETE']) {
      const headers = { 'If-None-Match': '*', 'If-Match': '*' }
      assert.equal(outcome(await write(method, table, headers)), '400 InvalidInput')
    }
  })
})

describe('Insert Entity', () => {
  test('returns 201 with the entity and its location', async () => {
    const table = await newTable(server)
    const answer = await insert(server, table, { A: 1 })
    const { headers } = answer
    const etag = String(headers.etag)
    assert.match(etag, /^W\/"datetime'\d{4}-\d\d-\d\dT\d\d%3A\d\d%3A\d\d\.\d{7}Z'"$/)
    const time = decodeURIComponent(etag.slice(12, -2))
    assert.equal(
      answer.text,
      `{"odata.metadata":"${server.endpoint}/$metadata#${table}/@Element",` +
        `"odata.etag":${JSON.stringify(etag)},"PartitionKey":"p","RowKey":"r",` +
        `"Timestamp":"${time}","A":1}`,
    )
    assert.equal(headers.location, `${server.endpoint}/${table}(PartitionKey='p',RowKey='r')`)
  })

  test('follows the Prefer header', async () => {
    const table = await newTable(server)
    const post = (prefer: string, rowKey: string) =>
      send(server, {
        method: 'POST',
        path: `/${table}()`,
        headers: { Prefer: prefer },
        body: JSON.stringify({ PartitionKey: 'p', RowKey: rowKey }),
      })
    const none = await post('return-no-content', 'a')
    assert.deepEqual([none.status, none.text], [204, ''])
    assert.equal(none.headers['preference-applied'], 'return-no-content')
    assert.equal(none.headers['dataserviceid'], none.headers.location)
    assert.match(String(none.headers.etag), /^W\//)
    const some = await post('return-content', 'b')
    assert.equal(some.status, 201)
    assert.equal(some.headers['preference-applied'], 'return-content')
  })

  const long = (length: number) => 'x'.repeat(length)
  const named = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`P${at}`, at]))
  const BODIES = [
    ['without a RowKey', { PartitionKey: 'p' }, '400 PropertiesNeedValue'],
    ['without a PartitionKey', { RowKey: 'r' }, '400 PropertiesNeedValue'],
    ['with null for a key', { PartitionKey: 'p', RowKey: null }, '400 PropertiesNeedValue'],
    ['with empty keys', { PartitionKey: '', RowKey: '' }, '201'],
    ['with a key of 1 KiB', { PartitionKey: long(512), RowKey: '' }, '201'],
    [
      'with a key above 1 KiB',
      { PartitionKey: long(513), RowKey: '' },
      '400 PropertyValueTooLarge',
    ],
    ['with a slash in a key', { PartitionKey: 'a/b', RowKey: '' }, '400 OutOfRangeInput'],
    [
      'with a control character in a key',
      { PartitionKey: 'p', RowKey: '\u0085' },
      '400 OutOfRangeInput',
    ],
    ['with 252 properties', { PartitionKey: 'n', RowKey: '', ...named(252) }, '201'],
    [
      'with 253 properties',
      { PartitionKey: 'n', RowKey: '1', ...named(253) },
      '400 TooManyProperties',
    ],
    ['with 64 KiB', { PartitionKey: 'l', RowKey: '', A: long(32 * 1024) }, '201'],
    [
      'with more than 64 KiB',
      { PartitionKey: 'l', RowKey: '1', A: long(32 * 1024 + 1) },
      '400 PropertyValueTooLarge',
    ],
    [
      'with a name that is not a C# identifier',
      { PartitionKey: 'x', RowKey: '', 'a-b': 1 },
      '400 PropertyNameInvalid',
    ],
    [
      'with a long name',
      { PartitionKey: 'x', RowKey: '', [long(256)]: 1 },
      '400 PropertyNameTooLong',
    ],
    [
      'of more than 1 MiB',
      {
        PartitionKey: 'x',
        RowKey: '',
        ...Object.fromEntries(Object.keys(named(17)).map((name) => [name, long(32 * 1024)])),
      },
      '400 EntityTooLarge',
    ],
    ['with a list', { PartitionKey: 'x', RowKey: '', A: [1] }, '400 InvalidInput'],
  ] as const
  test('accepts or refuses bodies', async (t) => {
    const table = await newTable(server)
    for (const [what, body, expected] of BODIES) {
      await t.test(`${what} → ${expected}`, async () => {
        const path = `/${table}`
        const answer = await send(server, { method: 'POST', path, body: JSON.stringify(body) })
        assert.equal(outcome(answer), expected, answer.text)
      })
    }
  })

  test('is refused for an existing entity and a missing table', async () => {
    const table = await newTable(server)
    await insert(server, table, {})
    const body = '{"PartitionKey":"p","RowKey":"r"}'
    const twice = await send(server, { method: 'POST', path: `/${table}`, body })
    assert.equal(outcome(twice), '409 EntityAlreadyExists')
    const missing = await send(server, { method: 'POST', path: '/Missing', body })
    assert.equal(outcome(missing), '404 TableNotFound')
    const name = await send(server, { method: 'POST', path: '/a-b-c', body })
    assert.equal(outcome(name), '400 InvalidResourceName')
    const doubled = '{"PartitionKey":"p","RowKey":"r2","A":1,"A":1}'
    const duplicate = await send(server, { method: 'POST', path: `/${table}`, body: doubled })
    assert.equal(outcome(duplicate), '400 DuplicatePropertiesSpecified')
  })

  test('with an unknown response format inserts nothing', async () => {
    const table = await newTable(server)
    const body = '{"PartitionKey":"p","RowKey":"r"}'
    const atom = { Accept: 'application/atom+xml' }
    const refused = await send(server, { method: 'POST', path: `/${table}`, headers: atom, body })
    assert.equal(outcome(refused), '415 AtomFormatNotSupported')
    assert.equal(outcome(await getEntity(server, table)), '404 ResourceNotFound')
    const headers = { ...atom, Prefer: 'return-no-content' }
    const taken = await send(server, { method: 'POST', path: `/${table}`, headers, body })
    assert.equal(outcome(taken), '204')
  })

  test('limits the body to 4 MiB', async () => {
    const table = await newTable(server)
    const body = ' '.repeat(4 * 1024 * 1024 + 1)
    const answer = await send(server, { method: 'POST', path: `/${table}`, body })
    assert.equal(outcome(answer), '413 RequestBodyTooLarge')
  })
})

describe('keys in the body', () => {
  test('have to match the path or be left out', async () => {
    const table = await newTable(server)
    const put = (body: string) => write('PUT', table, {}, body)
    assert.equal(outcome(await put('{"PartitionKey":"p","RowKey":"r"}')), '204')
    assert.equal(outcome(await put('{}')), '204')
    assert.equal(outcome(await put('{"PartitionKey":"q","RowKey":"r"}')), '400 InvalidInput')
    assert.equal(outcome(await put('{"RowKey":"s"}')), '400 InvalidInput')
  })
})

test('null keeps a property in a merge and removes it in a replace; a merge can change a type', async () => {
  const table = await newTable(server)
  await insert(server, table, { A: 1, B: 'x', C: true })
  await write('MERGE', table, {}, '{"A":null,"B":2.0,"Timestamp":"2000-01-01T00:00:00Z"}')
  assert.deepEqual(await stored(table), { A: 1, B: 2, C: true })
  await write('PUT', table, { 'If-Match': '*' }, '{"A":null,"C":false}')
  assert.deepEqual(await stored(table), { C: false })
})

test('every write changes the ETag, even if the clock stands still', async () => {
  const table = await newTable(server)
  const etags = [String((await insert(server, table, {})).headers.etag)]
  for (const method of ['PUT', 'MERGE', 'PATCH', 'PUT']) {
    etags.push(String((await write(method, table, { 'If-Match': etags.at(-1) })).headers.etag))
  }
  assert.equal(new Set(etags).size, 5)
})

describe('X-HTTP-Method', () => {
  const tunnel = (method: string, value: string | string[], table: string, more = {}) =>
    send(server, {
      method,
      path: AT(table),
      headers: { 'X-HTTP-Method': value, ...more },
      ...(value !== 'DELETE' && { body: '{"B":2}' }),
    })

  test('replaces the method', async () => {
    const table = await newTable(server)
    await insert(server, table, { A: 1 })
    assert.equal(outcome(await tunnel('POST', 'MERGE', table)), '204')
    assert.deepEqual(await stored(table), { A: 1, B: 2 })
    assert.equal(outcome(await tunnel('POST', 'put', table, { 'If-Match': '*' })), '204')
    assert.deepEqual(await stored(table), { B: 2 })
    assert.equal(outcome(await tunnel('POST', 'DELETE', table)), '400 InvalidInput')
    assert.equal(outcome(await tunnel('POST', 'DELETE', table, { 'If-Match': '*' })), '204')
  })

  test('is refused for other methods', async () => {
    const table = await newTable(server)
    assert.equal(outcome(await tunnel('PUT', 'MERGE', table)), '400 XMethodNotUsingPost')
    assert.equal(outcome(await tunnel('POST', 'GET', table)), '400 XMethodIncorrectValue')
    assert.equal(
      outcome(await tunnel('POST', ['PUT', 'MERGE'], table)),
      '400 XMethodIncorrectCount',
    )
  })
})

test("the metadata has the table's name as spelled in the request, also when read again", async () => {
  const table = await newTable(server)
  await insert(server, table, { A: 1 })
  for (const level of ['minimalmetadata', 'fullmetadata']) {
    const upper = table.toUpperCase()
    for (const name of [upper, upper, upper, table.toLowerCase(), table, table, upper]) {
      const { text } = await getEntity(server, name, `application/json;odata=${level}`)
      const read = JSON.parse(text)
      assert.equal(read['odata.metadata'], `${server.endpoint}/$metadata#${name}/@Element`)
      if (level === 'fullmetadata') assert.match(read['odata.editLink'], new RegExp(`^${name}\\(`))
    }
  }
})
