// Parses expressions by recursive descent, with the precedence of Transact-SQL: unary minus; * / %; + -;
// comparisons and predicates; NOT; AND; OR. Only parentheses, arguments and CASE recurse, to a limited depth.
import { functionOf } from './functions.ts'
import { syntaxError } from '../query-error.ts'
import { isExtractPart } from './timestamp.ts'
import { parseNumber, type CastType } from './value.ts'
import type {
  ArithmeticOperator,
  ArithmeticStep,
  CaseBranch,
  CompareOperator,
  Expression,
  PathStep,
} from './expression.ts'
import type { TokenCursor } from './token-cursor.ts'

const DEPTH_MAX = 100

const COMPARISONS: Readonly<Record<string, CompareOperator>> = {
  '=': '=',
  '!=': '!=',
  '<>': '!=',
  '<': '<',
  '<=': '<=',
  '>': '>',
  '>=': '>=',
}

/** The five types of the reference, and SQL's other names for them. */
const CAST_TYPES: Readonly<Record<string, CastType>> = {
  INT: 'INT',
  INTEGER: 'INT',
  BIGINT: 'INT',
  FLOAT: 'FLOAT',
  DOUBLE: 'FLOAT',
  REAL: 'FLOAT',
  DECIMAL: 'FLOAT',
  NUMERIC: 'FLOAT',
  STRING: 'STRING',
  VARCHAR: 'STRING',
  CHAR: 'STRING',
  BOOL: 'BOOLEAN',
  BOOLEAN: 'BOOLEAN',
  TIMESTAMP: 'TIMESTAMP',
}

/** Words that end an expression and are never columns. */
const RESERVED = new Set(
  'SELECT FROM WHERE LIMIT AS AND OR NOT IN IS LIKE BETWEEN ESCAPE WHEN THEN ELSE END'.split(' '),
)

export function parseExpression(cursor: TokenCursor): Expression {
  cursor.depth += 1
  if (cursor.depth > DEPTH_MAX) throw syntaxError('The expression is nested too deeply.')
  const operands = [parseAnd(cursor)]
  while (cursor.take('OR')) operands.push(parseAnd(cursor))
  cursor.depth -= 1
  return single(operands) ?? { kind: 'or', operands }
}

function parseAnd(cursor: TokenCursor): Expression {
  const operands = [parseNot(cursor)]
  while (cursor.take('AND')) operands.push(parseNot(cursor))
  return single(operands) ?? { kind: 'and', operands }
}

const single = (operands: readonly Expression[]) =>
  operands.length === 1 ? operands[0] : undefined

function parseNot(cursor: TokenCursor): Expression {
  let negated = false
  while (cursor.take('NOT')) negated = !negated
  const operand = parsePredicate(cursor)
  return negated ? { kind: 'not', operand } : operand
}

function parsePredicate(cursor: TokenCursor): Expression {
  const operand = parseSum(cursor)
  const { word } = cursor.peek()
  const operator = Object.hasOwn(COMPARISONS, word) ? COMPARISONS[word] : undefined
  if (operator !== undefined) {
    cursor.next()
    return { kind: 'compare', operator, left: operand, right: parseSum(cursor) }
  }
  if (cursor.take('IS')) return parseIs(cursor, operand)
  const negated = cursor.take('NOT')
  const predicate = parseWordPredicate(cursor, operand)
  if (predicate === undefined) {
    if (negated) throw syntaxError('Expected a predicate after NOT.')
    return operand
  }
  return negated ? { kind: 'not', operand: predicate } : predicate
}

function parseIs(cursor: TokenCursor, operand: Expression): Expression {
  const negated = cursor.take('NOT')
  const kind = cursor.take('MISSING') ? 'isMissing' : 'isNull'
  if (kind === 'isNull') cursor.expect('NULL')
  const predicate: Expression = { kind, operand }
  return negated ? { kind: 'not', operand: predicate } : predicate
}

function parseWordPredicate(cursor: TokenCursor, operand: Expression): Expression | undefined {
  if (cursor.take('BETWEEN')) {
    const low = parseSum(cursor)
    cursor.expect('AND')
    return { kind: 'between', operand, low, high: parseSum(cursor) }
  }
  if (cursor.take('IN')) {
    cursor.expect('(')
    return { kind: 'in', operand, list: parseList(cursor) }
  }
  if (!cursor.take('LIKE')) return undefined
  const pattern = parseSum(cursor)
  const escape = cursor.take('ESCAPE') ? parseSum(cursor) : undefined
  return { kind: 'like', operand, pattern, escape }
}

function parseSum(cursor: TokenCursor): Expression {
  return parseChain(cursor, ['+', '-'], (inner) =>
    parseChain(inner, ['*', '/', '%'], parseNegation),
  )
}

function parseChain(
  cursor: TokenCursor,
  operators: readonly ArithmeticOperator[],
  parseOperand: (cursor: TokenCursor) => Expression,
): Expression {
  const first = parseOperand(cursor)
  const rest: ArithmeticStep[] = []
  for (;;) {
    const operator = operators.find((word) => cursor.take(word))
    if (operator === undefined) break
    rest.push({ operator, operand: parseOperand(cursor) })
  }
  return rest.length === 0 ? first : { kind: 'arithmetic', first, rest }
}

function parseNegation(cursor: TokenCursor): Expression {
  let negated = false
  for (;;) {
    if (cursor.take('-')) negated = !negated
    else if (!cursor.take('+')) break
  }
  const operand = parsePrimary(cursor)
  if (!negated) return operand
  if (operand.kind === 'literal' && typeof operand.value === 'bigint') {
    return { kind: 'literal', value: -operand.value }
  }
  return { kind: 'negate', operand }
}

function parsePrimary(cursor: TokenCursor): Expression {
  const token = cursor.next()
  switch (token.kind) {
    case 'string':
      return { kind: 'literal', value: token.text }
    case 'number':
      return parseNumberLiteral(token.text)
    case 'quoted':
      return parseColumn(cursor, { name: token.text, quoted: true })
    case 'name':
      return parseWord(cursor, token.text, token.word)
    default:
      return parseParenthesis(cursor, token.word)
  }
}

function parseNumberLiteral(text: string): Expression {
  const value = parseNumber(text)
  if (value === undefined) throw syntaxError('A number is too large.')
  return { kind: 'literal', value }
}

function parseParenthesis(cursor: TokenCursor, word: string): Expression {
  if (word !== '(') throw syntaxError(word === '' ? 'Unexpected end.' : `Unexpected '${word}'.`)
  const inside = parseExpression(cursor)
  cursor.expect(')')
  return inside
}

function parseWord(cursor: TokenCursor, text: string, word: string): Expression {
  if (cursor.peek().word === '(' && !RESERVED.has(word)) {
    cursor.next()
    return parseCall(cursor, word)
  }
  if (word === 'NULL') return { kind: 'literal', value: null }
  if (word === 'TRUE' || word === 'FALSE') return { kind: 'literal', value: word === 'TRUE' }
  if (word === 'CASE') return parseCase(cursor)
  if (RESERVED.has(word)) throw syntaxError(`Unexpected '${text}'.`)
  return parseColumn(cursor, { name: text, quoted: false })
}

function parseColumn(cursor: TokenCursor, first: PathStep): Expression {
  return { kind: 'column', path: [first, ...cursor.pathSteps()] }
}

function parseCase(cursor: TokenCursor): Expression {
  const subject = cursor.peek().word === 'WHEN' ? undefined : parseExpression(cursor)
  const branches: CaseBranch[] = []
  while (cursor.take('WHEN')) {
    const when = parseExpression(cursor)
    cursor.expect('THEN')
    branches.push({ when, result: parseExpression(cursor) })
  }
  if (branches.length === 0) throw syntaxError('CASE has no WHEN.')
  const otherwise = cursor.take('ELSE') ? parseExpression(cursor) : undefined
  cursor.expect('END')
  return { kind: 'case', subject, branches, otherwise }
}

/** The opening parenthesis has been consumed. */
function parseCall(cursor: TokenCursor, name: string): Expression {
  if (name === 'CAST') return parseCast(cursor)
  if (name === 'COALESCE') return { kind: 'coalesce', operands: parseList(cursor) }
  const args = parseArguments(cursor, name)
  functionOf(name, args.length)
  return { kind: 'call', name, args }
}

function parseArguments(cursor: TokenCursor, name: string): readonly Expression[] {
  if (name === 'TRIM') return parseTrim(cursor)
  if (name === 'EXTRACT') return parseExtract(cursor)
  if (name === 'SUBSTRING') return parseSubstring(cursor)
  if (cursor.take(')')) return []
  if (name !== 'DATE_ADD' && name !== 'DATE_DIFF') return parseList(cursor)
  const part = parseDatePart(cursor)
  cursor.expect(',')
  return [part, ...parseList(cursor)]
}

/** One or more expressions separated by commas, and the closing parenthesis. */
function parseList(cursor: TokenCursor): readonly Expression[] {
  const list = [parseExpression(cursor)]
  while (cursor.take(',')) list.push(parseExpression(cursor))
  cursor.expect(')')
  return list
}

function parseCast(cursor: TokenCursor): Expression {
  const operand = parseExpression(cursor)
  cursor.expect('AS')
  const { word } = cursor.next()
  const type = Object.hasOwn(CAST_TYPES, word) ? CAST_TYPES[word] : undefined
  if (type === undefined) throw syntaxError('CAST has an unknown type.')
  if (cursor.take('(')) parseList(cursor) // DECIMAL(10, 2): ignored, since a FLOAT has no precision.
  cursor.expect(')')
  return { kind: 'cast', operand, type }
}

/** A date part is a word or a string: YEAR or 'year'. */
function parseDatePart(cursor: TokenCursor): Expression {
  const { text } = cursor.next()
  if (!isExtractPart(text.toUpperCase())) throw syntaxError(`'${text}' is not a date part.`)
  return { kind: 'literal', value: text }
}

function parseExtract(cursor: TokenCursor): readonly Expression[] {
  const part = parseDatePart(cursor)
  cursor.expect('FROM')
  return [part, ...parseList(cursor)]
}

/** SUBSTRING(s, start[, length]) or SUBSTRING(s FROM start [FOR length]). */
function parseSubstring(cursor: TokenCursor): readonly Expression[] {
  const text = parseExpression(cursor)
  if (!cursor.take('FROM')) {
    cursor.expect(',')
    return [text, ...parseList(cursor)]
  }
  const args = [text, parseExpression(cursor)]
  if (cursor.take('FOR')) args.push(parseExpression(cursor))
  cursor.expect(')')
  return args
}

/** TRIM(s), TRIM('x' FROM s), TRIM(LEADING FROM s) or TRIM(BOTH 'x' FROM s). Returns side, characters, text. */
function parseTrim(cursor: TokenCursor): readonly Expression[] {
  const side = ['LEADING', 'TRAILING', 'BOTH'].find((word) => cursor.take(word))
  const sideLiteral: Expression = { kind: 'literal', value: side ?? 'BOTH' }
  let characters: Expression = { kind: 'literal', value: ' ' }
  if (side === undefined || cursor.peek().word !== 'FROM') {
    const first = parseExpression(cursor)
    if (side === undefined && cursor.take(')')) return [sideLiteral, characters, first]
    characters = first
  }
  cursor.expect('FROM')
  return [sideLiteral, characters, ...parseList(cursor)]
}
