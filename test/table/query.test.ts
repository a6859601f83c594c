// Query Entities over the wire: filters, projections, pages, formats.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { send, entityPath, newTable, insert, outcome, startTableFixture } from './fixture.ts'

const server = await startTableFixture()
const table = await newTable(server)

// prettier-ignore
const ENTITIES = [
  { PartitionKey: 'a', RowKey: '1', n: 1, s: 'x' },
  { PartitionKey: 'a', RowKey: '2', n: 2, flag: true },
  { PartitionKey: 'a', RowKey: '3', 'n@odata.type': 'Edm.Int64', n: '3' },
  { PartitionKey: 'b', RowKey: '1', 'd@odata.type': 'Edm.Double', d: 2.5 },
  { PartitionKey: "o'c", RowKey: '😀', 't@odata.type': 'Edm.DateTime', t: '2026-01-01T00:00:00Z' },
  { PartitionKey: 'ｚ', RowKey: '', 'g@odata.type': 'Edm.Guid', g: '11111111-2222-3333-4444-555555555555' },
]

for (const entity of ENTITIES) await insert(server, table, entity)

const get = (query: string, accept = 'application/json;odata=nometadata') =>
  send(server, { method: 'GET', path: `/${table}()?${query}`, headers: { accept } })

const rowsOf = (text: string): string[] =>
  JSON.parse(text).value.map(
    (row: Record<string, unknown>) => `${row['PartitionKey']}${row['RowKey']}`,
  )

const FILTERS = [
  ['', "a1 a2 a3 b1 o'c😀 ｚ"],
  ["PartitionKey eq 'a'", 'a1 a2 a3'],
  ["PartitionKey eq 'a' and RowKey gt '1' and RowKey le '3'", 'a2 a3'],
  ["PartitionKey eq 'o''c'", "o'c😀"],
  ["PartitionKey gt 'b'", "o'c😀 ｚ"],
  ["RowKey eq '1'", 'a1 b1'],
  ['n ge 2', 'a2 a3'],
  ['n eq 3L', 'a3'],
  ['n ne 1', 'a2 a3'],
  ['d lt 2.75', 'b1'],
  ['flag', 'a2'],
  ['not flag', "a1 a3 b1 o'c😀 ｚ"],
  ["t eq datetime'2026-01-01T00:00:00Z'", "o'c😀"],
  ["g eq guid'11111111-2222-3333-4444-555555555555'", 'ｚ'],
  ["s eq 'x' or flag eq true", 'a1 a2'],
  ["PartitionKey eq 'none'", ''],
] as const

describe('$filter', () => {
  for (const [filter, expected] of FILTERS) {
    test(`${filter} → ${expected}`, async () => {
      const answer = await get(filter === '' ? '' : `$filter=${encodeURIComponent(filter)}`)
      assert.equal(answer.status, 200, answer.text)
      assert.equal(rowsOf(answer.text).join(' '), expected)
    })
  }
})

const REFUSED = [
  ['$filter=n%20eq', '400 InvalidInput'],
  ["$filter=startswith(s,'x')", '501 NotImplemented'],
  ['$top=0', '400 InvalidInput'],
  ['$top=1001', '400 InvalidInput'],
  ['$orderby=n', '501 NotImplemented'],
  ['$what=1', '400 InvalidInput'],
  ['NextPartitionKey=x', '400 InvalidInput'],
  ['$format=atom', '415 AtomFormatNotSupported'],
] as const

describe('an invalid query:', () => {
  for (const [query, expected] of REFUSED) {
    test(`?${query} → ${expected}`, async () => assert.equal(outcome(await get(query)), expected))
  }
  test('of a missing table', async () => {
    const answer = await send(server, { method: 'GET', path: '/Missing()' })
    assert.equal(outcome(answer), '404 TableNotFound')
  })
  test('Accept: application/atom+xml', async () => {
    assert.equal(outcome(await get('', 'application/atom+xml')), '415 AtomFormatNotSupported')
  })
})

describe('pages', () => {
  const nextOf = (headers: NodeJS.Dict<string | string[]>) => {
    const [partition, row] = [
      headers['x-ms-continuation-nextpartitionkey'],
      headers['x-ms-continuation-nextrowkey'],
    ]
    if (partition === undefined) return undefined
    return `NextPartitionKey=${String(partition)}&NextRowKey=${String(row)}`
  }

  for (const top of [1, 2, 4, 6]) {
    test(`of $top=${top} return all entities`, async () => {
      const rows: string[] = []
      let next: string | undefined = ''
      let count = 0
      while (next !== undefined) {
        const answer = await get(`$top=${top}&${next}`)
        rows.push(...rowsOf(answer.text))
        next = nextOf(answer.headers)
        count += 1
      }
      assert.equal(rows.join(' '), FILTERS[0][1])
      assert.equal(count, Math.ceil(ENTITIES.length / top))
    })
  }

  test('continue even if the next entity was deleted', async () => {
    const other = await newTable(server)
    for (const RowKey of ['1', '2', '3']) await insert(server, other, { RowKey })
    const first = await send(server, { method: 'GET', path: `/${other}()?$top=1` })
    const deleted = {
      method: 'DELETE',
      path: entityPath(other, 'p', '2'),
      headers: { 'If-Match': '*' },
    }
    assert.equal((await send(server, deleted)).status, 204)
    const path = `/${other}()?${nextOf(first.headers)}`
    assert.deepEqual(rowsOf((await send(server, { method: 'GET', path })).text), ['p3'])
  })

  test('start at the partition without NextRowKey', async () => {
    const answer = await get('$top=3')
    const partition = String((await get('$top=4')).headers['x-ms-continuation-nextpartitionkey'])
    assert.equal(rowsOf(answer.text).length, 3)
    const rest = await get(`NextPartitionKey=${partition}`)
    assert.deepEqual(rowsOf(rest.text), ["o'c😀", 'ｚ'])
  })
})

describe('$select', () => {
  test('limits the properties of a list', async () => {
    const { text } = await get("$select=RowKey,s,n&$filter=PartitionKey%20eq%20'a'")
    assert.equal(
      text,
      '{"value":[{"RowKey":"1","s":"x","n":1},{"RowKey":"2","s":null,"n":2},' +
        '{"RowKey":"3","s":null,"n":"3"}]}',
    )
  })

  test('of one entity', async () => {
    const path = `${entityPath(table, 'a', '3')}?$select=n`
    const answer = await send(server, { method: 'GET', path })
    const etag = JSON.stringify(answer.headers.etag)
    assert.equal(
      answer.text,
      `{"odata.metadata":"${server.endpoint}/$metadata#${table}/@Element&$select=n",` +
        `"odata.etag":${etag},"n@odata.type":"Edm.Int64","n":"3"}`,
    )
  })
})

describe('a query of one entity', () => {
  test('returns the ETag in the header at every metadata level', async () => {
    for (const level of ['nometadata', 'minimalmetadata', 'fullmetadata']) {
      const headers = { Accept: `application/json;odata=${level}` }
      const answer = await send(server, {
        method: 'GET',
        path: entityPath(table, 'a', '1'),
        headers,
      })
      assert.match(String(answer.headers.etag), /^W\/"datetime'/)
      assert.equal(
        answer.headers['content-type'],
        `application/json;odata=${level};streaming=true;charset=utf-8`,
      )
      assert.equal(answer.text.includes('odata.etag'), level !== 'nometadata')
      assert.equal(answer.text.includes('odata.editLink'), level === 'fullmetadata')
    }
  })

  test('prefers $format to Accept', async () => {
    const format = encodeURIComponent('application/json;odata=fullmetadata')
    const answer = await get(`$format=${format}&$top=1`)
    assert.match(answer.text, /"odata\.type":"devstoreaccount1\.Table\d+"/)
  })

  const MISSING = [
    ['a', 'none', '404 ResourceNotFound'],
    ['x'.repeat(2000), 'none', '404 ResourceNotFound'],
  ] as const
  for (const [partitionKey, rowKey, expected] of MISSING) {
    test(`${partitionKey.slice(0, 5)}… ${rowKey} → ${expected}`, async () => {
      const path = entityPath(table, partitionKey, rowKey)
      assert.equal(outcome(await send(server, { method: 'GET', path })), expected)
    })
  }

  test('refuses an invalid path', async () => {
    const path = `/${table}(PartitionKey='a')`
    assert.equal(outcome(await send(server, { method: 'GET', path })), '400 InvalidInput')
  })
})
