import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareKeys, encodeKey } from '../../kv/key.ts'
import { parseFilter } from './filter-parse.ts'
import {
  ENTITY_KEY_LENGTH_MAX,
  entityKeyRangeOf,
  scanRangeOf,
  tableRangeOf,
  type EntityKeyRange,
  type StringRange,
} from './key-range.ts'

const ALL: StringRange = { from: '', to: undefined }
const NONE: StringRange = { from: '', to: '' }
const NOWHERE: EntityKeyRange = { partition: NONE, row: NONE }
const one = (key: string): StringRange => ({ from: key, to: `${key}\0` })

const RANGES: readonly (readonly [text: string, range: EntityKeyRange])[] = [
  ['', { partition: ALL, row: ALL }],
  ['A eq 1', { partition: ALL, row: ALL }],
  ['false', NOWHERE],
  // A point, a partition, rows of a partition
  [`PartitionKey eq 'p' and RowKey eq 'r'`, { partition: one('p'), row: one('r') }],
  [`('r' eq RowKey) and ((A gt 1) and ('p' eq PartitionKey))`, { partition: one('p'), row: one('r') }],
  [`PartitionKey eq 'p'`, { partition: one('p'), row: ALL }],
  [`PartitionKey eq 'p' and A eq 1`, { partition: one('p'), row: ALL }],
  [`PartitionKey eq 'p' and RowKey ge 'a' and RowKey lt 'b'`, { partition: one('p'), row: { from: 'a', to: 'b' } }],
  [`PartitionKey eq 'p' and RowKey gt 'a' and RowKey le 'b'`, { partition: one('p'), row: { from: 'a\0', to: 'b\0' } }],
  [`PartitionKey eq 'p' and RowKey gt 'a'`, { partition: one('p'), row: { from: 'a\0', to: undefined } }],
  [`PartitionKey eq 'p' and (RowKey eq 'a' or RowKey eq 'c')`, { partition: one('p'), row: { from: 'a', to: 'c\0' } }],
  // Partitions
  [`PartitionKey ge 'p' and PartitionKey lt 'q'`, { partition: { from: 'p', to: 'q' }, row: ALL }],
  [`PartitionKey gt 'p' and PartitionKey ge 'p'`, { partition: { from: 'p\0', to: undefined }, row: ALL }],
  [`PartitionKey eq 'p' or PartitionKey eq 'q'`, { partition: { from: 'p', to: 'q\0' }, row: ALL }],
  [`RowKey eq 'r'`, { partition: ALL, row: one('r') }],
  [`PartitionKey eq 'p' or A eq 1`, { partition: ALL, row: ALL }],
  [`(PartitionKey eq 'p' and RowKey eq 'r') or (PartitionKey eq 'q' and RowKey eq 's')`, { partition: { from: 'p', to: 'q\0' }, row: { from: 'r', to: 's\0' } }],
  [`PartitionKey ne 'p'`, { partition: ALL, row: ALL }],
  // not
  [`not (PartitionKey lt 'p')`, { partition: { from: 'p', to: undefined }, row: ALL }],
  [`not (PartitionKey ne 'p' or RowKey ne 'r')`, { partition: one('p'), row: one('r') }],
  [`not (PartitionKey gt 'p' and A eq 1)`, { partition: ALL, row: ALL }],
  [`PartitionKey eq 'p' and not (A eq 1)`, { partition: one('p'), row: ALL }],
  ['not true', NOWHERE],
  // Contradictions
  [`PartitionKey eq 'p' and PartitionKey eq 'q'`, NOWHERE],
  [`PartitionKey eq 'p' and RowKey gt 'b' and RowKey lt 'a'`, NOWHERE],
  [`RowKey lt ''`, { partition: ALL, row: NONE }],
  [`(PartitionKey eq 'a' and PartitionKey eq 'z') or PartitionKey eq 'p'`, { partition: one('p'), row: ALL }],
  [`(PartitionKey eq 'a' and RowKey lt '') or (PartitionKey eq 'p' and RowKey eq 'r')`, { partition: one('p'), row: one('r') }],
] // prettier-ignore

for (const [text, range] of RANGES) {
  test(`${text} → ${JSON.stringify(range)}`, () => {
    assert.deepEqual(entityKeyRangeOf(parseFilter(text)), range)
  })
}

test('a constant that is longer than any key is a valid bound', () => {
  const longest = 'k'.repeat(ENTITY_KEY_LENGTH_MAX)
  const rows = (text: string) => entityKeyRangeOf(parseFilter(text)).row
  assert.deepEqual(rows(`RowKey eq '${longest}'`), one(longest))
  assert.deepEqual(rows(`RowKey ge '${longest}kkk'`), { from: `${longest}\0`, to: undefined })
  assert.deepEqual(rows(`RowKey le '${longest}kkk'`), { from: '', to: `${longest}\0` })
  const nothing = entityKeyRangeOf(parseFilter(`RowKey eq '${longest}k' and A eq 1`))
  assert.deepEqual(nothing, NOWHERE)
})

test('filters on table names have a range', () => {
  const range = (text: string) => tableRangeOf(parseFilter(text, 'table'))
  assert.deepEqual(range(''), ALL)
  assert.deepEqual(range(`TableName ge 'My' and TableName lt 'Mz'`), { from: 'my', to: 'mz' })
  assert.deepEqual(range(`TableName eq 'MyTable'`), one('mytable'))
})

const KEYS = ['', 'a', 'a!', 'b', 'c'].flatMap((partition) =>
  ['', 'a', 'ab', 'b', 'c'].map((row) => [partition, row] as const),
)

const SCANS: readonly (readonly [text: string, keys: string])[] = [
  [`PartitionKey eq 'a' and RowKey eq 'a'`, 'a,a'],
  [`PartitionKey eq 'a' and RowKey gt 'a' and RowKey le 'b'`, 'a,ab a,b'],
  [`PartitionKey eq 'a' and RowKey ge 'ab'`, 'a,ab a,b a,c'],
  [`PartitionKey eq '' and RowKey lt 'ab'`, ', ,a'],
  [`PartitionKey gt 'a' and PartitionKey lt 'b'`, 'a!, a!,a a!,ab a!,b a!,c'],
  [`PartitionKey gt 'b'`, 'c, c,a c,ab c,b c,c'],
  [`PartitionKey ge 'b' and RowKey ge 'b'`, 'b,b b,c c, c,a c,ab c,b c,c'],
  [`PartitionKey le 'a' and RowKey lt 'a'`, ', ,a ,ab ,b ,c a,'],
  [`PartitionKey lt 'a' and RowKey lt 'a'`, ', ,a ,ab ,b ,c'],
  [`PartitionKey eq 'a' and PartitionKey eq 'b'`, ''],
  [`PartitionKey eq 'b' and RowKey lt ''`, ''],
]

for (const [text, expected] of SCANS) {
  test(`${text} scans ${expected}`, () => {
    const { from, to } = scanRangeOf(entityKeyRangeOf(parseFilter(text)), ['entity', 7])
    assert(compareKeys(from, to) <= 0)
    const scanned = KEYS.filter((key) => {
      const encoded = encodeKey('entity', 7, ...key)
      return compareKeys(from, encoded) <= 0 && compareKeys(encoded, to) < 0
    })
    assert.equal(scanned.map((key) => key.join(',')).join(' '), expected)
  })
}

test('a scan stays in its table', () => {
  const { from, to } = scanRangeOf(entityKeyRangeOf(parseFilter('')), ['entity', 7])
  const outside = [encodeKey('entity', 6, 'z', 'z'), encodeKey('entity', 8, '', '')]
  assert(compareKeys(encodeKey('entity', 7, '', ''), from) === 0)
  for (const key of outside) assert(compareKeys(key, from) < 0 || compareKeys(key, to) >= 0)
})

test('the longest constants fit into keys', () => {
  const text = '\uffff'.repeat(2_000)
  const filter = parseFilter(`PartitionKey le '${text}' and RowKey le '${text}'`)
  const { from, to } = scanRangeOf(entityKeyRangeOf(filter), ['entity', 7])
  assert(compareKeys(from, to) < 0)
})
