// Random filters and entities: a parsed filter matches the same entities as a simple model of it, and no match
// is outside the range of keys that a query scans.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { compareKeys, encodeKey } from '../../kv/key.ts'
import { formatDateTime, parseDateTime } from './edm-date-time.ts'
import { formatDouble } from './edm-text.ts'
import type { EdmValue } from './edm.ts'
import { parseFilter } from './filter-parse.ts'
import {
  matchesFilter,
  type FilterComparison,
  type FilterEntity,
  type FilterExpression,
} from './filter.ts'
import { entityKeyRangeOf, scanRangeOf } from './key-range.ts'

// Few values of each type, so that they are often equal.
const text = fc.constantFrom('', 'a', 'A', 'ab', "'", '😀', '\uffff', '10', '9')
const edmString = text.map((value): EdmValue => ({ type: 'Edm.String', value }))
const edmDateTime = fc
  .constantFrom('1601-01-01', '2026-01-01T00:00:00.0000001Z', '2026-01-01', '9999-12-31')
  .map((value): EdmValue => ({ type: 'Edm.DateTime', value: parseDateTime(value) ?? '' }))
const edm = fc.oneof(
  edmString,
  edmDateTime,
  fc.boolean().map((value): EdmValue => ({ type: 'Edm.Boolean', value })),
  fc.constantFrom(-1, 0, 9, 10).map((value): EdmValue => ({ type: 'Edm.Int32', value })),
  fc
    .constantFrom('-1', '0', '9', '10', '9007199254740993', '9007199254740992')
    .map((value): EdmValue => ({ type: 'Edm.Int64', value })),
  fc
    .constantFrom<number | 'NaN' | 'Infinity'>(-1, 0, 9, 9.5, 1e300, 'NaN', 'Infinity')
    .map((value): EdmValue => ({ type: 'Edm.Double', value })),
  fc.constantFrom('0', '9', 'a').map((digit): EdmValue => ({
    type: 'Edm.Guid',
    value: `0000000${digit}-0000-0000-0000-000000000000`,
  })),
  fc.constantFrom('', 'AA==', 'AAE=', '/w==').map((value): EdmValue => ({ type: 'Edm.Binary', value })), // prettier-ignore
)

/** Plain objects like those of the parser, so that they can be compared. */
const PLAIN = { noNullPrototype: true } as const

const operator = fc.constantFrom('eq', 'ne', 'gt', 'ge', 'lt', 'le')
const key = fc.constantFrom('PartitionKey', 'RowKey')
const comparison: fc.Arbitrary<FilterComparison> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ property: key, operator, value: edmString }, PLAIN) },
  fc.record({ property: fc.constant('Timestamp'), operator, value: edmDateTime }, PLAIN),
  {
    weight: 3,
    arbitrary: fc.record({ property: fc.constantFrom('A', 'B'), operator, value: edm }, PLAIN),
  },
)

const { expression } = fc.letrec<{ expression: FilterExpression }>((tie) => ({
  expression: fc.oneof(
    { maxDepth: 4, depthIdentifier: 'filter' },
    comparison,
    fc.record({ all: fc.array(tie('expression'), { minLength: 2, maxLength: 3 }) }, PLAIN),
    fc.record({ any: fc.array(tie('expression'), { minLength: 2, maxLength: 3 }) }, PLAIN),
    fc.record({ not: tie('expression') }, PLAIN),
    fc.record({ constant: fc.boolean() }, PLAIN),
  ),
}))

const entity: fc.Arbitrary<FilterEntity> = fc.record({
  partitionKey: text,
  rowKey: text,
  timestamp: edmDateTime,
  properties: fc.record({ A: edm, B: edm }, { requiredKeys: [] }),
})

const MIRRORED = { eq: 'eq', ne: 'ne', gt: 'lt', ge: 'le', lt: 'gt', le: 'ge' } as const

/** With `swap`, the constant comes first. */
function write(expression: FilterExpression, swap: boolean): string {
  if ('all' in expression) return joined(expression.all, ' and ', swap)
  if ('any' in expression) return joined(expression.any, ' or ', swap)
  if ('not' in expression) return `not (${write(expression.not, swap)})`
  if ('constant' in expression) return String(expression.constant)
  const { property, operator, value } = expression
  const literal = formatLiteral(value)
  return swap
    ? `${literal} ${MIRRORED[operator]} ${property}`
    : `${property} ${operator} ${literal}`
}

function formatLiteral(edm: EdmValue): string {
  switch (edm.type) {
    case 'Edm.String':
      return `'${edm.value.replaceAll("'", "''")}'`
    case 'Edm.Int64':
      return `${edm.value}L`
    case 'Edm.Double':
      return formatDouble(edm.value).replace('Infinity', 'INF')
    case 'Edm.DateTime':
      return `datetime'${formatDateTime(edm.value)}'`
    case 'Edm.Guid':
      return `guid'${edm.value}'`
    case 'Edm.Binary':
      return `X'${Buffer.from(edm.value, 'base64').toString('hex')}'`
    default:
      return String(edm.value)
  }
}

function joined(parts: readonly FilterExpression[], word: string, swap: boolean): string {
  return parts.map((part) => `(${write(part, swap)})`).join(word)
}

/** The model of a comparison: every value becomes a list of numbers, which are compared from left to right. */
function numbersOf({ type, value }: EdmValue): number[] {
  switch (type) {
    case 'Edm.String':
      return value.split('').map((unit) => unit.charCodeAt(0))
    case 'Edm.Int64':
      return [Number(BigInt(value) >> 20n), Number(BigInt.asUintN(20, BigInt(value)))]
    case 'Edm.DateTime':
      return [Date.parse(`${value.slice(0, 19)}Z`), Number(value.slice(20, 27))]
    case 'Edm.Guid':
      return value.split('').map((digit) => (digit === '-' ? 0 : Number.parseInt(digit, 16)))
    case 'Edm.Binary':
      return [...Buffer.from(value, 'base64')]
    default:
      return [Number(value)]
  }
}

function sign(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((number, i) => number !== b[i])
  if (at < 0) return a.length === b.length ? 0 : -1
  const [left = Number.NaN, right] = [a[at], b[at]]
  return right === undefined ? 1 : Math.sign(left - right)
}

function widened(constant: EdmValue, type: EdmValue['type']): EdmValue {
  if (constant.type !== 'Edm.Int32') return constant
  if (type === 'Edm.Int64') return { type, value: String(constant.value) }
  return type === 'Edm.Double' ? { type, value: constant.value } : constant
}

const SIGNS = { eq: [0], ne: [-1, 1, Number.NaN], gt: [1], ge: [0, 1], lt: [-1], le: [-1, 0] }

function modelMatches(expression: FilterExpression, entity: FilterEntity): boolean {
  if ('all' in expression) return !expression.all.some((part) => !modelMatches(part, entity))
  if ('any' in expression)
    return expression.any.filter((part) => modelMatches(part, entity)).length > 0
  if ('not' in expression) return modelMatches(expression.not, entity) === false
  if ('constant' in expression) return expression.constant
  const values = new Map<string, EdmValue>([
    ...Object.entries(entity.properties),
    ['PartitionKey', { type: 'Edm.String', value: entity.partitionKey }],
    ['RowKey', { type: 'Edm.String', value: entity.rowKey }],
    ['Timestamp', entity.timestamp],
  ])
  const value = values.get(expression.property)
  if (value === undefined) return false
  const constant = widened(expression.value, value.type)
  if (constant.type !== value.type) return false
  return SIGNS[expression.operator].includes(sign(numbersOf(value), numbersOf(constant)))
}

test('a parsed filter agrees with the model', () => {
  fc.assert(
    fc.property(expression, entity, fc.boolean(), (expression, entity, swap) => {
      const parsed = parseFilter(write(expression, swap))
      assert.deepEqual(parsed, expression)
      assert.equal(matchesFilter(parsed, entity), modelMatches(expression, entity))
    }),
    { numRuns: 3_000 },
  )
})

test('no match is outside the scanned range', () => {
  fc.assert(
    fc.property(expression, entity, (expression, entity) => {
      const range = entityKeyRangeOf(expression)
      const { from, to } = scanRangeOf(range, ['entity', 7])
      assert(compareKeys(from, to) <= 0)
      if (!matchesFilter(expression, entity)) return
      const { partitionKey, rowKey } = entity
      assert(range.partition.from <= partitionKey && range.row.from <= rowKey)
      assert(range.partition.to === undefined || partitionKey < range.partition.to)
      assert(range.row.to === undefined || rowKey < range.row.to)
      const key = encodeKey('entity', 7, partitionKey, rowKey)
      assert(compareKeys(from, key) <= 0 && compareKeys(key, to) < 0)
    }),
    { numRuns: 5_000 },
  )
})

test('the range for conditions on one partition and its rows is exact', () => {
  const rows = fc.array(
    fc.record({
      property: fc.constant('RowKey'),
      operator: fc.constantFrom('eq', 'gt', 'ge', 'lt', 'le'),
      value: edmString,
    }),
    { maxLength: 3 },
  )
  fc.assert(
    fc.property(text, rows, entity, (partitionKey, rows, entity) => {
      const partition: FilterExpression = {
        property: 'PartitionKey',
        operator: 'eq',
        value: { type: 'Edm.String', value: partitionKey },
      }
      const all = { all: [partition, ...rows] }
      const { from, to } = scanRangeOf(entityKeyRangeOf(all), ['entity', 7])
      const key = encodeKey('entity', 7, entity.partitionKey, entity.rowKey)
      const isInside = compareKeys(from, key) <= 0 && compareKeys(key, to) < 0
      assert.equal(isInside, matchesFilter(all, entity))
    }),
    { numRuns: 3_000 },
  )
})
