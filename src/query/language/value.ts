// The values of the query language and their conversions. "Values may be implicitly cast to other types depending on
// context": the value whose type has the lower precedence is converted (Transact-SQL: timestamp, float, int, boolean,
// string). So `_1 > 250` converts a CSV field to a number, and a field that is not a number is an
// InvalidTypeConversion.
import { QueryError } from '../query-error.ts'
import { parseSqlTimestamp } from './timestamp.ts'
import { timestampText } from './timestamp-format.ts'
import type { Timestamp } from './timestamp.ts'

// NULL is null; MISSING (a field that a JSON record lacks) is undefined.
export type SqlValue =
  undefined | null | boolean | bigint | number | string | Timestamp | JsonArray | JsonObject

// Interfaces, because type aliases can't refer to themselves through a Map.
interface JsonArray extends ReadonlyArray<SqlValue> {}
interface JsonObject extends ReadonlyMap<string, SqlValue> {}

type Numeric = bigint | number

const INT_MIN = -(2n ** 63n)
const INT_MAX = 2n ** 63n - 1n

const INTEGER = /^[+-]?\d{1,19}$/
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/

const invalid = () => new QueryError('InvalidTypeConversion')

export function isNothing(value: SqlValue): value is null | undefined {
  return value === null || value === undefined
}

export function isTimestampValue(value: SqlValue): value is Timestamp {
  return typeof value === 'object' && value !== null && 'offsetMinutes' in value
}

export function isJsonObject(value: SqlValue): value is JsonObject {
  return value instanceof Map
}

export function isJsonArray(value: SqlValue): value is JsonArray {
  return Array.isArray(value)
}

export function checkInt(value: bigint): bigint {
  if (value < INT_MIN || value > INT_MAX) throw new QueryError('ArithmeticOverflow')
  return value
}

/** An INT if the text is an integer that fits in 64 bits, otherwise a FLOAT. */
export function parseNumber(text: string): Numeric | undefined {
  if (INTEGER.test(text)) {
    // BigInt does not accept a plus sign.
    const int = BigInt(text.startsWith('+') ? text.slice(1) : text)
    if (int >= INT_MIN && int <= INT_MAX) return int
  }
  if (!NUMBER.test(text)) return undefined
  const float = Number(text)
  return Number.isFinite(float) ? float : undefined
}

export function toNumber(value: SqlValue): Numeric {
  if (typeof value === 'bigint' || typeof value === 'number') return value
  const parsed = typeof value === 'string' ? parseNumber(value.trim()) : undefined
  if (parsed === undefined) throw invalid()
  return parsed
}

export function toBoolean(value: SqlValue): boolean {
  if (typeof value === 'boolean') return value
  if (typeof value === 'bigint') return value !== 0n
  if (typeof value === 'number') return value !== 0
  const word = typeof value === 'string' ? value.trim().toLowerCase() : ''
  if (word === 'true' || word === '1') return true
  if (word === 'false' || word === '0') return false
  throw invalid()
}

export function toTimestamp(value: SqlValue): Timestamp {
  if (isTimestampValue(value)) return value
  const parsed = typeof value === 'string' ? parseSqlTimestamp(value.trim()) : undefined
  if (parsed === undefined) throw invalid()
  return parsed
}

export function toInt(value: SqlValue): bigint {
  if (typeof value === 'boolean') return value ? 1n : 0n
  const number = toNumber(value)
  if (typeof number === 'bigint') return number
  // As in Transact-SQL, a FLOAT is truncated, but a string with a fraction can't be converted.
  if (typeof value === 'string') throw invalid()
  return checkInt(BigInt(Math.trunc(number)))
}

/** The text of a value: in a CSV field, as an argument of a string function, in CAST(… AS STRING). */
export function toText(value: SqlValue): string {
  if (typeof value === 'string') return value
  if (isNothing(value)) return ''
  if (isTimestampValue(value)) return timestampText(value)
  return typeof value === 'object' ? toJson(value) : String(value)
}

export function toJson(value: SqlValue): string {
  if (isNothing(value)) return 'null'
  if (isTimestampValue(value)) return JSON.stringify(timestampText(value))
  if (isJsonArray(value)) return `[${value.map(toJson).join(',')}]`
  if (isJsonObject(value)) {
    const fields = [...value].map(([name, field]) => `${JSON.stringify(name)}:${toJson(field)}`)
    return `{${fields.join(',')}}`
  }
  return typeof value === 'bigint' ? String(value) : JSON.stringify(value)
}

export type CastType = 'INT' | 'FLOAT' | 'STRING' | 'BOOLEAN' | 'TIMESTAMP'

const CASTS: Readonly<Record<CastType, (value: SqlValue) => SqlValue>> = {
  INT: toInt,
  FLOAT: (value) => (typeof value === 'boolean' ? Number(value) : Number(toNumber(value))),
  STRING: toText,
  BOOLEAN: toBoolean,
  TIMESTAMP: toTimestamp,
}

export function cast(value: SqlValue, type: CastType): SqlValue {
  return isNothing(value) ? value : CASTS[type](value)
}

/** Negative, zero or positive if `left` is less than, equal to or greater than `right`. Neither may be NULL. */
export function compareValues(left: SqlValue, right: SqlValue): number {
  if (typeof left === 'string' && typeof right === 'string') return order(left, right)
  if (isTimestampValue(left) || isTimestampValue(right)) {
    return order(toTimestamp(left).ms, toTimestamp(right).ms)
  }
  if (isNumeric(left) || isNumeric(right)) return order(numberOf(left), numberOf(right))
  if (typeof left === 'boolean' || typeof right === 'boolean') {
    return order(Number(toBoolean(left)), Number(toBoolean(right)))
  }
  throw invalid()
}

function isNumeric(value: SqlValue): value is Numeric {
  return typeof value === 'bigint' || typeof value === 'number'
}

const numberOf = (value: SqlValue) => (typeof value === 'boolean' ? Number(value) : toNumber(value))

function order<T extends string | Numeric>(left: T, right: T): number {
  if (left < right) return -1
  return left > right ? 1 : 0
}
