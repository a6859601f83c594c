// Entity group transactions over the wire: their format, their responses, and atomicity.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { RawResponse } from '../harness.ts'
import { send, entityPath, newTable, insert, outcome, startTableFixture } from './fixture.ts'

const server = await startTableFixture()

type Part = readonly [method: string, url: string, body?: unknown, headers?: readonly string[]]

function partText([method, url, body, headers = []]: Part): string {
  const lines = [`${method} ${url} HTTP/1.1`, 'Accept: application/json;odata=minimalmetadata']
  if (body !== undefined) lines.push('Content-Type: application/json')
  lines.push(...headers, '', body === undefined ? '' : JSON.stringify(body))
  return `Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n${lines.join('\r\n')}\r\n`
}

function changeset(parts: readonly Part[]): string {
  const inner = parts.map((part) => `--changeset_1\r\n${partText(part)}`).join('')
  return `Content-Type: multipart/mixed; boundary=changeset_1\r\n\r\n${inner}--changeset_1--\r\n`
}

function post(sections: readonly string[], headers = {}): Promise<RawResponse> {
  const body = `${sections.map((section) => `--batch_1\r\n${section}`).join('')}--batch_1--\r\n`
  const type = { 'Content-Type': 'multipart/mixed; boundary=batch_1' }
  return send(server, { method: 'POST', path: '/$batch', headers: { ...type, ...headers }, body })
}

/** The status, code and first line of the message of each inner response. */
function answersOf({ text }: RawResponse): string[] {
  return text
    .split(/HTTP\/1\.1 /)
    .slice(1)
    .map((answer) => {
      const code = /"code":"(\w+)"/.exec(answer)?.[1]
      const message = /"value":"([^"\\]+)/.exec(answer)?.[1]
      return [answer.slice(0, 3), code, message].filter(Boolean).join(' ')
    })
}

async function rowsOf(table: string): Promise<string> {
  const headers = { Accept: 'application/json;odata=nometadata' }
  const { text } = await send(server, { method: 'GET', path: `/${table}()`, headers })
  const rows: Record<string, unknown>[] = JSON.parse(text).value
  return rows.map((row) => `${row['RowKey']}:${row['n'] ?? ''}`).join(' ')
}

const add = (table: string, RowKey: string, n?: unknown): Part => [
  'POST',
  `${server.endpoint}/${table}`,
  { PartitionKey: 'p', RowKey, n },
  ['Prefer: return-no-content'],
]
const at = (table: string, rowKey: string) => `${server.endpoint}${entityPath(table, 'p', rowKey)}`

describe('a changeset', () => {
  test('runs all operations and answers each in order', async () => {
    const table = await newTable(server)
    for (const RowKey of ['merged', 'replaced', 'deleted'])
      await insert(server, table, { RowKey, n: 0 })
    const answer = await post([
      changeset([
        add(table, 'added', 1),
        [
          'POST',
          `${server.endpoint}/${table}`,
          { PartitionKey: 'p', RowKey: 'shown', n: 2 },
          ['Content-ID: 7'],
        ],
        ['MERGE', at(table, 'merged'), { n: 3 }, ['If-Match: *']],
        ['PUT', at(table, 'replaced'), { n: 4 }, ['If-Match: *']],
        ['PATCH', at(table, 'upserted'), { n: 5 }],
        ['DELETE', at(table, 'deleted'), undefined, ['If-Match: *']],
      ]),
    ])
    assert.equal(answer.status, 202)
    assert.match(
      String(answer.headers['content-type']),
      /^multipart\/mixed; boundary=batchresponse_/,
    )
    assert.deepEqual(
      answersOf(answer).map((text) => text.slice(0, 3)),
      ['204', '201', '204', '204', '204', '204'],
    )
    assert.match(answer.text, /HTTP\/1\.1 201 Created\r\nContent-ID: 7\r\n/)
    assert.match(answer.text, /Preference-Applied: return-no-content\r\nDataServiceVersion: 3\.0;/)
    assert.match(answer.text, /Cache-Control: no-cache\r\nDataServiceVersion: 1\.0;\r\n\r\n/)
    assert.match(answer.text, /Preference-Applied: return-no-content\r\n/)
    assert.match(
      answer.text,
      new RegExp(`Location: ${server.endpoint}/${table}\\(PartitionKey='p',RowKey='added'\\)`),
    )
    assert.equal(answer.text.match(/ETag: W\/"datetime'/g)?.length, 5)
    assert.equal(await rowsOf(table), 'added:1 merged:3 replaced:4 shown:2 upserted:5')
  })

  test('can have up to 100 parts', async () => {
    const table = await newTable(server)
    const parts = Array.from({ length: 101 }, (_, n) => add(table, String(n).padStart(3, '0'), n))
    const refused = await post([changeset(parts)])
    assert.deepEqual(answersOf(refused), [
      '400 InvalidInput 99:The batch request operation exceeds the maximum 100 changes per change set.',
    ])
    assert.equal(await rowsOf(table), '')
    const taken = await post([changeset(parts.slice(1))])
    assert.equal(answersOf(taken).length, 100)
  })

  test('can have full URLs, paths, or paths without the account', async () => {
    const table = await newTable(server)
    const url = (text: string, RowKey: string): Part => [
      'POST',
      text,
      { PartitionKey: 'p', RowKey },
    ]
    const answer = await post([
      changeset([
        url(`${server.endpoint}/${table}`, 'a'),
        url(`/devstoreaccount1/${table}`, 'b'),
        url(`/${table}()?$format=json`, 'c'),
        url(table, 'd'),
      ]),
    ])
    assert.deepEqual(answersOf(answer), ['201', '201', '201', '201'])
  })
})

describe('a changeset that fails:', () => {
  const CASES: readonly (readonly [string, (table: string) => readonly Part[], string])[] = [
    ['an insert', (t) => [add(t, 'a'), add(t, 'old')], '409 EntityAlreadyExists 1:The specified entity already exists.'],
    ['an update', (t) => [add(t, 'a'), add(t, 'b'), ['PUT', at(t, 'none'), {}, ['If-Match: *']]], '404 ResourceNotFound 2:The specified resource does not exist.'],
    ['a stale ETag', (t) => [['MERGE', at(t, 'old'), {}, ['If-Match: W/"x"']], add(t, 'a')], '412 UpdateConditionNotSatisfied 0:The update condition specified in the request was not satisfied.'],
    ['a single update', (t) => [['PUT', at(t, 'none'), {}, ['If-Match: *']]], '404 ResourceNotFound The specified resource does not exist.'],
    ['a single stale ETag', (t) => [['MERGE', at(t, 'old'), {}, ['If-Match: W/"x"']]], '412 UpdateConditionNotSatisfied The update condition specified in the request was not satisfied.'],
    ['a single insert', (t) => [add(t, 'old')], '409 EntityAlreadyExists 0:The specified entity already exists.'],
    ['a delete without If-Match', (t) => [add(t, 'a'), ['DELETE', at(t, 'old')]], '400 InvalidInput 1:One of the request inputs is not valid.'],
    ['the same row twice', (t) => [add(t, 'a'), add(t, 'b'), add(t, 'a')], '400 InvalidDuplicateRow 2:The batch request contains multiple changes with same row key. An entity can appear only once in a batch request.'],
    ['another partition', (t) => [add(t, 'a'), ['POST', t, { PartitionKey: 'q', RowKey: 'b' }]], '400 CommandsInBatchActOnDifferentPartitions 1:All commands in a batch must operate on same entity group.'],
    ['another table', (t) => [add(t, 'a'), ['POST', 'Other', { PartitionKey: 'p', RowKey: 'b' }]], '400 CommandsInBatchActOnDifferentPartitions 1:All commands in a batch must operate on same entity group.'],
    ['an incomplete body', (t) => [add(t, 'a'), ['POST', t, { PartitionKey: 'p' }]], '400 PropertiesNeedValue 1:The values are not specified for all properties in the entity.'],
    ['an invalid value', (t) => [add(t, 'a', []), add(t, 'b')], '400 InvalidInput 0:One of the request inputs is not valid.'],
    ['a missing table', () => [add('Missing', 'a')], '404 TableNotFound 0:The table specified does not exist.'],
    ['a query among writes', (t) => [add(t, 'a'), ['GET', at(t, 'old')]], '400 InvalidInput 1:The batch is not valid. A query can not be in a changeset.'],
    ['a table among entities', (t) => [add(t, 'a'), ['POST', 'Tables', { TableName: 'Abc' }]], '400 InvalidInput 1:The batch is not valid. It is for entities.'],
  ] // prettier-ignore
  for (const [what, parts, expected] of CASES) {
    test(`${what} → ${expected}, and nothing changes`, async () => {
      const table = await newTable(server)
      await insert(server, table, { RowKey: 'old', n: 0 })
      const answer = await post([changeset(parts(table))])
      assert.equal(answer.status, 202)
      assert.deepEqual(answersOf(answer), [expected])
      assert.equal(await rowsOf(table), 'old:0')
    })
  }

  test('the response has the Content-ID of the failed part', async () => {
    const table = await newTable(server)
    const part: Part = ['POST', table, { PartitionKey: 'p' }, ['Content-ID: 9']]
    const answer = await post([changeset([add(table, 'a'), part])])
    assert.match(answer.text, /HTTP\/1\.1 400 Bad Request\r\nContent-ID: 9\r\n/)
  })

  test('a Content-ID in the headers of the inner request is not returned', async () => {
    const table = await newTable(server)
    const labelled = changeset([add(table, 'a')]).replace(
      'binary\r\n',
      'binary\r\nContent-ID: 0\r\n',
    )
    const answer = await post([labelled])
    assert.match(answer.text, /HTTP\/1\.1 204 No Content\r\nX-Content-Type-Options: nosniff\r\n/)
    assert.doesNotMatch(answer.text, /Content-ID/)
  })

  test('the failed part has its own headers', async () => {
    const table = await newTable(server)
    const headersOf = async (part: Part) => {
      const { text } = await post([changeset([part])])
      return /HTTP\/1\.1 ([^{]*)\r\n\r\n/.exec(text)?.[1]?.split('\r\n')
    }
    const type = 'application/json;odata=minimalmetadata;streaming=true;charset=utf-8'
    const [nosniff, version] = ['X-Content-Type-Options: nosniff', 'DataServiceVersion: 3.0;']
    assert.deepEqual(await headersOf(['DELETE', at(table, 'a'), undefined, ['If-Match: *']]), [
      '404 Not Found',
      nosniff,
      'Cache-Control: no-cache',
      version,
      `Content-Type: ${type}`,
    ])
    assert.deepEqual(await headersOf(add('missing', 'a')), [
      '404 Not Found',
      nosniff,
      version,
      `Content-Type: ${type}`,
    ])
  })
})

describe('a batch with a query', () => {
  test('of one entity returns it', async () => {
    const table = await newTable(server)
    await insert(server, table, { RowKey: 'a', n: 1 })
    const answer = await post([partText(['GET', at(table, 'a')])])
    assert.equal(answer.status, 202)
    assert.doesNotMatch(answer.text, /changesetresponse/)
    assert.match(answer.text, /HTTP\/1\.1 200 OK\r\n/)
    assert.match(answer.text, /"RowKey":"a".*"n":1}/)
  })

  test('of many entities returns them, and of a missing one an error', async () => {
    const table = await newTable(server)
    await insert(server, table, { RowKey: 'a', n: 1 })
    const many = await post([partText(['GET', `${server.endpoint}/${table}()?$filter=n%20eq%201`])])
    assert.match(many.text, /"value":\[\{[^\]]*"RowKey":"a"/)
    const none = await post([partText(['GET', at(table, 'none')])])
    assert.equal(none.status, 202)
    assert.deepEqual(answersOf(none), [
      '404 ResourceNotFound The specified resource does not exist.',
    ])
  })
})

describe('an invalid batch:', () => {
  test('malformed parts', async () => {
    const table = await newTable(server)
    const query = partText(['GET', at(table, 'a')])
    const one = changeset([add(table, 'a')])
    assert.equal(outcome(await post([])), '400 InvalidInput')
    assert.equal(outcome(await post([changeset([])])), '400 InvalidInput')
    assert.equal(outcome(await post([one, one])), '400 InvalidInput')
    assert.equal(outcome(await post([query, query])), '400 InvalidInput')
    assert.equal(outcome(await post([one, query])), '400 InvalidInput')
    assert.equal(outcome(await post([partText(add(table, 'a'))])), '400 InvalidInput')
    assert.equal(await rowsOf(table), '')
  })

  test('wrong headers and sizes', async () => {
    const json = { 'Content-Type': 'application/json' }
    assert.equal(outcome(await post([], json)), '400 InvalidHeaderValue')
    const long = 'x'.repeat(4 * 1024 * 1024)
    assert.equal(outcome(await post([long])), '413 RequestBodyTooLarge')
  })
})
