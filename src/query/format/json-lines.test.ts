// JSON records: delimited by their own syntax, with exact numbers and fields in order.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { ask, JSON_LINES } from '../run/example.ts'
import { parseJson } from './json.ts'
import { QueryError } from '../query-error.ts'
import { toJson } from '../language/value.ts'

const BOTH = { input: JSON_LINES, output: JSON_LINES }

// prettier-ignore
const ROUND: readonly string[] = [
  '{}', '[]', 'null', 'true', '"a\\"b"', '-1.5', '{"2":1,"1":2}', '9007199254740993', '[[[]]]',
  '{"a":{"b":[1,"x",false,null]}}', '"\\u20ac😀"', '9223372036854775807',
]

for (const text of ROUND) {
  test(`${text} is parsed and written back unchanged`, () => {
    assert.deepEqual(toJson(parseJson(text)), text.replace('\\u20ac', '€'))
  })
}

const WRONG = [
  '',
  '{',
  '[1',
  '"a',
  '{"a"}',
  '{"a":}',
  '[,]',
  '01',
  'tru',
  '"\u0001"',
  '[1]]',
  "{'a':1}",
]

for (const text of [...WRONG, '['.repeat(129), '"\\x"']) {
  test(`${JSON.stringify(text.slice(0, 20))} is rejected`, () => {
    assert.throws(
      () => parseJson(text),
      (error) => error instanceof QueryError && error.fatal,
    )
  })
}

test('parseJson agrees with JSON.parse', () => {
  const property = fc.property(fc.json(), fc.boolean(), (text, wide) => {
    const written = wide ? JSON.stringify(JSON.parse(text), undefined, 2) : text
    assert.deepEqual(JSON.parse(toJson(parseJson(written))), JSON.parse(text))
  })
  fc.assert(property, { numRuns: 1000 })
})

test('records are split with and without separators, whatever the chunk size', async () => {
  const record = fc.dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 2 }))
  const property = fc.asyncProperty(
    fc.array(record, { maxLength: 6 }),
    fc.constantFrom('', '\n', ' \r\n'),
    fc.integer({ min: 1, max: 7 }),
    async (records, between, chunkBytes) => {
      const texts = records.map((value) => JSON.stringify(value))
      const { text, errors } = await ask(
        'SELECT * FROM BlobStorage',
        texts.join(between),
        BOTH,
        chunkBytes,
      )
      assert.deepEqual(errors, [])
      assert.equal(text, texts.map((line) => `${line}\n`).join(''))
    },
  )
  await fc.assert(property, { numRuns: 500 })
})

test('a separator that is not whitespace is skipped between records', async () => {
  const input = { ...JSON_LINES, recordSeparator: ';;' }
  const { text } = await ask('SELECT a FROM BlobStorage', '{"a":1};;{"a":2};;', { input })
  assert.equal(text, '1\n2\n')
})
