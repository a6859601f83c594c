import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { compareEdm, edmLengthBytes, entitySizeBytes, isEdmType, type EdmValue } from './edm.ts'
import { parseDateTime } from './edm-date-time.ts'

const string = (value: string): EdmValue => ({ type: 'Edm.String', value })
const boolean = (value: boolean): EdmValue => ({ type: 'Edm.Boolean', value })
const int32 = (value: number): EdmValue => ({ type: 'Edm.Int32', value })
const int64 = (value: string): EdmValue => ({ type: 'Edm.Int64', value })
const double = (value: number | 'NaN' | 'Infinity' | '-Infinity'): EdmValue => ({
  type: 'Edm.Double',
  value,
})
const dateTime = (text: string): EdmValue => ({
  type: 'Edm.DateTime',
  value: parseDateTime(text) ?? assert.fail(text),
})
const guid = (value: string): EdmValue => ({ type: 'Edm.Guid', value })
const binary = (hexadecimal: string): EdmValue => ({
  type: 'Edm.Binary',
  value: Buffer.from(hexadecimal, 'hex').toString('base64'),
})

const COMPARISONS: readonly (readonly [EdmValue, EdmValue, number | undefined])[] = [
  [string('a'), string('a'), 0],
  [string('a'), string('A'), 1],
  [string('10'), string('9'), -1],
  [string(''), string('\0'), -1],
  [string('\uffff'), string('😀'), 1],
  [boolean(false), boolean(true), -1],
  [int32(-5), int32(5), -1],
  [int64('9'), int64('10'), -1],
  [int64('9007199254740993'), int64('9007199254740992'), 1],
  [int64('-9223372036854775808'), int64('9223372036854775807'), -1],
  [double(1.5), double(1.5), 0],
  [double(0), double(-0), 0],
  [double('Infinity'), double(1e308), 1],
  [double('-Infinity'), double('-Infinity'), 0],
  [double('NaN'), double('NaN'), Number.NaN],
  [double('NaN'), int32(1), Number.NaN],
  [dateTime('2026-01-01T00:00:00.0000001Z'), dateTime('2026-01-01T00:00:00Z'), 1],
  [dateTime('1601-01-01'), dateTime('9999-12-31T23:59:59.9999999Z'), -1],
  [guid('00000000-0000-0000-0000-00000000000a'), guid('a0000000-0000-0000-0000-000000000000'), -1],
  [binary('00ff'), binary('01'), -1],
  [binary('01'), binary('0100'), -1],
  [binary(''), binary(''), 0],
  // Only an Int32 constant is widened.
  [int64('64'), int32(64), 0],
  [double(5.5), int32(5), 1],
  [int32(64), int64('64'), undefined],
  [int32(5), double(5), undefined],
  [int64('5'), double(5), undefined],
  [double(5), int64('5'), undefined],
  [string('5'), int32(5), undefined],
  [int32(5), string('5'), undefined],
  [boolean(true), int32(1), undefined],
  [string('2026-01-01T00:00:00.0000000Z'), dateTime('2026-01-01'), undefined],
]

for (const [value, constant, expected] of COMPARISONS) {
  test(`${JSON.stringify(value)} compared with ${JSON.stringify(constant)} → ${expected}`, () => {
    const comparison = compareEdm(value, constant)
    assert.equal(comparison === undefined ? undefined : Math.sign(comparison), expected)
  })
}

test('values compare the same after a round trip through JSON', () => {
  for (const [value, constant, expected] of COMPARISONS) {
    const again: EdmValue = JSON.parse(JSON.stringify(value))
    const comparison = compareEdm(again, constant)
    assert.equal(comparison === undefined ? undefined : Math.sign(comparison), expected)
  }
})

test('GUIDs sort like .NET compares their fields', () => {
  // Guid.CompareTo goes from the first field to the last, each as an unsigned number.
  const fields = (text: string) => text.split('-').map((field) => Number.parseInt(field, 16))
  fc.assert(
    fc.property(fc.uuid(), fc.uuid(), (a, b) => {
      const [left, right] = [fields(a), fields(b)]
      const at = left.findIndex((field, i) => field !== right[i])
      const expected = at < 0 ? 0 : Math.sign((left[at] ?? 0) - (right[at] ?? 0))
      assert.equal(compareEdm(guid(a), guid(b)), expected)
    }),
  )
})

const LENGTHS: readonly (readonly [EdmValue, number])[] = [
  [string('añ😀'), 8],
  [boolean(true), 1],
  [int32(1), 4],
  [int64('1'), 8],
  [double(1), 8],
  [dateTime('2026-01-01'), 8],
  [guid('00000000-0000-0000-0000-000000000000'), 16],
  [binary('0102030405'), 5],
]

for (const [value, lengthBytes] of LENGTHS) {
  test(`${value.type} counts ${lengthBytes} bytes`, () => {
    assert.equal(edmLengthBytes(value), lengthBytes)
  })
}

test('the size of an entity is 4 + keys + for each property 8 + name + value', () => {
  const keys = { partitionKey: 'ab', rowKey: 'c' }
  assert.equal(entitySizeBytes({ ...keys, properties: {} }), 4 + 6)
  const properties = { Name: string('xy'), Age: int32(5), Photo: binary('010203') }
  const sizes = [8 + 8 + 4 + 4, 8 + 6 + 4, 8 + 10 + 4 + 3]
  assert.equal(
    entitySizeBytes({ ...keys, properties }),
    sizes.reduce((sum, size) => sum + size, 4 + 6),
  )
})

test('types are known by their exact names', () => {
  assert(isEdmType('Edm.Int64'))
  for (const text of ['Edm.int64', 'Int64', 'Edm.Decimal', 'toString', '']) {
    assert(!isEdmType(text), text)
  }
})
