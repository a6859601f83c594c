// Query Blob Contents: the SQL, the formats of blobs, and the Avro and Arrow of answers.
import { tableFromIPC } from 'apache-arrow'
import { ask, budgetOf, JSON_LINES } from '../../../src/query/run/example.ts'
import { CSV, CSV_WITH_HEADERS, decodeAvro, SYNC_MARKER } from '../../../src/query/run/example.ts'
import { QUERY_NOW_MS } from '../../../src/query/run/example.ts'
import { createQueryAnswer } from '../../../src/query/format/answer.ts'
import { encodeAvroHeader } from '../../../src/query/format/avro.ts'
import { parseStatement } from '../../../src/query/language/parse.ts'
import { parseSqlTimestamp } from '../../../src/query/language/timestamp.ts'
import { prepareQuery } from '../../../src/query/run/query.ts'
import { QueryError } from '../../../src/query/query-error.ts'
import { encodeArrowStream } from '../../../src/rest/blob/list/arrow.ts'
import { target, textOf } from '../target.ts'

const SQL_WORDS = [
  'SELECT ', ' FROM BlobStorage', ' WHERE ', ' LIMIT ', ' AND ', ' OR ', 'NOT ', ' LIKE ', " ESCAPE '!'", ' BETWEEN ',
  ' IN (', ' IS NULL', 'CASE WHEN ', ' THEN ', ' ELSE ', ' END', 'CAST(', ' AS ', 'COUNT(*)', 'SUM(', 'AVG(', '_1', '"a"',
  'TO_TIMESTAMP(', 'DATE_ADD(', 'DATE_DIFF(', 'EXTRACT(', 'SUBSTRING(', 'TRIM(', 'COALESCE(', 'NULLIF(', 'UTCNOW()',
  'sys.split(5)', '[0]', '[*]', '.', '*', '+', '-', '/', '%', '||', '<>', '!=', '(', ')', "'%'", '1e308', '-9223372036854775808',
] // prettier-ignore

/** Small enough that a query over a few bytes that is not stopped is noticed. */
const LIMITS = {
  rowUnitsMax: 100_000,
  baseUnits: 100_000,
  unitsPerByte: 100,
  baseMs: 30_000,
  msPerMib: 120_000,
}

const EXPRESSIONS = [
  "SELECT * FROM BlobStorage WHERE _1 LIKE '%b%' AND _2 > 3 LIMIT 5",
  "SELECT _1, CAST(_2 AS INT) + 1 AS x, SUBSTRING(_1, 1, 2) FROM BlobStorage AS s WHERE s._1 IN ('a', 'b')",
  'SELECT COUNT(*), SUM(CAST(_2 AS FLOAT)), AVG(_2), MIN(_1) FROM BlobStorage WHERE _1 IS NOT NULL',
  "SELECT DATE_ADD(day, 1, TO_TIMESTAMP(_1)), CASE WHEN _2 = 1 THEN 'x' ELSE 'y' END FROM BlobStorage",
  'SELECT s.a[0].b, s."c d" FROM BlobStorage[*].x s',
  'SELECT sys.split(10) FROM BlobStorage',
]
const CSV_BLOB = 'a,1,2026-01-15T12:00:00Z\n"b ""q""",2.5,\n\r\nc,x\n'
const JSON_BLOB = '{"a":[{"b":1}],"c d":"e","x":[1,2]}\n{"a":null}\n'

export const QUERY_TARGETS = [
  target({
    name: 'sql',
    seeds: EXPRESSIONS,
    words: SQL_WORDS,
    lengthMax: 16_384,
    decode: (input) => parseStatement(textOf(input)),
    refuses: [QueryError],
  }),
  target({
    name: 'sql-run',
    seeds: EXPRESSIONS,
    words: SQL_WORDS,
    lengthMax: 2_048,
    decode: async (input) => {
      const csv = await ask(textOf(input), CSV_BLOB, {}, 7, LIMITS)
      const json = textOf(input).includes('sys.split')
        ? undefined
        : await ask(textOf(input), JSON_BLOB, { input: JSON_LINES }, 7, LIMITS)
      return { csv: csv.text, json: json?.text }
    },
    refuses: [QueryError],
  }),
  target({
    name: 'delimited',
    seeds: [CSV_BLOB, '\u00ef\u00bb\u00bfh1,h2\n1,"2\n3"\n'],
    words: ['"', '""', ',', '\n', '\r\n', '\r', '\\', '\u00ef\u00bb\u00bf'],
    decode: async (input) => {
      const format = { input: CSV_WITH_HEADERS, output: CSV }
      const whole = await ask('SELECT * FROM BlobStorage', input, format, 65_536, LIMITS)
      return { input, text: whole.text, errors: whole.errors.length }
    },
    // However the blob is cut into chunks, it means the same.
    again: async ({ input }) => {
      const format = { input: CSV_WITH_HEADERS, output: CSV }
      const parts = await ask('SELECT * FROM BlobStorage', input, format, 3, LIMITS)
      return { input, text: parts.text, errors: parts.errors.length }
    },
    refuses: [QueryError],
  }),
  target({
    name: 'json-lines',
    seeds: [JSON_BLOB, '[1]\n"a"\n1e400\n', '{"a":{"a":{"a":{}}}}'],
    words: ['{"a":', '[', ']', '}', '"', '\\u', '\n', ',', 'null', '1e999', '"__proto__":'],
    decode: async (input) => {
      const whole = await ask(
        'SELECT * FROM BlobStorage',
        input,
        { input: JSON_LINES, output: JSON_LINES },
        65_536,
        LIMITS,
      )
      return { input, text: whole.text, errors: whole.errors.length }
    },
    again: async ({ input }) => {
      const parts = await ask(
        'SELECT * FROM BlobStorage',
        input,
        { input: JSON_LINES, output: JSON_LINES },
        3,
        LIMITS,
      )
      return { input, text: parts.text, errors: parts.errors.length }
    },
    refuses: [QueryError],
  }),
  target({
    name: 'sql-timestamp',
    seeds: ['2026-01-15T12:00:00.123Z', '2026T', '2026-01T', '2026-01-15T12:00+02:00'],
    decode: (input) => parseSqlTimestamp(input.toString('latin1')),
    refuses: [],
  }),
  target({
    name: 'query-prepare',
    seeds: EXPRESSIONS,
    words: SQL_WORDS,
    decode: (input) => {
      const request = { expression: textOf(input), input: CSV, output: CSV }
      prepareQuery(request, QUERY_NOW_MS, budgetOf(LIMITS))
      return 'prepared'
    },
    refuses: [QueryError],
  }),
  target({
    name: 'avro',
    seeds: ['hello', ''],
    lengthMax: 8_192,
    // Lazuli writes Avro and reads none: what it writes is read by the decoder of the tests.
    decode: (input) => {
      const text = textOf(input)
      const answer = createQueryAnswer(input.length, SYNC_MARKER)
      answer.add(text)
      answer.scanned(input.length)
      answer.progress()
      answer.end()
      const bytes = Buffer.concat([encodeAvroHeader(SYNC_MARKER), ...answer.take()])
      const data = decodeAvro(bytes).filter(({ kind }) => kind === 'resultData')
      return {
        text,
        read: Buffer.concat(data.map(({ fields }) => fields['data'] as Buffer)).toString(),
      }
    },
    again: ({ text }) => ({ text, read: text }),
    refuses: [],
  }),
  target({
    name: 'arrow',
    seeds: ['a,b,c', 'caf\u00e9', ''],
    lengthMax: 1_024,
    // The same for Arrow, with the reader of the Arrow project.
    decode: async (input) => {
      const texts = input.toString('utf8').split(',')
      const values = texts.map((text) => (text === '' ? undefined : text))
      const columns = [{ name: 'T', type: 'text', values }] as const
      const table = tableFromIPC(await encodeArrowStream(columns, new Map([['m', texts[0] ?? '']])))
      const column = table.getChild('T')
      const read = values.map((_, at): unknown => column?.get(at) ?? undefined)
      return { read, values }
    },
    again: ({ values }) => ({ read: values, values }),
    refuses: [],
  }),
]
