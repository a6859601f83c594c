// Addresses of the Table service, decoded from the raw path.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeTableSegments } from '../../http/protocol/query.ts'
import { StorageError } from '../../storage/shared/error.ts'
import { entityKeys, entityPath, isBatch, isTables, tableLevel, namedTable } from './address.ts'

const at = (rawPath: string) => ({ account: 'a', path: decodeTableSegments(rawPath) })

const LEVELS = [
  ['', 'service'],
  ['Tables', 'container'],
  ['tables', 'container'],
  ['Tables()', 'container'],
  ["Tables('T')", 'object'],
  ['Tables(%27T%27)', 'object'],
  ['$batch', 'container'],
  ['T', 'container'],
  ['T/', 'container'],
  ['T()', 'container'],
  ['T%28%29', 'container'],
  ["T(PartitionKey='a',RowKey='b')", 'object'],
  ["T(PartitionKey='a/b',RowKey='b')", 'object'],
] as const

for (const [rawPath, level] of LEVELS) {
  test(`/${rawPath} has the level ${level}`, () => assert.equal(tableLevel(at(rawPath)), level))
}

test('$metadata is not implemented', () => {
  assert.throws(() => tableLevel(at('$metadata')), { code: 'NotImplemented' })
})

test('Tables and $batch are distinguished from tables', () => {
  assert.deepEqual(
    ['Tables', "Tables('T')", 'T', '$batch'].map((path) => isTables(at(path))),
    [true, true, false, false],
  )
  assert.deepEqual(
    ['$batch', 'T'].map((path) => isBatch(at(path))),
    [true, false],
  )
})

const KEYS = [
  ["(PartitionKey='a',RowKey='b')", 'a', 'b'],
  ["(PartitionKey='a', RowKey='b')", 'a', 'b'],
  ["(RowKey='b',PartitionKey='a')", 'a', 'b'],
  ["(PartitionKey='',RowKey='')", '', ''],
  ["(PartitionKey='it''s',RowKey='''')", "it's", "'"],
  ['(PartitionKey=%27it%27%27s%27,RowKey=%27b%27)', "it's", 'b'],
  ["(PartitionKey='a%20b',RowKey='%C3%A4')", 'a b', 'ä'],
  ["(PartitionKey='a+b',RowKey='%2B')", 'a+b', '+'],
  ["(PartitionKey='a%2Fb',RowKey='%25')", 'a/b', '%'],
  ["(PartitionKey='a,RowKey=',RowKey='()')", 'a,RowKey=', '()'],
] as const

for (const [keys, partitionKey, rowKey] of KEYS) {
  test(`${keys} → ${JSON.stringify([partitionKey, rowKey])}`, () => {
    assert.deepEqual(entityKeys(at(`T${keys}`)), { partitionKey, rowKey })
  })
}

const MALFORMED = [
  "(PartitionKey='a')",
  "(PartitionKey='a',PartitionKey='b')",
  "(PartitionKey='it's',RowKey='b')",
  '(PartitionKey="a",RowKey="b")',
  "(partitionkey='a',rowkey='b')",
  "(PartitionKey='a',RowKey='b'",
  "(PartitionKey='a',RowKey='b')x",
  "('a','b')",
  '(',
]

for (const keys of MALFORMED) {
  test(`${keys} is an error in query syntax`, () => {
    assert.throws(() => entityKeys(at(`T${keys}`)), {
      code: 'InvalidInput',
      message: 'Bad Request - Error in query syntax.',
    })
  })
}

test("Tables('name') addresses a table", () => {
  assert.deepEqual(namedTable(at("Tables('Abc')")), { account: 'a', table: 'Abc' })
  assert.throws(() => namedTable(at("Tables('a-b-c')")), { code: 'InvalidResourceName' })
  assert.throws(() => namedTable(at("Tables('ab')")), { code: 'OutOfRangeInput' })
  assert.throws(() => namedTable(at('Tables(abc)')), { code: 'InvalidInput' })
})

test('paths in answers decode to the same keys', () => {
  for (const [, partitionKey, rowKey] of KEYS) {
    const keys = { partitionKey, rowKey }
    const path = entityPath('T', keys)
    assert.match(path, /^[\x21-\x7e]+$/)
    assert.deepEqual(entityKeys(at(path)), keys)
  }
  assert.equal(
    entityPath('T', { partitionKey: '\ud800', rowKey: "o'r" }),
    "T(PartitionKey='%EF%BF%BD',RowKey='o''r')",
  )
})

test('an invalid percent-encoding is refused', () => {
  assert.throws(() => at("T(PartitionKey='%ff',RowKey='')"), StorageError)
})
