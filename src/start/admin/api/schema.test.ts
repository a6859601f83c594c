import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { fits, near } from '../../../../test/json-schema.ts'
import { FieldError } from '../../../control/field-error.ts'
import { barrierRule, faultRule } from './rules.ts'
import {
  decodeParameter,
  either,
  flag,
  integer,
  list,
  optional,
  record,
  text,
  type Schema,
} from './schema.ts'

const person = record({
  name: text,
  age: optional(integer(0, 150)),
  friends: optional(list(record({ name: text }), 2)),
})

test('a value that fits is decoded', () => {
  assert.deepEqual(person.decode({ name: 'a', age: 3 }, ''), { name: 'a', age: 3 })
})

const WRONG: readonly [Schema<unknown>, unknown, string][] = [
  [person, undefined, 'the value must be an object, not missing'],
  [person, [], 'the value must be an object, not a list'],
  [person, 'x', 'the value must be an object, not "x"'],
  [person, {}, 'name is missing'],
  [person, { name: 1 }, 'name must be a text of 1 to 4096 characters, not 1'],
  [person, { name: 'a', age: 1.5 }, 'age must be a whole number from 0 to 150, not 1.5'],
  [person, { name: 'a', ag: 1 }, 'ag is not a field; expected name, age, friends'],
  [person, JSON.parse('{"name":"a","__proto__":1}'), '__proto__ is not a field; expected name, age, friends'],
  [person, { name: 'a', friends: [{ name: 'b' }, {}] }, 'friends[1].name is missing'],
  [person, { name: 'a', friends: [1, 2, 3] }, 'friends must be a list of at most 2 values'],
  [barrierRule, { at: 'soon' }, 'at must be one of received, authorized, read, checked, committed, answered, not "soon"'],
  [barrierRule, { at: 'read', match: { operation: 5 } }, 'match.operation must be a text of 1 to 4096 characters, not 5'],
  [faultRule, { effect: {} }, 'effect must be { "status", "code", "retryAfterSeconds" } or { "delay" } or { "reset" } or { "truncate" } or { "bytesPerSecond" } or { "requestsPerSecond" } or { "disk" }, not an object'],
  [faultRule, { effect: { status: 200 } }, 'effect.status must be a whole number from 400 to 599, not 200'],
  [faultRule, { effect: { status: 500, wait: 1 } }, 'effect.wait is not a field; expected status, code, retryAfterSeconds'],
  [faultRule, { effect: { delay: {} } }, 'effect.delay must be a number of at least 0 or a text of 1 to 4096 characters or { "from", "to" }, not an object'],
  [faultRule, { effect: { statsu: 503 } }, 'effect.statsu is not a field; expected { "status", "code", "retryAfterSeconds" } or { "delay" } or { "reset" } or { "truncate" } or { "bytesPerSecond" } or { "requestsPerSecond" } or { "disk" }'],
  [faultRule, { effect: { reset: 'after' }, probability: 2 }, 'probability must be a number from 0 to 1, not 2'],
] // prettier-ignore

for (const [schema, value, message] of WRONG) {
  test(`refused: ${message}`, () => {
    assert.throws(() => schema.decode(value, ''), { name: 'FieldError', message })
  })
}

test('fields of a query are decoded from their text', () => {
  assert.equal(decodeParameter(integer(0), '12', 'since'), 12)
  assert.equal(decodeParameter(flag, 'false', 'conflicts'), false)
  assert.equal(decodeParameter(text, '12', 'status'), '12')
  assert.throws(() => decodeParameter(integer(0), '', 'since'), FieldError)
  assert.throws(() => decodeParameter(integer(0), '1e3', 'since'), FieldError)
  assert.throws(() => decodeParameter(flag, 'yes', 'conflicts'), /conflicts must be true or false/)
})

const rules: readonly [string, Schema<unknown>][] = [
  ['a barrier', barrierRule],
  ['a fault', faultRule],
  ['a person', person],
  ['one of two', either(record({ a: text }), record({ b: integer(1) }))],
]

for (const [name, schema] of rules) {
  test(`${name}: what is decoded is what its JSON Schema says, and nothing else throws`, () => {
    fc.assert(
      fc.property(near(schema.json), (value) => {
        let isDecoded = true
        try {
          assert.deepEqual(schema.decode(value, ''), value)
        } catch (error) {
          if (!(error instanceof FieldError)) throw error
          isDecoded = false
        }
        assert.equal(isDecoded, fits(schema.json, value))
      }),
      { numRuns: 500 },
    )
  })
}

test('a value that is nested deeply is refused like any other', () => {
  const deep: unknown = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000))
  assert.throws(() => barrierRule.decode({ at: deep }, ''), /at must be one of .*, not a list/)
})
