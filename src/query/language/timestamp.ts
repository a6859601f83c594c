// Timestamps and the date functions. A timestamp keeps the offset it was written with, which EXTRACT and TO_STRING
// show. "All date formats of standard ISO 8601 [W3C NOTE-datetime] are converted"; so are the forms ending in T
// that the reference uses in its own examples ('2007T', '2010-01-01T').
import { QueryError } from '../query-error.ts'

export type Timestamp = { readonly ms: number; readonly offsetMinutes: number }
export type DatePart = 'YEAR' | 'MONTH' | 'DAY' | 'HOUR' | 'MINUTE' | 'SECOND'
type ExtractPart = DatePart | 'TIMEZONE_HOUR' | 'TIMEZONE_MINUTE'

const PART_MS: Readonly<Record<DatePart, number | undefined>> = {
  YEAR: undefined,
  MONTH: undefined,
  DAY: 86_400_000,
  HOUR: 3_600_000,
  MINUTE: 60_000,
  SECOND: 1000,
}

const MIN_MS = Date.parse('0001-01-01T00:00:00Z')
const MAX_MS = Date.parse('9999-12-31T23:59:59.999Z')

const DATE = /^(\d{4})(?:-(\d\d)(?:-(\d\d))?)?(?:T(?:(.+))?|[ ](.+))?$/
const TIME = /^(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(?:Z|([+-])(\d\d):(\d\d))?$/

export function isDatePart(word: string): word is DatePart {
  return Object.hasOwn(PART_MS, word)
}

export function isExtractPart(word: string): word is ExtractPart {
  return isDatePart(word) || word === 'TIMEZONE_HOUR' || word === 'TIMEZONE_MINUTE'
}

/** Undefined if the text is not a timestamp. */
export function parseSqlTimestamp(text: string): Timestamp | undefined {
  const date = DATE.exec(text)
  if (date === null) return undefined
  const [year, month, day] = [Number(date[1]), Number(date[2] ?? 1), Number(date[3] ?? 1)]
  const dateMs = utcMs(year, month, day)
  if (dateMs === undefined) return undefined
  const timeText = date[4] ?? date[5]
  if (timeText === undefined) return { ms: dateMs, offsetMinutes: 0 }
  const time = TIME.exec(timeText)
  if (time === null) return undefined
  const [hour, minute, second] = [Number(time[1]), Number(time[2]), Number(time[3] ?? 0)]
  const [offsetHour, offsetMinute] = [Number(time[6] ?? 0), Number(time[7] ?? 0)]
  if (hour > 23 || minute > 59 || second > 59 || offsetHour > 23 || offsetMinute > 59) {
    return undefined
  }
  const fractionMs = Number((time[4] ?? '').padEnd(3, '0').slice(0, 3))
  const offsetMinutes = (time[5] === '-' ? -1 : 1) * (offsetHour * 60 + offsetMinute)
  const ms = dateMs + ((hour * 60 + minute - offsetMinutes) * 60 + second) * 1000 + fractionMs
  if (ms < MIN_MS || ms > MAX_MS) return undefined
  // Not -0, which would print as a negative offset.
  return { ms, offsetMinutes: offsetMinutes === 0 ? 0 : offsetMinutes }
}

/** Undefined if there is no such day. */
function utcMs(year: number, month: number, day: number): number | undefined {
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day) // Date.UTC would read the year 99 as 1999.
  const real = date.getUTCMonth() === month - 1 && date.getUTCDate() === day
  return real && year > 0 ? date.getTime() : undefined
}

/** The local time at the timestamp's offset; read it with the getUTC functions. */
export function localDate(timestamp: Timestamp): Date {
  return new Date(timestamp.ms + timestamp.offsetMinutes * 60_000)
}

export function dateAdd(part: DatePart, quantity: number, timestamp: Timestamp): Timestamp {
  const unitMs = PART_MS[part]
  const ms =
    unitMs === undefined
      ? addMonths(timestamp, part === 'YEAR' ? quantity * 12 : quantity)
      : timestamp.ms + quantity * unitMs
  if (!(ms >= MIN_MS && ms <= MAX_MS)) throw new QueryError('ArithmeticOverflow')
  return { ms: Math.trunc(ms), offsetMinutes: timestamp.offsetMinutes }
}

// In a shorter month the day is clamped to the last one: January 31 plus one month is February 28.
function addMonths(timestamp: Timestamp, months: number): number {
  const date = localDate(timestamp)
  const day = date.getUTCDate()
  date.setUTCDate(1)
  date.setUTCMonth(date.getUTCMonth() + Math.trunc(months))
  const lastDay = new Date(date)
  lastDay.setUTCMonth(lastDay.getUTCMonth() + 1, 0)
  date.setUTCDate(Math.min(day, lastDay.getUTCDate()))
  return date.getTime() - timestamp.offsetMinutes * 60_000
}

/** Whole units from `start` to `end`: from 23:00 to 01:00 of the next day there are 0 days. */
export function dateDiff(part: DatePart, start: Timestamp, end: Timestamp): number {
  const unitMs = PART_MS[part]
  if (unitMs !== undefined) return Math.trunc((end.ms - start.ms) / unitMs)
  if (end.ms < start.ms) return -dateDiff(part, end, start)
  const [from, to] = [new Date(start.ms), new Date(end.ms)]
  const years = to.getUTCFullYear() - from.getUTCFullYear()
  let months = years * 12 + to.getUTCMonth() - from.getUTCMonth()
  if (addMonths({ ms: start.ms, offsetMinutes: 0 }, months) > end.ms) months -= 1
  return part === 'YEAR' ? Math.trunc(months / 12) : months
}

export function extract(part: ExtractPart, timestamp: Timestamp): number {
  const date = localDate(timestamp)
  const values: Readonly<Record<ExtractPart, number>> = {
    YEAR: date.getUTCFullYear(),
    MONTH: date.getUTCMonth() + 1,
    DAY: date.getUTCDate(),
    HOUR: date.getUTCHours(),
    MINUTE: date.getUTCMinutes(),
    SECOND: date.getUTCSeconds(),
    TIMEZONE_HOUR: Math.trunc(timestamp.offsetMinutes / 60),
    TIMEZONE_MINUTE: timestamp.offsetMinutes % 60,
  }
  return values[part]
}
