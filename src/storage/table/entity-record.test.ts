import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import type { EdmProperties, EdmValue } from './edm.ts'
import { decodeEntityRecord, decodeEntityKey, encodeState } from './entity-record.ts'
import { entityKey } from './keys.ts'

const VALUES: readonly EdmValue[] = [
  { type: 'Edm.String', value: '' },
  { type: 'Edm.String', value: 'ü 😀 \0 \ud800' },
  { type: 'Edm.Boolean', value: false },
  { type: 'Edm.Int32', value: -2_147_483_648 },
  { type: 'Edm.Int64', value: '9223372036854775807' },
  { type: 'Edm.Double', value: 5e-324 },
  { type: 'Edm.Double', value: 'NaN' },
  { type: 'Edm.Double', value: '-Infinity' },
  { type: 'Edm.DateTime', value: '1601-01-01T00:00:00.0000000Z' },
  { type: 'Edm.Guid', value: 'c9da6455-213d-42c9-9a79-3e9149a57833' },
  { type: 'Edm.Binary', value: 'AP8=' },
]

test('encoding preserves names, order, types and values', () => {
  const properties = fc
    .uniqueArray(
      fc.tuple(
        fc.oneof(
          fc.constantFrom('__proto__', 'constructor', 'toString'),
          fc.string({ unit: 'binary' }),
        ),
        fc.constantFrom(...VALUES),
      ),
      { selector: ([name]) => name },
    )
    .map((entries): EdmProperties => Object.fromEntries(entries))
  const key = fc.oneof(
    fc.string({ maxLength: 20 }),
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.string({ unit: fc.constantFrom('\0', '\u0001', '\u0002', 'ÿ', 'a'), maxLength: 6 }),
  )
  fc.assert(
    fc.property(key, key, fc.nat(), properties, (partitionKey, rowKey, stamp, given) => {
      const entity = { partitionKey, rowKey, stamp, properties: given }
      const keys = decodeEntityKey(entityKey(7, partitionKey, rowKey))
      assert.deepEqual(keys, { partitionKey, rowKey })
      const read = decodeEntityRecord(keys, encodeState(entity))
      assert.deepEqual(read, entity)
      assert.deepEqual(Object.entries(read.properties), Object.entries(given))
    }),
  )
})
