// Compiles expressions to functions of a row, once per query, so that no row walks the syntax tree. Logic is
// three-valued: unknown is NULL, and WHERE keeps only rows for which the condition is true. Operators charge nothing
// to the budget; their operands do: literals, columns and functions.
import { arithmetic, negate } from './arithmetic.ts'
import { functionOf } from './functions.ts'
import { matchesLike, parseLikePattern } from './like.ts'
import { cast, compareValues, isNothing, toBoolean, toText } from './value.ts'
import type { Budget } from '../run/budget.ts'
import type { CompareOperator, Expression, Path } from './expression.ts'
import type { LikePattern } from './like.ts'
import type { SqlValue } from './value.ts'

export type Evaluate<Row> = (row: Row) => SqlValue

export type Scope<Row> = {
  /** Throws if the input can't have such a column. */
  column(path: Path, budget: Budget): Evaluate<Row>
  readonly nowMs: number
  readonly budget: Budget
}

/** Comparing or converting a string costs one unit for every 8 characters. */
const TEXT_SHIFT = 3
/** Units per character of a function's arguments: some functions split a string into characters. */
const FUNCTION_UNITS = 4

const COMPARE: Readonly<Record<CompareOperator, (order: number) => boolean>> = {
  '=': (order) => order === 0,
  '!=': (order) => order !== 0,
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
}

export function compile<Row>(expression: Expression, scope: Scope<Row>): Evaluate<Row> {
  const part = (inner: Expression) => compile(inner, scope)
  switch (expression.kind) {
    case 'literal':
      return charged(() => expression.value, scope.budget)
    case 'column':
      return charged(scope.column(expression.path, scope.budget), scope.budget)
    case 'and':
      return combine(expression.operands.map(part), false)
    case 'or':
      return combine(expression.operands.map(part), true)
    case 'coalesce':
      return coalesce(expression.operands.map(part))
    case 'call':
      return compileCall(expression, scope)
    case 'case':
      return compileCase(expression, scope)
    case 'like':
      return compileLike(expression, scope)
    case 'in':
      return isIn(part(expression.operand), expression.list.map(part))
    case 'between':
      return between(part(expression.operand), part(expression.low), part(expression.high))
    case 'compare':
      return compare(COMPARE[expression.operator], part(expression.left), part(expression.right))
    case 'arithmetic':
      return chain(expression, part)
    default:
      return compileUnary(expression, part(expression.operand))
  }
}

function charged<Row>(evaluate: Evaluate<Row>, budget: Budget): Evaluate<Row> {
  return (row) => {
    const value = evaluate(row)
    budget.spend(typeof value === 'string' ? 1 + (value.length >> TEXT_SHIFT) : 1)
    return value
  }
}

type Kind<K extends Expression['kind']> = Extract<Expression, { kind: K }>
type Unary = Kind<'not' | 'negate' | 'isNull' | 'isMissing' | 'cast'>

function compileUnary<Row>(expression: Unary, operand: Evaluate<Row>): Evaluate<Row> {
  switch (expression.kind) {
    case 'not':
      return (row) => {
        const value = operand(row)
        return isNothing(value) ? null : !toBoolean(value)
      }
    case 'negate':
      return (row) => negate(operand(row))
    case 'isNull':
      return (row) => isNothing(operand(row))
    case 'isMissing':
      return (row) => operand(row) === undefined
    case 'cast':
      return (row) => cast(operand(row), expression.type)
  }
}

/** AND and OR: the result is `decisive` as soon as one operand is. */
function combine<Row>(operands: readonly Evaluate<Row>[], decisive: boolean): Evaluate<Row> {
  return (row) => {
    let unknown = false
    for (const operand of operands) {
      const value = operand(row)
      if (isNothing(value)) unknown = true
      else if (toBoolean(value) === decisive) return decisive
    }
    return unknown ? null : !decisive
  }
}

function coalesce<Row>(operands: readonly Evaluate<Row>[]): Evaluate<Row> {
  return (row) => {
    for (const operand of operands) {
      const value = operand(row)
      if (!isNothing(value)) return value
    }
    return null
  }
}

function compare<Row>(
  holds: (order: number) => boolean,
  left: Evaluate<Row>,
  right: Evaluate<Row>,
): Evaluate<Row> {
  return (row) => {
    const a = left(row)
    const b = right(row)
    return isNothing(a) || isNothing(b) ? null : holds(compareValues(a, b))
  }
}

function between<Row>(
  operand: Evaluate<Row>,
  low: Evaluate<Row>,
  high: Evaluate<Row>,
): Evaluate<Row> {
  const notBelow = compare(COMPARE['>='], operand, low)
  const notAbove = compare(COMPARE['<='], operand, high)
  return combine([notBelow, notAbove], false)
}

function isIn<Row>(operand: Evaluate<Row>, list: readonly Evaluate<Row>[]): Evaluate<Row> {
  return combine(
    list.map((item) => compare(COMPARE['='], operand, item)),
    true,
  )
}

function chain<Row>(
  { first, rest }: Kind<'arithmetic'>,
  part: (expression: Expression) => Evaluate<Row>,
): Evaluate<Row> {
  const start = part(first)
  const steps = rest.map(({ operator, operand }) => ({ operator, operand: part(operand) }))
  return (row) =>
    steps.reduce(
      (value, { operator, operand }) => arithmetic(operator, value, operand(row)),
      start(row),
    )
}

function compileCall<Row>({ name, args }: Kind<'call'>, scope: Scope<Row>): Evaluate<Row> {
  const { run, takesNull } = functionOf(name, args.length)
  const parts = args.map((arg) => compile(arg, scope))
  return (row) => {
    const values = parts.map((part) => part(row))
    for (const value of values) {
      if (typeof value === 'string') scope.budget.spend(value.length * FUNCTION_UNITS)
    }
    scope.budget.spend(1)
    return takesNull !== true && values.some(isNothing) ? null : run(values, scope.nowMs)
  }
}

function compileCase<Row>(expression: Kind<'case'>, scope: Scope<Row>): Evaluate<Row> {
  const subject = expression.subject && compile(expression.subject, scope)
  const otherwise = expression.otherwise && compile(expression.otherwise, scope)
  const branches = expression.branches.map(({ when, result }) => {
    const condition = compile(when, scope)
    const applies = subject === undefined ? condition : compare(COMPARE['='], subject, condition)
    return { applies, result: compile(result, scope) }
  })
  return (row) => {
    const branch = branches.find(({ applies }) => isTrue(applies(row)))
    if (branch !== undefined) return branch.result(row)
    return otherwise === undefined ? null : otherwise(row)
  }
}

export function isTrue(value: SqlValue): boolean {
  return !isNothing(value) && toBoolean(value)
}

function compileLike<Row>(expression: Kind<'like'>, scope: Scope<Row>): Evaluate<Row> {
  const operand = compile(expression.operand, scope)
  const pattern = compile(expression.pattern, scope)
  const escape = expression.escape && compile(expression.escape, scope)
  // A pattern is nearly always a literal, so the last one is cached.
  let cached: { readonly pattern: string; readonly escape: string | undefined } | undefined
  let parsed: LikePattern = []
  return (row) => {
    const [text, like, mark] = [operand(row), pattern(row), escape?.(row)]
    if (isNothing(text) || isNothing(like)) return null
    const wanted = { pattern: toText(like), escape: isNothing(mark) ? undefined : toText(mark) }
    if (cached?.pattern !== wanted.pattern || cached.escape !== wanted.escape) {
      parsed = parseLikePattern(wanted.pattern, wanted.escape)
      cached = wanted
    }
    return matchesLike(toText(text), parsed, scope.budget)
  }
}
