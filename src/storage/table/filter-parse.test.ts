import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { StorageError } from '../shared/error.ts'
import type { EdmValue } from './edm.ts'
import { parseFilter } from './filter-parse.ts'
import type { FilterComparison, FilterExpression, FilterOperator } from './filter.ts'

const is = (property: string, operator: FilterOperator, value: EdmValue): FilterComparison => ({
  property,
  operator,
  value,
})
const string = (value: string): EdmValue => ({ type: 'Edm.String', value })
const int32 = (value: number): EdmValue => ({ type: 'Edm.Int32', value })
const yes: EdmValue = { type: 'Edm.Boolean', value: true }

const [a, b, c] = [is('A', 'eq', int32(1)), is('B', 'gt', int32(2)), is('C', 'ne', int32(3))]

const FILTERS: readonly (readonly [text: string, expression: FilterExpression])[] = [
  // All operators, with the constant on either side (Azurite#1599)
  ['A eq 1', a],
  ['A ne 1', is('A', 'ne', int32(1))],
  ['A gt 1', is('A', 'gt', int32(1))],
  ['A ge 1', is('A', 'ge', int32(1))],
  ['A lt 1', is('A', 'lt', int32(1))],
  ['A le 1', is('A', 'le', int32(1))],
  ['1 eq A', a],
  ['1 ne A', is('A', 'ne', int32(1))],
  ['1 gt A', is('A', 'lt', int32(1))],
  ['1 ge A', is('A', 'le', int32(1))],
  ['1 lt A', is('A', 'gt', int32(1))],
  ['1 le A', is('A', 'ge', int32(1))],
  // or < and < not < comparison
  ['A eq 1 or B gt 2 and C ne 3', { any: [a, { all: [b, c] }] }],
  ['A eq 1 and B gt 2 or C ne 3', { any: [{ all: [a, b] }, c] }],
  ['(A eq 1 or B gt 2) and C ne 3', { all: [{ any: [a, b] }, c] }],
  ['A eq 1 and B gt 2 and C ne 3', { all: [a, b, c] }],
  ['((A eq 1) and (B gt 2)) and (C ne 3)', { all: [{ all: [a, b] }, c] }],
  ['not (A eq 1)', { not: a }],
  ['not A eq 1', { not: a }],
  ['not not A eq 1 and B gt 2', { all: [{ not: { not: a } }, b] }],
  ['not(A eq 1)or(not(B gt 2))', { any: [{ not: a }, { not: b }] }],
  ['\t( ( A  eq\n1 ) )  ', a],
  ['(A) eq (1)', a],
  // Booleans alone
  ['Active', is('Active', 'eq', yes)],
  ['not Active', { not: is('Active', 'eq', yes) }],
  ['(Active) and A eq 1', { all: [is('Active', 'eq', yes), a] }],
  ['true', { constant: true }],
  ['false', { constant: false }],
  ['', { constant: true }],
  ['  ', { constant: true }],
  // Names
  ['_a1 eq 1', is('_a1', 'eq', int32(1))],
  ['Größe eq 1', is('Größe', 'eq', int32(1))],
  ['Eq eq 1', is('Eq', 'eq', int32(1))],
  ['datetime eq 1', is('datetime', 'eq', int32(1))],
  ['TableName eq 1', is('TableName', 'eq', int32(1))],
  ['__proto__ eq 1', is('__proto__', 'eq', int32(1))],
  // System properties, each with its type
  [`PartitionKey eq 'p' and RowKey gt ''`, { all: [is('PartitionKey', 'eq', string('p')), is('RowKey', 'gt', string(''))] }],
  [`Timestamp ge datetime'2026-01-01'`, is('Timestamp', 'ge', { type: 'Edm.DateTime', value: '2026-01-01T00:00:00.0000000Z' })],
] // prettier-ignore

for (const [text, expression] of FILTERS) {
  test(`filter ${JSON.stringify(text)}`, () => assert.deepEqual(parseFilter(text), expression))
}

const GUID = 'c9da6455-213d-42c9-9a79-3e9149a57833'

const LITERALS: readonly (readonly [text: string, value: EdmValue])[] = [
  [`''`, string('')],
  [`''''`, string(`'`)],
  [`'a''b'`, string(`a'b`)],
  ['\'`"\\ and (1 eq 2) 😀\'', string('`"\\ and (1 eq 2) 😀')],
  ['true', yes],
  ['False', { type: 'Edm.Boolean', value: false }],
  ['5', int32(5)],
  ['-5', int32(-5)],
  ['-2147483648', int32(-2_147_483_648)],
  ['5L', { type: 'Edm.Int64', value: '5' }],
  ['-9223372036854775808l', { type: 'Edm.Int64', value: '-9223372036854775808' }],
  ['5.0', { type: 'Edm.Double', value: 5 }],
  ['-5.25', { type: 'Edm.Double', value: -5.25 }],
  ['1e3', { type: 'Edm.Double', value: 1000 }],
  ['1.5E-3', { type: 'Edm.Double', value: 0.0015 }],
  ['5d', { type: 'Edm.Double', value: 5 }],
  ['NaN', { type: 'Edm.Double', value: 'NaN' }],
  ['INF', { type: 'Edm.Double', value: 'Infinity' }],
  ['-INF', { type: 'Edm.Double', value: '-Infinity' }],
  [`datetime'2026-01-01T00:00:00Z'`, { type: 'Edm.DateTime', value: '2026-01-01T00:00:00.0000000Z' }],
  [`datetime'0001-01-01T00:00:00Z'`, { type: 'Edm.DateTime', value: '0001-01-01T00:00:00.0000000Z' }],
  [`guid'${GUID}'`, { type: 'Edm.Guid', value: GUID }],
  [`Guid'${GUID.toUpperCase()}'`, { type: 'Edm.Guid', value: GUID }],
  [`X'0aFF'`, { type: 'Edm.Binary', value: 'Cv8=' }],
  [`x''`, { type: 'Edm.Binary', value: '' }],
  [`binary'0aff'`, { type: 'Edm.Binary', value: 'Cv8=' }],
] // prettier-ignore

for (const [text, value] of LITERALS) {
  test(`literal ${text}`, () => {
    assert.deepEqual(parseFilter(`P eq ${text}`), is('P', 'eq', value))
    assert.deepEqual(parseFilter(`(${text} eq P)`), is('P', 'eq', value))
  })
}

const INVALID = 'One of the request inputs is not valid.'
const NOT_BOOLEAN = 'The $filter expression must evaluate to a single boolean value.'
const mismatch = (left: string, right: string, kind: string) =>
  `A binary operator with incompatible types was detected. Found operand types '${left}' and '${right}' for operator kind '${kind}'.`

const INVALID_FILTERS: readonly (readonly [text: string, message: string])[] = [
  ['A eq', `Expression expected at position 4 in 'A eq'.`],
  ['A eq 1 and', `Expression expected at position 10 in 'A eq 1 and'.`],
  ['eq 1', `Expression expected at position 0 in 'eq 1'.`],
  ['not', `Expression expected at position 3 in 'not'.`],
  ['()', `Expression expected at position 1 in '()'.`],
  ['(A eq 1', `')' or operator expected at position 7 in '(A eq 1'.`],
  ['A eq 1)', `Syntax error at position 7 in 'A eq 1)'.`],
  ['A eq 1 B eq 2', `Syntax error at position 8 in 'A eq 1 B eq 2'.`],
  ['A eq 1 eq true', `Syntax error at position 9 in 'A eq 1 eq true'.`],
  ['A eq 1 AND B eq 2', `Syntax error at position 10 in 'A eq 1 AND B eq 2'.`],
  ['A EQ 1', `Syntax error at position 4 in 'A EQ 1'.`],
  ['A = 1', `Syntax error: character '=' is not valid at position 2 in 'A = 1'.`],
  ['A eq 😀', `Syntax error: character '😀' is not valid at position 5 in 'A eq 😀'.`],
  ['A eq -B', `Syntax error: character '-' is not valid at position 5 in 'A eq -B'.`],
  ['A eq "a"', `Syntax error: character '"' is not valid at position 5 in 'A eq "a"'.`],
  [`A eq 'a`, `There is an unterminated string literal at position 7 in 'A eq 'a'.`],
  [`A eq 'a''`, `There is an unterminated string literal at position 9 in 'A eq 'a'''.`],
  [`A eq guid'a`, `There is an unterminated string literal at position 11 in 'A eq guid'a'.`],
  ['A eq 5454161346626', `Unrecognized 'Edm.Int32' literal '5454161346626' at '5' in 'A eq 5454161346626'.`],
  ['A eq 9223372036854775808L', `Unrecognized 'Edm.Int64' literal '9223372036854775808L' at '5' in 'A eq 9223372036854775808L'.`],
  ['A eq 1.5L', `Unrecognized 'Edm.Int64' literal '1.5L' at '5' in 'A eq 1.5L'.`],
  ['A eq 1e999', `Unrecognized 'Edm.Double' literal '1e999' at '5' in 'A eq 1e999'.`],
  [`A eq X'0'`, `Unrecognized 'Edm.Binary' literal 'X'0'' at '5' in 'A eq X'0''.`],
  [`A eq guid'1'`, `Unrecognized 'Edm.Guid' literal 'guid'1'' at '5' in 'A eq guid'1''.`],
  [`A eq datetime'1'`, `Unrecognized 'Edm.DateTime' literal 'datetime'1'' at '5' in 'A eq datetime'1''.`],
  [`A eq time'1'`, `Syntax error at position 9 in 'A eq time'1''.`],
  ['A eq 5M', `Syntax error at position 7 in 'A eq 5M'.`],
  ['A eq 5.', `Syntax error at position 7 in 'A eq 5.'.`],
  ['A eq 5x or B', `Syntax error at position 7 in 'A eq 5x or B'.`],
  // Neither side a constant, or neither a property
  ['A eq B', INVALID],
  ['PartitionKey eq abc', INVALID],
  ['A eq null', INVALID],
  ['null ne A', INVALID],
  ['1 eq 1', INVALID],
  ['(A eq 1) eq true', INVALID],
  // Not a condition
  ['1', NOT_BOOLEAN],
  [`'a'`, NOT_BOOLEAN],
  ['null', NOT_BOOLEAN],
  ['PartitionKey', NOT_BOOLEAN],
  ['not Timestamp', NOT_BOOLEAN],
  [`A eq 1 or 'a'`, NOT_BOOLEAN],
  // System properties have a fixed type
  ['PartitionKey eq 1', mismatch('Edm.String', 'Edm.Int32', 'Equal')],
  ['1L le RowKey', mismatch('Edm.Int64', 'Edm.String', 'LessThanOrEqual')],
  [`Timestamp gt '2026-01-01'`, mismatch('Edm.DateTime', 'Edm.String', 'GreaterThan')],
  ['foo(A) eq 1', `An unknown function with name 'foo' was found. This may also be a key lookup on a navigation property, which is not allowed.`],
] // prettier-ignore

for (const [text, message] of INVALID_FILTERS) {
  test(`filter ${text} → InvalidInput`, () => {
    assert.throws(() => parseFilter(text), { code: 'InvalidInput', status: 400, message })
  })
}

const NOT_IMPLEMENTED = [
  `startswith(PartitionKey, '2021')`,
  `startswith (Name,'a') eq true`,
  `substringof('a', Name)`,
  `not endswith(Name, 'a')`,
  `tolower(Name) eq 'a'`,
  'year(Timestamp) eq 2026',
  'A add 1 eq 2',
  'A eq 1 mul 2',
]

for (const text of NOT_IMPLEMENTED) {
  test(`filter ${text} → NotImplemented`, () => {
    assert.throws(() => parseFilter(text), {
      code: 'NotImplemented',
      status: 501,
      message: 'The requested operation is not implemented on the specified resource.',
    })
  })
}

test('Query Tables supports only TableName, case-insensitively', () => {
  assert.deepEqual(parseFilter(`TableName ge 'My'`, 'table'), is('TableName', 'ge', string('my')))
  assert.deepEqual(parseFilter('', 'table'), { constant: true })
  for (const text of [`Name eq 'a'`, `PartitionKey eq 'a'`, 'TableName eq 1', 'TableName']) {
    assert.throws(() => parseFilter(text, 'table'), { code: 'InvalidInput' }, text)
  }
})

test('length, comparisons and depth of a filter are limited', () => {
  const nested = (depth: number) => `${'('.repeat(depth)}A eq 1${')'.repeat(depth)}`
  const joined = (count: number) => Array.from({ length: count }, () => 'A eq 1').join(' or ')
  assert.deepEqual(parseFilter(nested(500)), a)
  assert.deepEqual(parseFilter(joined(1_000)), { any: Array.from({ length: 1_000 }, () => a) })
  parseFilter(`${'not '.repeat(500)}A`)
  assert.throws(() => parseFilter(nested(501)), {
    code: 'InvalidInput',
    message: 'Recursion depth exceeded allowed limit.',
  })
  const long = `A eq '${'a'.repeat(65_536)}'`
  const deep = [`${'not '.repeat(501)}A`, '('.repeat(60_000), 'not('.repeat(15_000)]
  for (const text of [...deep, joined(1_001), long]) {
    assert.throws(() => parseFilter(text), { code: 'InvalidInput' })
  }
})

// prettier-ignore
const WORDS = [
  '(', ')', ' ', "'", "''", 'eq', 'ne', 'lt', 'and', 'or', 'not', 'A', 'PartitionKey', 'true', 'null',
  '5', '-', '5L', '1e', '.', 'X', 'guid', 'datetime', '2026-01-01', 'INF', 'startswith', ',', 'add',
  '\0', '\ud800', '😀', '5.0', "'a'", "X'00'",
]

test('the parser throws only StorageErrors', () => {
  const word = fc.constantFrom(...WORDS)
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(word, { maxLength: 30 }).map((words) => words.join('')),
    fc.array(word, { maxLength: 30 }).map((words) => words.join(' ')),
  )
  fc.assert(
    fc.property(text, fc.constantFrom('entity' as const, 'table' as const), (text, subject) => {
      try {
        parseFilter(text, subject)
      } catch (error) {
        assert(error instanceof StorageError, String(error))
      }
    }),
    { numRuns: 5_000 },
  )
})
