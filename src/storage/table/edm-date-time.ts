// Edm.DateTime, a time in units of 100 ns. JavaScript's Date has only milliseconds, so the seven digits are
// kept as text, and Date is used only for the time zone.

/** The earliest time that an entity may contain. A filter may name earlier ones. */
export const DATE_TIME_MIN = '1601-01-01T00:00:00.0000000Z'

const YEAR_ONE_MS = Date.parse('0001-01-01T00:00:00Z')
const YEAR_TEN_THOUSAND_MS = Date.parse('+010000-01-01T00:00:00Z')
const OFFSET_MINUTES_MAX = 14 * 60

// XML Schema's dateTime, as OData writes it. The seconds, or the whole time, are optional.
const DATE_TIME =
  /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d)(?::(\d\d)(?:\.(\d+))?)?)?(?:Z|([+-])(\d\d):(\d\d))?$/

/**
 * The value of an Edm.DateTime; undefined if the text isn't a time in the years 1 to 9999. The default zone is
 * UTC. Digits after the seventh are dropped.
 */
export function parseDateTime(text: string): string | undefined {
  const match = DATE_TIME.exec(text)
  if (match === null) return undefined
  const [, date = '', minutes = '00:00', seconds = '00', fraction = ''] = match
  if (!isDate(date) || minutes > '23:59' || minutes.slice(3) > '59' || seconds > '59') {
    return undefined
  }
  const local = `${date}T${minutes}:${seconds}`
  const digits = fraction.slice(0, 7).padEnd(7, '0')
  const offsetMinutes = parseOffset(match)
  if (offsetMinutes === 0) return `${local}.${digits}Z`
  if (Math.abs(offsetMinutes) > OFFSET_MINUTES_MAX) return undefined
  const timeMs = Date.parse(`${local}Z`) - offsetMinutes * 60_000
  if (timeMs < YEAR_ONE_MS || timeMs >= YEAR_TEN_THOUSAND_MS) return undefined
  return `${new Date(timeMs).toISOString().slice(0, 19)}.${digits}Z`
}

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** Whether it is a date in the years 1 to 9999. Date.parse is slow, and turns 31 June into 1 July. */
function isDate(date: string): boolean {
  const year = Number(date.slice(0, 4))
  const month = Number(date.slice(5, 7))
  const day = Number(date.slice(8, 10))
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  const days = month === 2 && isLeap ? 29 : (DAYS[month - 1] ?? 0)
  return year > 0 && day > 0 && day <= days
}

function parseOffset([, , , , , sign, hours, minutes]: RegExpExecArray): number {
  if (sign === undefined) return 0
  if (Number(minutes) > 59) return Number.POSITIVE_INFINITY
  const offsetMinutes = Number(hours) * 60 + Number(minutes)
  return sign === '-' ? -offsetMinutes : offsetMinutes
}

/** As the service writes it: without trailing zeros, and without the point if nothing follows it. */
export function formatDateTime(value: string): string {
  return value.replace(/\.?0+Z$/, 'Z')
}
