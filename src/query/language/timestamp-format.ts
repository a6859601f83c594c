// TO_STRING: formats a timestamp by a pattern of letters, listed in a table of the query acceleration
// reference. Everything that is not in the table is copied as it is.
import { localDate } from './timestamp.ts'
import type { Timestamp } from './timestamp.ts'

const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
]

type Write = (date: Date, offsetMinutes: number) => string

const two = (value: number) => String(value).padStart(2, '0')
const year = (date: Date) => String(date.getUTCFullYear()).padStart(4, '0')
const month = (date: Date) => MONTHS[date.getUTCMonth()] ?? ''
const hour12 = (date: Date) => date.getUTCHours() % 12 || 12

const WRITERS: Readonly<Record<string, Write>> = {
  yy: (date) => year(date).slice(-2),
  y: year,
  yyyy: year,
  M: (date) => String(date.getUTCMonth() + 1),
  MM: (date) => two(date.getUTCMonth() + 1),
  MMM: (date) => month(date).slice(0, 3),
  MMMM: month,
  d: (date) => String(date.getUTCDate()),
  dd: (date) => two(date.getUTCDate()),
  a: (date) => (date.getUTCHours() < 12 ? 'AM' : 'PM'),
  h: (date) => String(hour12(date)),
  hh: (date) => two(hour12(date)),
  H: (date) => String(date.getUTCHours()),
  HH: (date) => two(date.getUTCHours()),
  m: (date) => String(date.getUTCMinutes()),
  mm: (date) => two(date.getUTCMinutes()),
  s: (date) => String(date.getUTCSeconds()),
  ss: (date) => two(date.getUTCSeconds()),
  S: (date) => fraction(date, 1),
  SS: (date) => fraction(date, 2),
  SSS: (date) => fraction(date, 3),
  // For UTC, X writes Z and x writes +00, as in Java's patterns, from which the table is taken.
  X: (_, offset) => (offset === 0 ? 'Z' : offsetHours(offset)),
  XX: (_, offset) => (offset === 0 ? 'Z' : offsetText(offset, '')),
  XXX: (_, offset) => (offset === 0 ? 'Z' : offsetText(offset, ':')),
  XXXX: (_, offset) => (offset === 0 ? 'Z' : offsetText(offset, '')),
  XXXXX: (_, offset) => (offset === 0 ? 'Z' : offsetText(offset, ':')),
  x: (_, offset) => offsetHours(offset),
  xx: (_, offset) => offsetText(offset, ''),
  xxx: (_, offset) => offsetText(offset, ':'),
  xxxx: (_, offset) => offsetText(offset, ''),
  xxxxx: (_, offset) => offsetText(offset, ':'),
}

function fraction(date: Date, digits: number): string {
  return String(date.getUTCMilliseconds()).padStart(3, '0').slice(0, digits)
}

function offsetText(offsetMinutes: number, separator: string): string {
  const minutes = Math.abs(offsetMinutes)
  const sign = offsetMinutes < 0 ? '-' : '+'
  return sign + two(Math.trunc(minutes / 60)) + separator + two(minutes % 60)
}

function offsetHours(offsetMinutes: number): string {
  return offsetText(offsetMinutes, '').slice(0, offsetMinutes % 60 === 0 ? 3 : 5)
}

export function formatTimestamp(timestamp: Timestamp, pattern: string): string {
  const date = localDate(timestamp)
  return pattern.replaceAll(/([a-zA-Z])\1*/g, (run) => {
    const write = Object.hasOwn(WRITERS, run) ? WRITERS[run] : undefined
    return write === undefined ? run : write(date, timestamp.offsetMinutes)
  })
}

/** The text of a timestamp in query results. */
export function timestampText(timestamp: Timestamp): string {
  return formatTimestamp(timestamp, 'yyyy-MM-ddTHH:mm:ss.SSSXXX')
}
