// Queries that are rejected before the first byte, always with a QueryError.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { QUERY_LIMITS } from '../run/budget.ts'
import { ask, budgetOf, CSV, CSV_WITH_HEADERS, JSON_LINES, QUERY_NOW_MS } from '../run/example.ts'
import { prepareQuery } from '../run/query.ts'
import { QueryError } from '../query-error.ts'
import type { InputFormat, OutputFormat } from '../format/format.ts'

function prepare(expression: string, input: InputFormat = CSV, output: OutputFormat = CSV): void {
  prepareQuery({ expression, input, output }, QUERY_NOW_MS, budgetOf(QUERY_LIMITS))
}

const hasCode = (code: string) => (error: unknown) =>
  error instanceof QueryError && error.code === code

// prettier-ignore
const INVALID: readonly string[] = [
  '',
  'SELECT',
  'DELETE FROM BlobStorage',
  'SELECT * FROM Elsewhere',
  'SELECT * FROM BlobStorage WHERE',
  'SELECT * FROM BlobStorage WHERE _1 =',
  'SELECT * FROM BlobStorage WHERE _1 = 1 = 1',
  'SELECT * FROM BlobStorage LIMIT -1',
  'SELECT * FROM BlobStorage LIMIT 1.5',
  'SELECT * FROM BlobStorage; SELECT * FROM BlobStorage',
  'SELECT *, _1 FROM BlobStorage',
  'SELECT _1, FROM BlobStorage',
  'SELECT _0 FROM BlobStorage',
  "SELECT 'a FROM BlobStorage",
  'SELECT _1 # _2 FROM BlobStorage',
  'SELECT (_1 FROM BlobStorage',
  'SELECT CAST(_1 AS MONEY) FROM BlobStorage',
  'SELECT CASE END FROM BlobStorage',
  'SELECT SOUNDEX(_1) FROM BlobStorage',
  'SELECT LOWER() FROM BlobStorage',
  'SELECT __proto__(1) FROM BlobStorage',
  "SELECT DATE_ADD('fortnight', 1, _1) FROM BlobStorage",
  'SELECT _1 NOT FROM BlobStorage',
  'SELECT COUNT(*), SUM(_1) FROM BlobStorage',
  'SELECT SUM(_1) + 1 FROM BlobStorage',
  'SELECT SUM(*) FROM BlobStorage',
  'SELECT sys.split(10485759) FROM BlobStorage',
  'SELECT sys.split(10485760) FROM BlobStorage WHERE _1 = 1',
  // Delimited text without a header has only ordinals; no delimited text has paths.
  "SELECT * FROM BlobStorage WHERE Month = 'January'",
  'SELECT _1.a FROM BlobStorage',
  'SELECT * FROM BlobStorage[*].a',
  `SELECT ${'_1,'.repeat(49)}_1 FROM BlobStorage`,
  // Extremely deep and long
  `SELECT ${'('.repeat(100_000)}`,
  `SELECT ${'CASE WHEN '.repeat(20_000)}`,
  `SELECT _1${'[0]'.repeat(80_000)} FROM BlobStorage`,
  `SELECT '${'a'.repeat(256 * 1024)}' FROM BlobStorage`,
]

for (const expression of INVALID) {
  test(`rejected: ${expression.slice(0, 70)}`, () => {
    assert.throws(() => prepare(expression), hasCode('ErrorProcessingQueryExpression'))
  })
}

const LONG: readonly string[] = [
  `SELECT ${'1+'.repeat(120_000)}1 FROM BlobStorage`,
  `SELECT ${'-'.repeat(250_000)}1 FROM BlobStorage`,
  `SELECT * FROM BlobStorage WHERE ${'NOT '.repeat(60_000)}TRUE`,
  `SELECT * FROM BlobStorage WHERE ${'_1=1 OR '.repeat(30_000)}_1=2`,
  `SELECT * FROM BlobStorage WHERE _1 IN (${'1,'.repeat(120_000)}2)`,
  `SELECT '${"''".repeat(130_000)}' FROM BlobStorage`,
]

for (const expression of LONG) {
  test(`a long query that is neither deep nor slow runs: ${expression.slice(0, 50)}`, async () => {
    const { errors, text } = await ask(expression, '1\n')
    assert.deepEqual(errors, [])
    assert.notEqual(text, '')
  })
}

test('49 columns are allowed', () => prepare(`SELECT ${'_1,'.repeat(48)}_1 FROM BlobStorage`))

test('sys.split is only for delimited text', () => {
  const query = 'SELECT sys.split(10485760) FROM BlobStorage'
  assert.throws(() => prepare(query, JSON_LINES), hasCode('ErrorProcessingQueryExpression'))
})

test('the column separator must differ from the record separator', () => {
  const same = { ...CSV, columnSeparator: '\n' }
  const query = 'SELECT * FROM BlobStorage'
  assert.throws(() => prepare(query, same), hasCode('ErrorProcessingQueryExpression'))
  assert.throws(() => prepare(query, CSV, same), hasCode('ErrorProcessingQueryExpression'))
})

test('Parquet and Arrow are rejected as unsupported formats', () => {
  const query = 'SELECT * FROM BlobStorage'
  assert.throws(() => prepare(query, { type: 'parquet' }), hasCode('InvalidXmlNodeValue'))
  assert.throws(() => prepare(query, CSV, { type: 'arrow' }), hasCode('InvalidXmlNodeValue'))
})

const WORDS =
  "SELECT FROM WHERE LIMIT AS AND OR NOT IN IS LIKE ESCAPE BETWEEN NULL MISSING TRUE CASE WHEN THEN ELSE END CAST COUNT SUM MIN AVG TRIM LEADING BOTH EXTRACT YEAR SUBSTRING FOR DATE_ADD DATE_DIFF TO_STRING TO_TIMESTAMP UTCNOW COALESCE NULLIF CHAR_LENGTH LOWER sys split BlobStorage BlobStorage[*] INT STRING TIMESTAMP _1 _2 _9 a b.c \"a\" 'x' '%[a-z]_' '2017-01-01T00:00Z' 1 0 2.5 1e400 9223372036854775807 ( ) [ ] . , ; * + - / % = <> < >= ' \" 😀"

const word = fc.constantFrom(...WORDS.split(' '))
const soup = fc.array(word, { maxLength: 30 }).map((words) => words.join(' '))
const expression = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  soup,
  soup.map((words) => `SELECT ${words} FROM BlobStorage`),
  soup.map((words) => `SELECT * FROM BlobStorage WHERE ${words}`),
)
const input = fc.constantFrom<InputFormat>(
  CSV,
  CSV_WITH_HEADERS,
  { ...CSV, escapeChar: '\\', recordSeparator: 'ab', fieldQuote: '€' },
  JSON_LINES,
)
const blob = fc.oneof(
  fc.string({ unit: fc.constantFrom(...'ab1,"\\\n\r€.-{}[]:'), maxLength: 60 }),
  fc.array(fc.json({ maxDepth: 3 }), { maxLength: 4 }).map((values) => values.join('\n')),
  fc.uint8Array({ maxLength: 60 }),
)

test('any query over any blob throws nothing but QueryErrors', async () => {
  const property = fc.asyncProperty(
    expression,
    input,
    blob,
    fc.boolean(),
    async (query, format, bytes, asJson) => {
      try {
        const reply = await ask(query, bytes, {
          input: format,
          ...(asJson && { output: JSON_LINES }),
        })
        assert.equal(reply.messages.at(-1)?.kind, 'end')
      } catch (error) {
        if (!(error instanceof QueryError)) throw error
      }
    },
  )
  await fc.assert(property, { numRuns: 3000 })
})
