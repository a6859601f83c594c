// Reading and writing delimited text.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { createDelimitedInput } from './csv.ts'
import { blobChunks, CSV } from '../run/example.ts'
import { createOutput } from './output.ts'
import type { DelimitedFormat } from './format.ts'

type Fields = readonly (readonly string[])[]

async function read(blob: string, format: DelimitedFormat, chunkBytes?: number): Promise<Fields> {
  const fields: (readonly string[])[] = []
  const input = createDelimitedInput(format, undefined)
  for await (const { rows, failure } of input.read(blobChunks(Buffer.from(blob), chunkBytes))) {
    assert.equal(failure, undefined)
    fields.push(...rows.map((row) => row.fields))
  }
  return fields
}

const ESCAPED: DelimitedFormat = { ...CSV, escapeChar: '\\' }
const BARE: DelimitedFormat = { ...CSV, fieldQuote: '' }

// prettier-ignore
const READS: readonly (readonly [blob: string, format: DelimitedFormat, rows: Fields])[] = [
  ['', CSV, []],
  ['a,b', CSV, [['a', 'b']]],
  ['a,b\nc\n', CSV, [['a', 'b'], ['c']]],
  ['a\r\n\r\nb\r\n', CSV, [['a'], [''], ['b']]],
  ['\ufeffa,b\n', CSV, [['a', 'b']]],
  [',\n', CSV, [['', '']]],
  ['"a,b","c\nd","e""f"\n', CSV, [['a,b', 'c\nd', 'e"f']]],
  ['"a"\r\n"b"', CSV, [['a'], ['b']]],
  ['a"b,c\n', CSV, [['a"b', 'c']]],
  ['"a"b,c\n', CSV, [['ab', 'c']]],
  ['"",""\n', CSV, [['', '']]],
  ['a\\,b,"c\\"d"\ne\\\nf\n', ESCAPED, [['a,b', 'c"d'], ['e\nf']]],
  ['a\\', ESCAPED, [['a\\']]],
  ['"a,b"\n', BARE, [['"a', 'b"']]],
  ['a||b;;c', { ...CSV, columnSeparator: '||', recordSeparator: ';;' }, [['a', 'b'], ['c']]],
  ['a\r\nb\n', { ...CSV, recordSeparator: '\r\n' }, [['a'], ['b\n']]],
  ['a\rb\r', { ...CSV, recordSeparator: '\r' }, [['a'], ['b']]],
  ['é,😀\n"é""😀"\n', CSV, [['é', '😀'], ['é"😀']]],
]

for (const [blob, format, rows] of READS) {
  test(`${JSON.stringify(blob)} is ${JSON.stringify(rows)}`, async () => {
    assert.deepEqual(await read(blob, format), rows)
    assert.deepEqual(await read(blob, format, 1), rows)
  })
}

const separators = fc.constantFrom(
  { columnSeparator: ',', recordSeparator: '\n' },
  { columnSeparator: '\t', recordSeparator: '\r\n' },
  { columnSeparator: '.', recordSeparator: '||' },
)
const marks = fc.constantFrom(
  { fieldQuote: '"', escapeChar: '' },
  { fieldQuote: '"', escapeChar: '\\' },
  { fieldQuote: "'", escapeChar: '^' },
)
const field = fc.string({ unit: fc.constantFrom(...'ab,.|"\'\\^\t\r\n€😀'), maxLength: 8 })
const rows = fc.array(fc.array(field, { minLength: 1, maxLength: 4 }), { maxLength: 8 })

test('written rows are read back unchanged, whatever the chunk size', async () => {
  const property = fc.asyncProperty(
    separators,
    marks,
    rows,
    fc.integer({ min: 1, max: 9 }),
    async (between, around, values, chunkBytes) => {
      const format: DelimitedFormat = { ...CSV, ...between, ...around }
      const output = createOutput(format)
      const text = values.map((row) => output.row({ names: [], values: row })).join('')
      assert.deepEqual(await read(text, format, chunkBytes), values)
    },
  )
  await fc.assert(property, { numRuns: 1000 })
})

test('a record larger than a piece is read whole, also if chunks split its characters', async () => {
  const long = '😀'.repeat(200_000)
  assert.deepEqual(await read(`a,${long}\nb\n`, CSV, 1001), [['a', long], ['b']])
})
