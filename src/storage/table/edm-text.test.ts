import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { formatDateTime, parseDateTime } from './edm-date-time.ts'
import { formatDouble, formatEdm, parseEdm, parseHexadecimal } from './edm-text.ts'
import type { EdmType, EdmValue } from './edm.ts'

const DATE_TIMES: readonly (readonly [text: string, value: string | undefined])[] = [
  ['2026-11-15T19:46:33.1657319Z', '2026-11-15T19:46:33.1657319Z'],
  ['2026-11-15T19:46:33Z', '2026-11-15T19:46:33.0000000Z'],
  ['2026-11-15T19:46:33.5Z', '2026-11-15T19:46:33.5000000Z'],
  ['2026-11-15T19:46:33.123456789Z', '2026-11-15T19:46:33.1234567Z'],
  ['2026-11-15T19:46:33', '2026-11-15T19:46:33.0000000Z'],
  ['2026-11-15T19:46Z', '2026-11-15T19:46:00.0000000Z'],
  ['2026-11-15', '2026-11-15T00:00:00.0000000Z'],
  ['2026-11-15T00:30:00.0000001+01:00', '2026-11-14T23:30:00.0000001Z'],
  ['2026-11-15T19:46:33-08:30', '2026-11-16T04:16:33.0000000Z'],
  ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.0000000Z'],
  ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.0000000Z'],
  ['9999-12-31T23:59:59.9999999Z', '9999-12-31T23:59:59.9999999Z'],
  ['2023-02-29T00:00:00Z', undefined],
  ['2026-06-31T00:00:00Z', undefined],
  ['2026-13-01T00:00:00Z', undefined],
  ['2026-11-15T24:00:00Z', undefined],
  ['2026-11-15T23:60:00Z', undefined],
  ['2026-11-15T23:59:60Z', undefined],
  ['2026-11-15T00:00:00+14:01', undefined],
  ['2026-11-15T00:00:00+01:60', undefined],
  ['2026-11-15T00:00:00.Z', undefined],
  ['2026-11-15 00:00:00Z', undefined],
  ['2026-11-15T00:00:00z', undefined],
  ['0000-01-01T00:00:00Z', undefined],
  ['0001-01-01T00:00:00+00:01', undefined],
  ['9999-12-31T23:59:59-00:01', undefined],
  ['12026-11-15T00:00:00Z', undefined],
  [' 2026-11-15', undefined],
  ['', undefined],
]

for (const [text, value] of DATE_TIMES) {
  test(`DateTime ${text} → ${value}`, () => assert.equal(parseDateTime(text), value))
}

const FORMATTED_DATE_TIMES = [
  ['2008-07-10T00:00:00.0000000Z', '2008-07-10T00:00:00Z'],
  ['2008-07-10T00:00:00.1000000Z', '2008-07-10T00:00:00.1Z'],
  ['2008-07-10T00:00:00.0000001Z', '2008-07-10T00:00:00.0000001Z'],
  ['2008-07-10T00:00:10.1230000Z', '2008-07-10T00:00:10.123Z'],
] as const

for (const [value, text] of FORMATTED_DATE_TIMES) {
  test(`DateTime ${value} is formatted as ${text}`, () => {
    assert.equal(formatDateTime(value), text)
    assert.equal(parseDateTime(text), value)
  })
}

const PARSED: readonly (readonly [EdmType, string, EdmValue['value'] | undefined])[] = [
  ['Edm.String', '', ''],
  ['Edm.String', 'true', 'true'],
  ['Edm.Boolean', 'true', true],
  ['Edm.Boolean', 'false', false],
  ['Edm.Boolean', 'True', undefined],
  ['Edm.Boolean', '1', undefined],
  ['Edm.Int32', '2147483647', 2_147_483_647],
  ['Edm.Int32', '-2147483648', -2_147_483_648],
  ['Edm.Int32', '2147483648', undefined],
  ['Edm.Int32', '5.0', undefined],
  ['Edm.Int32', '', undefined],
  ['Edm.Int32', ' 5', undefined],
  ['Edm.Int64', '9223372036854775807', '9223372036854775807'],
  ['Edm.Int64', '-9223372036854775808', '-9223372036854775808'],
  ['Edm.Int64', '9223372036854775808', undefined],
  ['Edm.Int64', '-0', '0'],
  ['Edm.Int64', '007', '7'],
  ['Edm.Int64', '5L', undefined],
  ['Edm.Int64', '0x10', undefined],
  ['Edm.Int64', '1'.repeat(1_000_000), undefined],
  ['Edm.Double', '5', 5],
  ['Edm.Double', '-5.25e-3', -0.00525],
  ['Edm.Double', '-0.0', 0],
  ['Edm.Double', '1e309', undefined],
  ['Edm.Double', 'NaN', 'NaN'],
  ['Edm.Double', 'Infinity', 'Infinity'],
  ['Edm.Double', '-INF', '-Infinity'],
  ['Edm.Double', '+5', undefined],
  ['Edm.Double', '.5', undefined],
  ['Edm.Double', '0x5', undefined],
  ['Edm.Double', '', undefined],
  ['Edm.DateTime', '1601-01-01T00:00:00Z', '1601-01-01T00:00:00.0000000Z'],
  ['Edm.DateTime', '1600-12-31T23:59:59.9999999Z', undefined],
  ['Edm.DateTime', '1601-01-01T00:00:00+01:00', undefined],
  ['Edm.DateTime', 'yesterday', undefined],
  ['Edm.Guid', 'C9DA6455-213D-42C9-9A79-3E9149A57833', 'c9da6455-213d-42c9-9a79-3e9149a57833'],
  ['Edm.Guid', '{c9da6455-213d-42c9-9a79-3e9149a57833}', undefined],
  ['Edm.Guid', 'c9da6455213d42c99a793e9149a57833', undefined],
  ['Edm.Binary', 'AQID', 'AQID'],
  ['Edm.Binary', '', ''],
  ['Edm.Binary', 'AR==', 'AQ=='],
  ['Edm.Binary', 'AQ', undefined],
  ['Edm.Binary', 'A===', undefined],
  ['Edm.Binary', 'AQ-_', undefined],
]

for (const [type, text, value] of PARSED) {
  test(`${type} ${text.slice(0, 50)} → ${value}`, () => {
    assert.deepEqual(parseEdm(type, text), value === undefined ? undefined : { type, value })
  })
}

test('hexadecimal digits form whole bytes', () => {
  assert.deepEqual(parseHexadecimal('0aFF'), { type: 'Edm.Binary', value: 'Cv8=' })
  assert.equal(parseHexadecimal('0af'), undefined)
  assert.equal(parseHexadecimal('0g'), undefined)
})

const DOUBLES = [
  [5, '5.0'],
  [-5, '-5.0'],
  [0, '0.0'],
  [0.5, '0.5'],
  [1e21, '1e+21'],
  [1e20, '100000000000000000000.0'],
  [1e-7, '1e-7'],
  ['NaN', 'NaN'],
  ['-Infinity', '-Infinity'],
] as const

for (const [value, text] of DOUBLES) {
  test(`Double ${value} is formatted as ${text}`, () => assert.equal(formatDouble(value), text))
}

test('formatted values parse to the same value', () => {
  const type = fc.constantFrom<EdmType>('Edm.Int64', 'Edm.Double', 'Edm.DateTime', 'Edm.Binary')
  const text = fc.oneof(
    fc.string(),
    fc.bigInt().map(String),
    fc.double().map(String),
    fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
    fc.base64String(),
  )
  fc.assert(
    fc.property(type, text, (type, text) => {
      const value = parseEdm(type, text)
      if (value !== undefined) assert.deepEqual(parseEdm(type, formatEdm(value)), value)
    }),
    { numRuns: 500 },
  )
})
