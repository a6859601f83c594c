// The bodies of Insert, Update and Merge Entity: the types of values, and malformed bodies.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { decodeEntity, decodeTableName } from './payload-decode.ts'

const decode = (json: string) => decodeEntity(Buffer.from(json))

const VALUES = [
  ['"A":"x"', 'Edm.String', 'x'],
  ['"A":""', 'Edm.String', ''],
  [String.raw`"A":"a\"\\\n\u00e4\ud83d\ude00"`, 'Edm.String', 'a"\\\nä😀'],
  ['"A":"\u00e4😀"', 'Edm.String', 'ä😀'],
  ['"A":true', 'Edm.Boolean', true],
  ['"A":false', 'Edm.Boolean', false],
  ['"A":5', 'Edm.Int32', 5],
  ['"A":-2147483648', 'Edm.Int32', -2147483648],
  ['"A":2147483648', 'Edm.Double', 2147483648],
  ['"A":5.0', 'Edm.Double', 5],
  ['"A":0.25', 'Edm.Double', 0.25],
  ['"A":1e3', 'Edm.Double', 1000],
  ['"A":-0.0', 'Edm.Double', 0],
  ['"A":"5","A@odata.type":"Edm.Int64"', 'Edm.Int64', '5'],
  ['"A@odata.type":"Edm.Int64","A":"-9223372036854775808"', 'Edm.Int64', '-9223372036854775808'],
  ['"A@odata.type":"Edm.Int64","A":5', 'Edm.Int64', '5'],
  ['"A@odata.type":"Edm.Int32","A":"5"', 'Edm.Int32', 5],
  ['"A@odata.type":"Edm.Double","A":5', 'Edm.Double', 5],
  ['"A@odata.type":"Edm.Double","A":"NaN"', 'Edm.Double', 'NaN'],
  ['"A@odata.type":"Edm.Double","A":"-Infinity"', 'Edm.Double', '-Infinity'],
  ['"A@odata.type":"Edm.Boolean","A":true', 'Edm.Boolean', true],
  ['"A@odata.type":"Edm.String","A":"5"', 'Edm.String', '5'],
  [
    '"A@odata.type":"Edm.DateTime","A":"2026-01-02T03:04:05Z"',
    'Edm.DateTime',
    '2026-01-02T03:04:05.0000000Z',
  ],
  [
    '"A@odata.type":"Edm.Guid","A":"AAAAAAAA-0000-1111-2222-333333333333"',
    'Edm.Guid',
    'aaaaaaaa-0000-1111-2222-333333333333',
  ],
  ['"A@odata.type":"Edm.Binary","A":"AQID"', 'Edm.Binary', 'AQID'],
] as const

describe('the type of a value', () => {
  for (const [members, type, value] of VALUES) {
    test(`{${members}} is ${type} ${JSON.stringify(value)}`, () => {
      assert.deepEqual(decode(`{${members}}`).properties, { A: { type, value } })
    })
  }
})

const IGNORED = [
  '{}',
  ' \r\n\t{ } \n',
  '{"A":null}',
  '{"A":null,"A@odata.type":"Edm.Int64"}',
  '{"A@odata.type":"Edm.Int64"}',
  '{"Timestamp":"2026-01-01T00:00:00Z","Timestamp@odata.type":"Edm.DateTime"}',
  '{"Timestamp":5}',
  String.raw`{"odata.etag":"W/\"x\"","odata.type":"a.b","odata.id":"x","odata.editLink":"x"}`,
  '{"PartitionKey":null,"RowKey":null}',
]

describe('ignored members', () => {
  for (const json of IGNORED) {
    test(json, () => {
      const nothing = { partitionKey: undefined, rowKey: undefined, properties: {} }
      assert.deepEqual(decode(json), nothing)
    })
  }
})

const REFUSED = [
  ['', 'InvalidInput'],
  ['{', 'InvalidInput'],
  ['[]', 'InvalidInput'],
  ['null', 'InvalidInput'],
  ['{"A":1}x', 'InvalidInput'],
  ['{"A":1,}', 'InvalidInput'],
  ['{"A" 1}', 'InvalidInput'],
  ['{A:1}', 'InvalidInput'],
  ['{"A":01}', 'InvalidInput'],
  ['{"A":.5}', 'InvalidInput'],
  ['{"A":1.}', 'InvalidInput'],
  ['{"A":+1}', 'InvalidInput'],
  ['{"A":1e999}', 'InvalidInput'],
  ['{"A":NaN}', 'InvalidInput'],
  ['{"A":tru}', 'InvalidInput'],
  ['{"A":"x}', 'InvalidInput'],
  [String.raw`{"A":"x\"}`, 'InvalidInput'],
  [String.raw`{"A":"\x"}`, 'InvalidInput'],
  ['{"A":"a\nb"}', 'InvalidInput'],
  ['{"A":{}}', 'InvalidInput'],
  ['{"A":[1]}', 'InvalidInput'],
  ['{"A":1,"A":2}', 'DuplicatePropertiesSpecified'],
  ['{"A":1,"\\u0041":2}', 'DuplicatePropertiesSpecified'],
  ['{"PartitionKey":5}', 'InvalidInput'],
  ['{"RowKey":true}', 'InvalidInput'],
  ['{"A":"x","A@odata.type":"Edm.Nothing"}', 'InvalidInput'],
  ['{"A":"x","A@odata.type":5}', 'InvalidInput'],
  ['{"A":"x","A@odata.type":"Edm.Int64"}', 'InvalidInput'],
  ['{"A":"9223372036854775808","A@odata.type":"Edm.Int64"}', 'InvalidInput'],
  ['{"A":5.5,"A@odata.type":"Edm.Int32"}', 'InvalidInput'],
  ['{"A":5,"A@odata.type":"Edm.String"}', 'InvalidInput'],
  ['{"A":5,"A@odata.type":"Edm.Boolean"}', 'InvalidInput'],
  ['{"A":true,"A@odata.type":"Edm.Int32"}', 'InvalidInput'],
  ['{"A":"no time","A@odata.type":"Edm.DateTime"}', 'InvalidInput'],
  ['{"A":"1600-12-31T00:00:00Z","A@odata.type":"Edm.DateTime"}', 'InvalidInput'],
  ['{"A":"no guid","A@odata.type":"Edm.Guid"}', 'InvalidInput'],
  ['{"A":"*","A@odata.type":"Edm.Binary"}', 'InvalidInput'],
] as const

describe('a malformed body', () => {
  for (const [json, code] of REFUSED) {
    test(`${JSON.stringify(json)} → ${code}`, () => assert.throws(() => decode(json), { code }))
  }
  test('that is not UTF-8 → InvalidInput', () => {
    const body = Buffer.from('{"A":"\xff"}', 'latin1')
    assert.throws(() => decodeEntity(body), { code: 'InvalidInput' })
  })
})

test('keys and names with a meaning in JavaScript are decoded as properties', () => {
  const { partitionKey, rowKey, properties } = decode(
    '{"PartitionKey":"p","RowKey":"","__proto__":1,"constructor":"c"}',
  )
  assert.deepEqual([partitionKey, rowKey], ['p', ''])
  assert.deepEqual(Object.entries(properties), [
    ['__proto__', { type: 'Edm.Int32', value: 1 }],
    ['constructor', { type: 'Edm.String', value: 'c' }],
  ])
})

test('a long string with many quotes is decoded in one pass', () => {
  const text = String.raw`\"`.repeat(500_000)
  const { properties } = decode(`{"A":"${text}"}`)
  assert.equal(properties['A']?.value, '"'.repeat(500_000))
})

test('a long string of backslashes takes linear time', () => {
  assert.throws(() => decode(`{"A":"${'\\'.repeat(1_000_001)}"`), { code: 'InvalidInput' })
})

test('Create Table has the name of the table', () => {
  const name = (json: string) => decodeTableName(Buffer.from(json))
  assert.equal(name('{"TableName":"Abc"}'), 'Abc')
  assert.equal(name('{"odata.type":"x","TableName":"Abc"}'), 'Abc')
  assert.throws(() => name('{"TableName":5}'), { code: 'InvalidInput' })
  assert.throws(() => name('{"Name":"Abc"}'), { code: 'PropertiesNeedValue' })
  assert.throws(() => name('{"TableName":null}'), { code: 'PropertiesNeedValue' })
})
