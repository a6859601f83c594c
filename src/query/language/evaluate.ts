// Expressions made into functions of a row, once for a query, so that a row costs calls and no decisions
// about the tree. Logic has three values: what can't be known is NULL, and WHERE keeps only what is true. What
// an operator costs is charged where its operands come from: literals, columns and functions.
import { arithmetic, negate } from './arithmetic.ts'
import { functionOf } from './functions.ts'
import { matchesLike, parseLikePattern } from './like.ts'
import { cast, compareValues, isNothing, toBoolean, toText } from './value.ts'
import type { Budget } from '../run/budget.ts'
import type { CompareOperator, Expression, Path } from './expression.ts'
import type { LikePattern } from './like.ts'
import type { Value } from './value.ts'

export type Evaluate<Row> = (row: Row) => Value

export type Scope<Row> = {
  /** Throws when there can be no such column. */
  column(path: Path, budget: Budget): Evaluate<Row>
  readonly nowMs: number
  readonly budget: Budget
}

/** How many characters count as one unit where a text is only compared or converted. */
const TEXT_SHIFT = 3
/** What functions make of a text costs more: some take it apart into characters. */
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

/** AND and OR: `decisive` is the answer as soon as one operand has it. */
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

export function isTrue(value: Value): boolean {
  return !isNothing(value) && toBoolean(value)
}

function compileLike<Row>(expression: Kind<'like'>, scope: Scope<Row>): Evaluate<Row> {
  const operand = compile(expression.operand, scope)
  const pattern = compile(expression.pattern, scope)
  const escape = expression.escape && compile(expression.escape, scope)
  // A pattern is nearly always a literal: what was parsed for the last row serves the next.
  let known: { readonly pattern: string; readonly escape: string | undefined } | undefined
  let parsed: LikePattern = []
  return (row) => {
    const [text, like, mark] = [operand(row), pattern(row), escape?.(row)]
    if (isNothing(text) || isNothing(like)) return null
    const wanted = { pattern: toText(like), escape: isNothing(mark) ? undefined : toText(mark) }
    if (known?.pattern !== wanted.pattern || known.escape !== wanted.escape) {
      parsed = parseLikePattern(wanted.pattern, wanted.escape)
      known = wanted
    }
    return matchesLike(toText(text), parsed, scope.budget)
  }
}
