// The parser of $filter ("Querying tables and entities"):
//
//   or          and (or and)*
//   and         not (and not)*
//   not         not not | comparison
//   comparison  operand ((eq|ne|gt|ge|lt|le) operand)?     a property and a constant, in either order
//   operand     property | constant | ( or )
//
// A property alone means that it is true. Functions and arithmetic, which OData has but the service doesn't,
// are 501; other errors are 400.
import { StorageError } from '../shared/error.ts'
import type { EdmType, EdmValue } from './edm.ts'
import { invalidFilter, isOpeningAt, nextFilterToken, type FilterToken } from './filter-token.ts'
import type { FilterExpression, FilterOperator } from './filter.ts'

/** For Query Entities or Query Tables. */
export type FilterSubject = 'entity' | 'table'

/** The service documents a limit of 15 comparisons, but accepts more. */
const COMPARISON_COUNT_MAX = 1_000
/** Clients add one parenthesis per condition. */
const DEPTH_MAX = 500
const FILTER_LENGTH_MAX = 65_536

/** An empty filter matches everything (Azurite#1573). Throws only StorageErrors. */
export function parseFilter(source: string, subject: FilterSubject = 'entity'): FilterExpression {
  if (source.length > FILTER_LENGTH_MAX) throw invalidFilter()
  const token = nextFilterToken(source, 0)
  if (token.kind === 'end') return { constant: true }
  const cursor: Cursor = { source, subject, token, comparisonCount: 0 }
  const expression = toCondition(cursor, takeOr(cursor, 0))
  if (cursor.token.kind !== 'end') throw unexpected(cursor)
  return expression
}

type Cursor = {
  readonly source: string
  readonly subject: FilterSubject
  token: FilterToken
  comparisonCount: number
}

/** What parentheses may contain: a condition, or one side of a comparison. */
type Operand =
  | { readonly kind: 'condition'; readonly expression: FilterExpression }
  | { readonly kind: 'property'; readonly name: string }
  | { readonly kind: 'constant'; readonly value: EdmValue }
  | { readonly kind: 'null' }

function takeOr(cursor: Cursor, depth: number): Operand {
  const first = takeAnd(cursor, depth)
  if (!takeWord(cursor, 'or')) return first
  const any = [toCondition(cursor, first)]
  do any.push(toCondition(cursor, takeAnd(cursor, depth)))
  while (takeWord(cursor, 'or'))
  return { kind: 'condition', expression: { any } }
}

function takeAnd(cursor: Cursor, depth: number): Operand {
  const first = takeNot(cursor, depth)
  if (!takeWord(cursor, 'and')) return first
  const all = [toCondition(cursor, first)]
  do all.push(toCondition(cursor, takeNot(cursor, depth)))
  while (takeWord(cursor, 'and'))
  return { kind: 'condition', expression: { all } }
}

function takeNot(cursor: Cursor, depth: number): Operand {
  if (!takeWord(cursor, 'not')) return takeComparison(cursor, depth)
  const inside = takeNot(cursor, deeper(depth))
  return { kind: 'condition', expression: { not: toCondition(cursor, inside) } }
}

function takeComparison(cursor: Cursor, depth: number): Operand {
  const left = takeOperand(cursor, depth)
  checkNoArithmetic(cursor)
  const operator = takeOperator(cursor)
  if (operator === undefined) return left
  const right = takeOperand(cursor, depth)
  checkNoArithmetic(cursor)
  return { kind: 'condition', expression: compare(cursor, left, operator, right) }
}

function takeOperand(cursor: Cursor, depth: number): Operand {
  const { token } = cursor
  switch (token.kind) {
    case '(':
      return takeParentheses(cursor, deeper(depth))
    case 'literal':
      advance(cursor)
      return { kind: 'constant', value: token.value }
    case 'null':
      advance(cursor)
      return { kind: 'null' }
    case 'word':
      return takeProperty(cursor, token.text)
    default:
      throw invalidFilter(`Expression expected at position ${token.at} in '${cursor.source}'.`)
  }
}

function takeParentheses(cursor: Cursor, depth: number): Operand {
  advance(cursor)
  const inside = takeOr(cursor, depth)
  if (cursor.token.kind !== ')') throw unexpected(cursor)
  advance(cursor)
  return inside
}

function deeper(depth: number): number {
  if (depth === DEPTH_MAX) throw invalidFilter('Recursion depth exceeded allowed limit.')
  return depth + 1
}

function takeProperty(cursor: Cursor, name: string): Operand {
  const { at, end } = cursor.token
  if (WORDS.has(name)) {
    throw invalidFilter(`Expression expected at position ${at} in '${cursor.source}'.`)
  }
  if (isOpeningAt(cursor.source, end)) throw unsupportedFunction(name)
  if (cursor.subject === 'table' && !TABLE_TYPES.has(name)) throw invalidFilter()
  advance(cursor)
  return { kind: 'property', name }
}

const OPERATORS: ReadonlyMap<string, FilterOperator> = new Map<string, FilterOperator>([
  ['eq', 'eq'],
  ['ne', 'ne'],
  ['gt', 'gt'],
  ['ge', 'ge'],
  ['lt', 'lt'],
  ['le', 'le'],
])
const ARITHMETIC: ReadonlySet<string> = new Set(['add', 'sub', 'mul', 'div', 'mod'])
const WORDS: ReadonlySet<string> = new Set([...OPERATORS.keys(), 'and', 'or', 'not'])

// prettier-ignore
const FUNCTIONS: ReadonlySet<string> = new Set([
  'startswith', 'endswith', 'substringof', 'contains', 'length', 'indexof', 'replace', 'substring',
  'tolower', 'toupper', 'trim', 'concat', 'year', 'month', 'day', 'hour', 'minute', 'second',
  'round', 'floor', 'ceiling', 'isof', 'cast',
])

function unsupportedFunction(name: string): StorageError {
  if (FUNCTIONS.has(name)) return new StorageError('NotImplemented')
  return invalidFilter(
    `An unknown function with name '${name}' was found. This may also be a key lookup on a navigation property, which is not allowed.`,
  )
}

function checkNoArithmetic({ token }: Cursor): void {
  if (token.kind === 'word' && ARITHMETIC.has(token.text)) throw new StorageError('NotImplemented')
}

function takeOperator(cursor: Cursor): FilterOperator | undefined {
  const { token } = cursor
  if (token.kind !== 'word') return undefined
  const operator = OPERATORS.get(token.text)
  if (operator !== undefined) advance(cursor)
  return operator
}

function takeWord(cursor: Cursor, word: string): boolean {
  if (cursor.token.kind !== 'word' || cursor.token.text !== word) return false
  advance(cursor)
  return true
}

function advance(cursor: Cursor): void {
  cursor.token = nextFilterToken(cursor.source, cursor.token.end)
}

/** The service's library reports the end of the unexpected token. */
function unexpected({ token, source }: Cursor): StorageError {
  if (token.kind === 'end') {
    return invalidFilter(`')' or operator expected at position ${token.at} in '${source}'.`)
  }
  return invalidFilter(`Syntax error at position ${token.end} in '${source}'.`)
}

const TRUE: EdmValue = { type: 'Edm.Boolean', value: true }

function toCondition(cursor: Cursor, operand: Operand): FilterExpression {
  if (operand.kind === 'condition') return operand.expression
  if (operand.kind === 'constant' && operand.value.type === 'Edm.Boolean') {
    return { constant: operand.value.value }
  }
  if (operand.kind !== 'property' || systemTypes(cursor).has(operand.name)) {
    throw invalidFilter('The $filter expression must evaluate to a single boolean value.')
  }
  countComparison(cursor)
  return { property: operand.name, operator: 'eq', value: TRUE }
}

const MIRRORED: Readonly<Record<FilterOperator, FilterOperator>> = {
  eq: 'eq',
  ne: 'ne',
  gt: 'lt',
  ge: 'le',
  lt: 'gt',
  le: 'ge',
}

/** One side must be a property and the other a constant. `null` is neither (Azurite#2471). */
function compare(
  cursor: Cursor,
  left: Operand,
  operator: FilterOperator,
  right: Operand,
): FilterExpression {
  countComparison(cursor)
  if (left.kind === 'property' && right.kind === 'constant') {
    const type = systemTypes(cursor).get(left.name) ?? right.value.type
    checkTypes([type, right.value.type], operator)
    return { property: left.name, operator, value: constantFor(cursor, right.value) }
  }
  if (left.kind === 'constant' && right.kind === 'property') {
    const type = systemTypes(cursor).get(right.name) ?? left.value.type
    checkTypes([left.value.type, type], operator)
    const value = constantFor(cursor, left.value)
    return { property: right.name, operator: MIRRORED[operator], value }
  }
  throw invalidFilter()
}

const ENTITY_TYPES: ReadonlyMap<string, EdmType> = new Map([
  ['PartitionKey', 'Edm.String'],
  ['RowKey', 'Edm.String'],
  ['Timestamp', 'Edm.DateTime'],
])
const TABLE_TYPES: ReadonlyMap<string, EdmType> = new Map([['TableName', 'Edm.String']])

/** Properties with a fixed type. The types of others can differ between entities. */
function systemTypes({ subject }: Cursor): ReadonlyMap<string, EdmType> {
  return subject === 'table' ? TABLE_TYPES : ENTITY_TYPES
}

const OPERATOR_KINDS: Readonly<Record<FilterOperator, string>> = {
  eq: 'Equal',
  ne: 'NotEqual',
  gt: 'GreaterThan',
  ge: 'GreaterThanOrEqual',
  lt: 'LessThan',
  le: 'LessThanOrEqual',
}

function checkTypes([left, right]: readonly [EdmType, EdmType], operator: FilterOperator): void {
  if (left === right) return
  throw invalidFilter(
    `A binary operator with incompatible types was detected. Found operand types '${left}' and '${right}' for operator kind '${OPERATOR_KINDS[operator]}'.`,
  )
}

/** Names of tables are case-insensitive. */
function constantFor({ subject }: Cursor, edm: EdmValue): EdmValue {
  if (subject === 'entity' || edm.type !== 'Edm.String') return edm
  return { type: edm.type, value: edm.value.toLowerCase() }
}

function countComparison(cursor: Cursor): void {
  cursor.comparisonCount += 1
  if (cursor.comparisonCount > COMPARISON_COUNT_MAX) throw invalidFilter()
}
