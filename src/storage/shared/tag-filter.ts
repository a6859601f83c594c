// Filters on a blob's tags: the `where` of Find Blobs by Tags and the condition x-ms-if-tags. Parses them, and
// evaluates them for given tags. The operators are those of "Manage and find Azure Blob data with blob index
// tags"; there is no NOT.
//
//   where       comparison (AND comparison)*          = > >= < <=; for an account also @container =
//   if-tags     conjunction (OR conjunction)*         = > >= < <= <>
import { invalidHeader, StorageError } from './error.ts'
import {
  isTagText,
  TAG_COUNT_MAX,
  TAG_NAME_LENGTH_MAX,
  TAG_VALUE_LENGTH_MAX,
  type Tags,
} from './tags.ts'

export type TagOperator = '=' | '<>' | '>' | '>=' | '<' | '<='

export type TagComparison = {
  readonly name: string
  readonly operator: TagOperator
  readonly value: string
}

export type TagExpression =
  | TagComparison
  | { readonly all: readonly TagExpression[] }
  | { readonly any: readonly TagExpression[] }

/** A `where`: comparisons that all must hold. */
export type TagConjunction = { readonly all: readonly TagComparison[] }

type WhereScope = 'account' | 'container'

/** Not the name of a tag: those can't contain an at sign. */
const CONTAINER = '@container'

/** Limits the number of AND and OR in one x-ms-if-tags. */
const LOGICAL_OPERATOR_COUNT_MAX = 10
/** More parentheses than ten operators need. */
const DEPTH_MAX = 32

const HOLDS: Readonly<Record<TagOperator, (actual: string, expected: string) => boolean>> = {
  '=': (actual, expected) => actual === expected,
  '<>': (actual, expected) => actual !== expected,
  '>': (actual, expected) => actual > expected,
  '>=': (actual, expected) => actual >= expected,
  '<': (actual, expected) => actual < expected,
  '<=': (actual, expected) => actual <= expected,
}

/** Values are compared as text, ordinally. A comparison with a missing tag is false. */
export function matchesTags(expression: TagExpression, tags: Tags): boolean {
  if ('all' in expression) return expression.all.every((part) => matchesTags(part, tags))
  if ('any' in expression) return expression.any.some((part) => matchesTags(part, tags))
  const { name, operator, value } = expression
  const tag = tags.find(([tagName]) => tagName === name)
  return tag !== undefined && HOLDS[operator](tag[1], value)
}

/** The tags that the filter names: a result contains only these. */
export function namedTags(where: TagConjunction, tags: Tags): Tags {
  return tags.filter(([name]) => where.all.some((comparison) => comparison.name === name))
}

/** Separates the container from the conditions on tags. */
export function splitContainer(where: TagConjunction): {
  readonly container: string | undefined
  readonly where: TagConjunction
} {
  const container = where.all.find(({ name }) => name === CONTAINER)
  if (container === undefined) return { container: undefined, where }
  const all = where.all.filter(({ name }) => name !== CONTAINER)
  return { container: container.value, where: { all } }
}

export function parseWhere(text: string, scope: WhereScope): TagConjunction {
  const fail: Fail = (reason, at) => invalidWhere(text, reason, at)
  const cursor = startCursor(text, WHERE_OPERATORS, fail)
  const all: TagComparison[] = []
  do {
    all.push(isContainer(cursor.token) ? takeContainer(cursor, scope) : takeTag(cursor))
  } while (takeWord(cursor, 'AND'))
  if (cursor.token.kind !== 'end') throw unexpected(cursor)
  checkConjunction(all, fail)
  return { all }
}

/** `header` is x-ms-if-tags or, for the source of a copy, x-ms-source-if-tags. */
export function parseIfTags(text: string, header: string = 'x-ms-if-tags'): TagExpression {
  const cursor = startCursor(text, IF_TAGS_OPERATORS, () => invalidHeader(header, text))
  const expression = takeDisjunction(cursor, 0)
  if (cursor.token.kind !== 'end') throw unexpected(cursor)
  return expression
}

/** The service reports the reason and the position (azure-sdk-for-net#18226, #27610). */
function invalidWhere(text: string, reason: string, at: number | undefined): StorageError {
  const place = at === undefined ? '' : ` at or near character position ${at + 1}`
  return new StorageError(
    'InvalidQueryParameterValue',
    { QueryParameterName: 'where', QueryParameterValue: text },
    `Error parsing query${place}: ${reason}`,
  )
}

/** Each tag has one comparison, or two that form a range. */
function checkConjunction(all: readonly TagComparison[], fail: Fail): void {
  const sides = new Map<string, string>()
  for (const { name, operator } of all) {
    sides.set(name, (sides.get(name) ?? '') + operator.charAt(0))
  }
  for (const side of sides.values()) {
    // A lower and an upper bound, in either order.
    if (side.length > 1 && side !== '<>' && side !== '><') {
      throw fail("can't have multiple conditions for a single tag unless they define a range")
    }
  }
  const tagCount = sides.size - (sides.has(CONTAINER) ? 1 : 0)
  if (tagCount === 0) throw fail('there must be at least one tag in a query')
  if (tagCount > TAG_COUNT_MAX) {
    throw fail(`there can be at most ${TAG_COUNT_MAX} unique tags in a query`)
  }
}

function takeDisjunction(cursor: Cursor, depth: number): TagExpression {
  const any = [takeConjunction(cursor, depth)]
  while (takeLogical(cursor, 'OR')) any.push(takeConjunction(cursor, depth))
  return any.length === 1 && any[0] !== undefined ? any[0] : { any }
}

function takeConjunction(cursor: Cursor, depth: number): TagExpression {
  const all = [takePrimary(cursor, depth)]
  while (takeLogical(cursor, 'AND')) all.push(takePrimary(cursor, depth))
  return all.length === 1 && all[0] !== undefined ? all[0] : { all }
}

function takePrimary(cursor: Cursor, depth: number): TagExpression {
  if (!takeParenthesis(cursor, '(')) return takeTag(cursor)
  if (depth === DEPTH_MAX) throw unexpected(cursor)
  const inside = takeDisjunction(cursor, depth + 1)
  if (!takeParenthesis(cursor, ')')) throw unexpected(cursor)
  return inside
}

function takeLogical(cursor: Cursor, word: 'AND' | 'OR'): boolean {
  if (!takeWord(cursor, word)) return false
  cursor.logicalCount += 1
  if (cursor.logicalCount > LOGICAL_OPERATOR_COUNT_MAX) {
    throw cursor.fail(`there can be at most ${LOGICAL_OPERATOR_COUNT_MAX} logical operators`)
  }
  return true
}

function takeTag(cursor: Cursor): TagComparison {
  const name = takeName(cursor)
  const operator = takeOperator(cursor)
  const { text: value, at } = takeValue(cursor)
  checkText(cursor, value, at)
  if (value.length > TAG_VALUE_LENGTH_MAX) {
    const bounds = `between 0 and ${TAG_VALUE_LENGTH_MAX} characters in length`
    throw cursor.fail(`tag value must be ${bounds}`, at)
  }
  return { name, operator, value }
}

/** Without quotes: in quotes it would be the name of a tag. */
function isContainer(token: Token): boolean {
  return token.kind === 'word' && token.text === CONTAINER
}

/** The name isn't checked like that of a tag: `$web` has a character that tags can't have. */
function takeContainer(cursor: Cursor, scope: WhereScope): TagComparison {
  if (scope === 'container') throw cursor.fail('Cannot have container in both uri and query')
  advance(cursor)
  if (cursor.token.text !== '=') throw unexpected(cursor)
  const operator = takeOperator(cursor)
  return { name: CONTAINER, operator, value: takeValue(cursor).text }
}

function takeName(cursor: Cursor): string {
  const { kind, text, at } = cursor.token
  if (kind === 'word' && text.startsWith('@')) {
    throw cursor.fail(`unsupported parameter '${text}'`, at)
  }
  if (kind !== 'name' && (kind !== 'word' || KEYWORDS.has(text.toUpperCase()))) {
    throw unexpected(cursor)
  }
  checkText(cursor, text, at)
  if (text.length === 0 || text.length > TAG_NAME_LENGTH_MAX) {
    throw cursor.fail(`tag must be between 1 and ${TAG_NAME_LENGTH_MAX} characters in length`, at)
  }
  advance(cursor)
  return text
}

function takeOperator(cursor: Cursor): TagOperator {
  const operator = cursor.operators.find((known) => known === cursor.token.text)
  if (cursor.token.kind !== 'operator' || operator === undefined) throw unexpected(cursor)
  advance(cursor)
  return operator
}

function takeValue(cursor: Cursor): Token {
  const { token } = cursor
  if (token.kind !== 'value') throw unexpected(cursor)
  advance(cursor)
  return token
}

function checkText(cursor: Cursor, text: string, at: number): void {
  if (isTagText(text)) return
  const wrong = Array.from(text).find((character) => !isTagText(character)) ?? ''
  throw cursor.fail(`'${wrong}' not permitted in tag name or value`, at)
}

function takeWord(cursor: Cursor, word: string): boolean {
  if (cursor.token.kind !== 'word' || cursor.token.text.toUpperCase() !== word) return false
  advance(cursor)
  return true
}

function takeParenthesis(cursor: Cursor, parenthesis: '(' | ')'): boolean {
  if (cursor.token.kind !== 'parenthesis' || cursor.token.text !== parenthesis) return false
  advance(cursor)
  return true
}

function unexpected({ token, fail }: Cursor): StorageError {
  const what = token.kind === 'end' ? 'end of query' : `'${token.text}'`
  return fail(`unexpected ${what}`, token.at)
}

type TokenKind = 'operator' | 'parenthesis' | 'value' | 'name' | 'word' | 'end' | 'unknown'

type Token = { readonly kind: TokenKind; readonly text: string; readonly at: number }

type Fail = (reason: string, at?: number) => StorageError

type Cursor = {
  readonly source: string
  readonly operators: readonly TagOperator[]
  readonly fail: Fail
  token: Token
  /** The position after the token. */
  end: number
  logicalCount: number
}

const WHERE_OPERATORS: readonly TagOperator[] = ['=', '>', '>=', '<', '<=']
const IF_TAGS_OPERATORS: readonly TagOperator[] = [...WHERE_OPERATORS, '<>']
const KEYWORDS: ReadonlySet<string> = new Set(['AND', 'OR', 'NOT'])

// Tags can't contain quotes, so there are no doubled quotes.
const TOKEN =
  /(?<operator><=|>=|<>|[=<>])|(?<parenthesis>[()])|'(?<value>[^']*)'|"(?<name>[^"]*)"|(?<word>@?\w+)/y
const TOKEN_KINDS = ['operator', 'parenthesis', 'value', 'name', 'word'] as const
const SPACE = /\s*/y

function startCursor(source: string, operators: readonly TagOperator[], fail: Fail): Cursor {
  const token: Token = { kind: 'end', text: '', at: 0 }
  const cursor: Cursor = { source, operators, fail, token, end: 0, logicalCount: 0 }
  advance(cursor)
  return cursor
}

function advance(cursor: Cursor): void {
  const { source } = cursor
  SPACE.lastIndex = cursor.end
  SPACE.exec(source)
  const at = SPACE.lastIndex
  TOKEN.lastIndex = at
  const groups = TOKEN.exec(source)?.groups
  const kind = TOKEN_KINDS.find((known) => groups?.[known] !== undefined)
  if (groups !== undefined && kind !== undefined) {
    cursor.token = { kind, text: groups[kind] ?? '', at }
    cursor.end = TOKEN.lastIndex
    return
  }
  const codePoint = source.codePointAt(at)
  const rest = codePoint === undefined ? '' : String.fromCodePoint(codePoint)
  cursor.token = { kind: rest === '' ? 'end' : 'unknown', text: rest, at }
  cursor.end = at + rest.length
}
