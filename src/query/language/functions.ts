// The functions of the query language: a table of names, argument counts and implementations.
import { formatTimestamp } from './timestamp-format.ts'
import { dateAdd, dateDiff, extract, isDatePart, isExtractPart } from './timestamp.ts'
import { QueryError, syntaxError } from '../query-error.ts'
import { compareValues, isNothing, toInt, toText, toTimestamp } from './value.ts'
import type { SqlValue } from './value.ts'
import type { DatePart } from './timestamp.ts'

type Run = (args: readonly SqlValue[], nowMs: number) => SqlValue

type SqlFunction = {
  /** The allowed numbers of arguments. */
  readonly args: readonly number[]
  readonly run: Run
  /** Without it, the function returns NULL if any argument is NULL. */
  readonly takesNull?: true
}

const characterLength: SqlFunction = {
  args: [1],
  run: ([text]) => BigInt([...toText(text)].length),
}

const FUNCTIONS: Readonly<Record<string, SqlFunction>> = {
  CHAR_LENGTH: characterLength,
  CHARACTER_LENGTH: characterLength,
  LOWER: { args: [1], run: ([text]) => toText(text).toLowerCase() },
  UPPER: { args: [1], run: ([text]) => toText(text).toUpperCase() },
  SUBSTRING: { args: [2, 3], run: substring },
  // The parser turns TRIM(BOTH 'x' FROM s) into three arguments.
  TRIM: { args: [3], run: ([side, characters, text]) => trim(toText(side), characters, text) },
  DATE_ADD: {
    args: [3],
    run: ([part, quantity, timestamp]) =>
      dateAdd(datePart(part), Number(toInt(quantity)), toTimestamp(timestamp)),
  },
  DATE_DIFF: {
    args: [3],
    run: ([part, start, end]) =>
      BigInt(dateDiff(datePart(part), toTimestamp(start), toTimestamp(end))),
  },
  EXTRACT: { args: [2], run: ([part, timestamp]) => extractPart(part, timestamp) },
  TO_STRING: {
    args: [2],
    run: ([timestamp, pattern]) => formatTimestamp(toTimestamp(timestamp), toText(pattern)),
  },
  TO_TIMESTAMP: { args: [1], run: ([text]) => toTimestamp(text) },
  UTCNOW: { args: [0], run: (_, nowMs) => ({ ms: nowMs, offsetMinutes: 0 }) },
  NULLIF: { args: [2], run: ([left, right]) => nullIf(left, right), takesNull: true },
}

export function functionOf(name: string, argCount: number): SqlFunction {
  const found = Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name] : undefined
  if (found === undefined) throw syntaxError(`Unknown function ${name}.`)
  if (!found.args.includes(argCount))
    throw syntaxError(`${name} has the wrong number of arguments.`)
  return found
}

function nullIf(left: SqlValue, right: SqlValue): SqlValue {
  if (isNothing(left) || isNothing(right)) return left
  return compareValues(left, right) === 0 ? null : left
}

// The reference counts from zero: SUBSTRING('123456789', 1, 5) is '23456'.
function substring([text, start, length]: readonly SqlValue[]): SqlValue {
  const characters = [...toText(text)]
  const from = Number(toInt(start))
  const to = length === undefined ? characters.length : from + Number(toInt(length))
  if (to < from) throw new QueryError('InvalidTypeConversion')
  return characters.slice(Math.max(from, 0), Math.max(to, 0)).join('')
}

function trim(side: string, characters: SqlValue, value: SqlValue): string {
  const unwanted = new Set(toText(characters))
  const text = [...toText(value)]
  let [from, to] = [0, text.length]
  if (side !== 'TRAILING') while (from < to && unwanted.has(text[from] ?? '')) from += 1
  if (side !== 'LEADING') while (to > from && unwanted.has(text[to - 1] ?? '')) to -= 1
  return text.slice(from, to).join('')
}

function datePart(value: SqlValue): DatePart {
  const word = toText(value).toUpperCase()
  if (!isDatePart(word)) throw new QueryError('InvalidTypeConversion')
  return word
}

function extractPart(part: SqlValue, timestamp: SqlValue): SqlValue {
  const word = toText(part).toUpperCase()
  if (!isExtractPart(word)) throw new QueryError('InvalidTypeConversion')
  return BigInt(extract(word, toTimestamp(timestamp)))
}
