// The values of the query language and how one type becomes another. "Values may be implicitly cast to
// other types depending on context": of two types the one of lower precedence is converted (Transact-SQL:
// timestamp, float, int, boolean, string), so that `_1 > 250` reads the text of a CSV field as a number and
// a field that is none is an InvalidTypeConversion.
import { QueryError } from '../query-error.ts'
import { parseTimestamp } from './timestamp.ts'
import { timestampText } from './timestamp-format.ts'
import type { Timestamp } from './timestamp.ts'

// SQL has two kinds of nothing: NULL is null, MISSING (a field that a JSON record lacks) is undefined.
export type Value =
  undefined | null | boolean | bigint | number | string | Timestamp | JsonArray | JsonObject

// Interfaces, as types can't refer to themselves through a Map.
export interface JsonArray extends ReadonlyArray<Value> {}
export interface JsonObject extends ReadonlyMap<string, Value> {}

export type Numeric = bigint | number

const INT_MIN = -(2n ** 63n)
const INT_MAX = 2n ** 63n - 1n

const INTEGER = /^[+-]?\d{1,19}$/
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/

const invalid = () => new QueryError('InvalidTypeConversion')

export function isNothing(value: Value): value is null | undefined {
  return value === null || value === undefined
}

export function isTimestamp(value: Value): value is Timestamp {
  return typeof value === 'object' && value !== null && 'offsetMinutes' in value
}

export function isJsonObject(value: Value): value is JsonObject {
  return value instanceof Map
}

export function isJsonArray(value: Value): value is JsonArray {
  return Array.isArray(value)
}

export function checkInt(value: bigint): bigint {
  if (value < INT_MIN || value > INT_MAX) throw new QueryError('ArithmeticOverflow')
  return value
}

/** The number that a text stands for: an INT when it is written as one and fits, else a FLOAT. */
export function parseNumber(text: string): Numeric | undefined {
  if (INTEGER.test(text)) {
    // BigInt takes no plus sign.
    const int = BigInt(text.startsWith('+') ? text.slice(1) : text)
    if (int >= INT_MIN && int <= INT_MAX) return int
  }
  if (!NUMBER.test(text)) return undefined
  const float = Number(text)
  return Number.isFinite(float) ? float : undefined
}

export function toNumber(value: Value): Numeric {
  if (typeof value === 'bigint' || typeof value === 'number') return value
  const parsed = typeof value === 'string' ? parseNumber(value.trim()) : undefined
  if (parsed === undefined) throw invalid()
  return parsed
}

export function toBoolean(value: Value): boolean {
  if (typeof value === 'boolean') return value
  if (typeof value === 'bigint') return value !== 0n
  if (typeof value === 'number') return value !== 0
  const word = typeof value === 'string' ? value.trim().toLowerCase() : ''
  if (word === 'true' || word === '1') return true
  if (word === 'false' || word === '0') return false
  throw invalid()
}

export function toTimestamp(value: Value): Timestamp {
  if (isTimestamp(value)) return value
  const parsed = typeof value === 'string' ? parseTimestamp(value.trim()) : undefined
  if (parsed === undefined) throw invalid()
  return parsed
}

export function toInt(value: Value): bigint {
  if (typeof value === 'boolean') return value ? 1n : 0n
  const number = toNumber(value)
  if (typeof number === 'bigint') return number
  // As in Transact-SQL a FLOAT loses its fraction, while a text with a fraction is not an INT.
  if (typeof value === 'string') throw invalid()
  return checkInt(BigInt(Math.trunc(number)))
}

/** The text of a value: in a CSV field, in a function of strings, in CAST(… AS STRING). */
export function toText(value: Value): string {
  if (typeof value === 'string') return value
  if (isNothing(value)) return ''
  if (isTimestamp(value)) return timestampText(value)
  return typeof value === 'object' ? toJson(value) : String(value)
}

export function toJson(value: Value): string {
  if (isNothing(value)) return 'null'
  if (isTimestamp(value)) return JSON.stringify(timestampText(value))
  if (isJsonArray(value)) return `[${value.map(toJson).join(',')}]`
  if (isJsonObject(value)) {
    const fields = [...value].map(([name, field]) => `${JSON.stringify(name)}:${toJson(field)}`)
    return `{${fields.join(',')}}`
  }
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value)
}

export type CastType = 'INT' | 'FLOAT' | 'STRING' | 'BOOLEAN' | 'TIMESTAMP'

const CASTS: Readonly<Record<CastType, (value: Value) => Value>> = {
  INT: toInt,
  FLOAT: (value) => (typeof value === 'boolean' ? Number(value) : Number(toNumber(value))),
  STRING: toText,
  BOOLEAN: toBoolean,
  TIMESTAMP: toTimestamp,
}

export function cast(value: Value, type: CastType): Value {
  return isNothing(value) ? value : CASTS[type](value)
}

/** Below, at or above zero as `left` is before, equal to or after `right`. Neither may be nothing. */
export function compareValues(left: Value, right: Value): number {
  if (typeof left === 'string' && typeof right === 'string') return order(left, right)
  if (isTimestamp(left) || isTimestamp(right)) {
    return order(toTimestamp(left).ms, toTimestamp(right).ms)
  }
  if (isNumeric(left) || isNumeric(right)) return order(numberOf(left), numberOf(right))
  if (typeof left === 'boolean' || typeof right === 'boolean') {
    return order(Number(toBoolean(left)), Number(toBoolean(right)))
  }
  throw invalid()
}

function isNumeric(value: Value): value is Numeric {
  return typeof value === 'bigint' || typeof value === 'number'
}

const numberOf = (value: Value) => (typeof value === 'boolean' ? Number(value) : toNumber(value))

function order<T extends string | Numeric>(left: T, right: T): number {
  if (left < right) return -1
  return left > right ? 1 : 0
}
