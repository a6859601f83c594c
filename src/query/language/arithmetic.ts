// + - * / %. Two INTs give a 64-bit INT, and their division drops the fraction; with a FLOAT the result is a FLOAT.
// "This addition arithmetic operator can also add a number, in days, to a date."
import { QueryError } from '../query-error.ts'
import { dateAdd } from './timestamp.ts'
import { checkInt, isNothing, isTimestampValue, toNumber } from './value.ts'
import type { ArithmeticOperator } from './expression.ts'
import type { SqlValue } from './value.ts'

const DAY_SECONDS = 86_400

const INT: Readonly<Record<ArithmeticOperator, (left: bigint, right: bigint) => bigint>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
  '%': (left, right) => left % right,
}

const FLOAT: Readonly<Record<ArithmeticOperator, (left: number, right: number) => number>> = {
  '+': (left, right) => left + right,
  '-': (left, right) => left - right,
  '*': (left, right) => left * right,
  '/': (left, right) => left / right,
  '%': (left, right) => left % right,
}

export function arithmetic(
  operator: ArithmeticOperator,
  left: SqlValue,
  right: SqlValue,
): SqlValue {
  if (isNothing(left) || isNothing(right)) return null
  if (isTimestampValue(left) && (operator === '+' || operator === '-')) {
    return addDays(operator, left, right)
  }
  const [a, b] = [toNumber(left), toNumber(right)]
  if ((operator === '/' || operator === '%') && Number(b) === 0) {
    throw new QueryError('DivideByZero')
  }
  if (typeof a === 'bigint' && typeof b === 'bigint') return checkInt(INT[operator](a, b))
  const result = FLOAT[operator](Number(a), Number(b))
  if (!Number.isFinite(result)) throw new QueryError('ArithmeticOverflow')
  return result
}

function addDays(operator: '+' | '-', timestamp: SqlValue, days: SqlValue): SqlValue {
  if (!isTimestampValue(timestamp)) throw new QueryError('InvalidTypeConversion')
  const seconds = Number(toNumber(days)) * DAY_SECONDS
  return dateAdd('SECOND', operator === '+' ? seconds : -seconds, timestamp)
}

export function negate(value: SqlValue): SqlValue {
  if (isNothing(value)) return null
  const number = toNumber(value)
  return typeof number === 'bigint' ? checkInt(-number) : -number
}
