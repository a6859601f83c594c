// Query Blob Contents by the SDK and by raw requests: SQL over CSV and JSON, read by the SDK's own Avro reader.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { BlockBlobClient, BlockBlobQueryOptions } from '@azure/storage-blob'
import { startBlobFixture } from './fixture.ts'

const { container, send } = await startBlobFixture()
const CSV = 'name,city,age\nAda,London,36\nAlan,"Bletchley, Park",41\nGrace,New York,85\n'
const JSON_LINES = '{"name":"Ada","age":36}\n{"name":"Grace","age":85,"tags":["navy"]}\n'

await container.getBlockBlobClient('people.csv').upload(CSV, CSV.length)
await container.getBlockBlobClient('people.json').upload(JSON_LINES, JSON_LINES.length)
const CSV_WITH_HEADER = {
  kind: 'csv',
  hasHeaders: true,
  recordSeparator: '\n',
  fieldQuote: '"',
} as const
const JSON_TEXT = { kind: 'json', recordSeparator: '\n' } as const

async function query(blob: string | BlockBlobClient, sql: string, options: BlockBlobQueryOptions) {
  const client = typeof blob === 'string' ? container.getBlockBlobClient(blob) : blob
  const { readableStreamBody } = await client.query(sql, options)
  assert(readableStreamBody !== undefined)
  const chunks: Buffer[] = []
  for await (const chunk of readableStreamBody) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString()
}

describe('a query', () => {
  const csv = { inputTextConfiguration: CSV_WITH_HEADER }
  const json = { inputTextConfiguration: JSON_TEXT, outputTextConfiguration: JSON_TEXT }
  const rows: readonly (readonly [string, string, BlockBlobQueryOptions, string])[] = [
    ['people.csv', 'SELECT * FROM BlobStorage', {}, CSV],
    ['people.csv', 'SELECT name FROM BlobStorage WHERE age > 40', csv, 'Alan\nGrace\n'],
    ['people.csv', "SELECT city FROM BlobStorage WHERE name = 'Alan'", csv, '"Bletchley, Park"\n'],
    ['people.csv', 'SELECT COUNT(*) FROM BlobStorage', csv, '3\n'],
    ['people.csv', 'SELECT name FROM BlobStorage LIMIT 1', csv, 'Ada\n'],
    ['people.csv', 'SELECT _1 FROM BlobStorage', {}, 'name\nAda\nAlan\nGrace\n'],
    ['people.json', 'SELECT name FROM BlobStorage WHERE age < 40', json, '{"name":"Ada"}\n'],
    ['people.json', 'SELECT name, age FROM BlobStorage', { inputTextConfiguration: JSON_TEXT }, 'Ada,36\nGrace,85\n'],
    ['people.csv', 'SELECT name, age FROM BlobStorage', { ...csv, outputTextConfiguration: JSON_TEXT },
      '{"name":"Ada","age":"36"}\n{"name":"Alan","age":"41"}\n{"name":"Grace","age":"85"}\n'],
  ] // prettier-ignore
  for (const [blob, sql, options, expected] of rows) {
    test(`${sql} of ${blob}`, async () => assert.equal(await query(blob, sql, options), expected))
  }

  test('of a blob longer than a record reports its progress', async () => {
    const line = `${'x'.repeat(99)}\n`
    const text = line.repeat(90_000)
    const big = container.getBlockBlobClient('big.csv')
    await big.upload(text, text.length)
    const seen: number[] = []
    const onProgress = ({ loadedBytes }: { loadedBytes: number }) => seen.push(loadedBytes)
    assert.equal(await query(big, 'SELECT COUNT(*) FROM BlobStorage', { onProgress }), '90000\n')
    assert.equal(seen.at(-1), text.length)
    assert(seen.length >= 2)
  })

  test('of a snapshot reads the snapshot', async () => {
    const blob = container.getBlockBlobClient('changing')
    await blob.upload('old\n', 4)
    const { snapshot = '' } = await blob.createSnapshot()
    await blob.upload('new\n', 4)
    const then = blob.withSnapshot(snapshot)
    assert.equal(await query(then, 'SELECT * FROM BlobStorage', {}), 'old\n')
  })

  test('reports rows that it cannot read and continues', async () => {
    const errors: string[] = []
    const onError = ({ name }: { name: string }) => errors.push(name)
    const sql = 'SELECT name FROM BlobStorage WHERE CAST(city AS INT) = 1'
    assert.equal(await query('people.csv', sql, { ...csv, onError }), '')
    assert(errors.length > 0 && errors.every((name) => name === 'InvalidTypeConversion'))
  })

  test('checks conditions like any read', async () => {
    const conditions = { ifMatch: '"0x0"' }
    await assert.rejects(query('people.csv', 'SELECT * FROM BlobStorage', { conditions }), {
      statusCode: 412,
      code: 'ConditionNotMet',
    })
  })
})

test('the response is chunked, since its length is unknown', async () => {
  const expression = '<Expression>SELECT * FROM BlobStorage</Expression>'
  const body = `<?xml version="1.0"?><QueryRequest><QueryType>SQL</QueryType>${expression}</QueryRequest>`
  const path = '/box/people.csv?comp=query'
  const { headers } = await send('POST', path, {}, body)
  assert.deepEqual(
    [headers['transfer-encoding'], headers['content-length'], headers['connection']],
    ['chunked', undefined, 'keep-alive'],
  )
})

describe('an invalid query:', () => {
  const document = (inner: string) => `<?xml version="1.0"?><QueryRequest>${inner}</QueryRequest>`
  const sql = '<QueryType>SQL</QueryType>'
  const all = '<Expression>SELECT * FROM BlobStorage</Expression>'
  const input = (type: string) =>
    `<InputSerialization><Format><Type>${type}</Type></Format></InputSerialization>`
  const cases: readonly (readonly [string, string, number, string])[] = [
    ['a body that is not XML', 'SELECT', 400, 'InvalidXmlDocument'],
    ['another document', '<A/>', 400, 'InvalidXmlDocument'],
    ['another language', document(`<QueryType>XPath</QueryType>${all}`), 400, 'InvalidXmlNodeValue'],
    ['no expression', document(sql), 400, 'MissingRequiredXmlNode'],
    ['bad SQL', document(`${sql}<Expression>SELEKT</Expression>`), 400, 'ErrorProcessingQueryExpression'],
    ['Parquet', document(`${sql}${all}${input('parquet')}`), 400, 'InvalidXmlNodeValue'],
    ['an unknown format', document(`${sql}${all}${input('xlsx')}`), 400, 'InvalidXmlNodeValue'],
  ] // prettier-ignore
  for (const [what, body, status, code] of cases) {
    test(`${what} → ${status} ${code}`, async () => {
      const path = '/box/people.csv?comp=query'
      const answer = await send('POST', path, {}, body)
      assert.deepEqual([answer.status, answer.headers['x-ms-error-code']], [status, code])
    })
  }

  test('a missing blob → 404, a page blob → 409', async () => {
    const body = document(`${sql}${all}`)
    const post = (name: string) => send('POST', `/box/${name}?comp=query`, {}, body)
    assert.equal((await post('none')).headers['x-ms-error-code'], 'BlobNotFound')
    await container.getPageBlobClient('pages').create(512)
    assert.equal((await post('pages')).headers['x-ms-error-code'], 'InvalidBlobType')
  })
})
