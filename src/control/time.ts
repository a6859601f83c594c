// Durations and times as people write them: numbers of milliseconds, or ISO 8601.
import { isDate } from 'node:util/types'
import type { Duration, Time } from './api.ts'
import { FieldError } from './field-error.ts'

const DESIGNATORS = ['W', 'D', 'H', 'M', 'S'] as const

const UNIT_MS: Readonly<Record<(typeof DESIGNATORS)[number], number>> = {
  W: 7 * 24 * 60 * 60 * 1_000,
  D: 24 * 60 * 60 * 1_000,
  H: 60 * 60 * 1_000,
  M: 60 * 1_000,
  S: 1_000,
}

const NUMBER = String.raw`(\d{1,15})(?:[.,](\d{1,9}))?`
const PERIOD = new RegExp(
  `^P(?:${NUMBER}W)?(?:${NUMBER}D)?(?:T(?:${NUMBER}H)?(?:${NUMBER}M)?(?:${NUMBER}S)?)?$`,
)
const HAS_CALENDAR_UNIT = /^P[^T]*[YM]/

/** A stamp is the time with a sequence number in 53 bits (node/moment.ts), which lasts until the year 2248. */
const FIRST_MS = Date.UTC(2000, 0, 1)
const LAST_MS = Date.UTC(2200, 0, 1)

const TEXT_MAX = 64

const DURATION_FORMS = 'a number of milliseconds, or an ISO 8601 duration such as PT60S or P1D'

/** Milliseconds. Throws FieldError. */
export function decodeDuration(duration: Duration, field: string): number {
  const ms = typeof duration === 'number' ? duration : periodMs(duration, field)
  if (Number.isSafeInteger(ms) && ms >= 0) return ms
  throw new FieldError(field, `must be ${DURATION_FORMS}: whole milliseconds, and not negative`)
}

function periodMs(text: string, field: string): number {
  if (typeof text !== 'string' || text.length > TEXT_MAX) {
    throw new FieldError(field, `must be ${DURATION_FORMS}`)
  }
  if (HAS_CALENDAR_UNIT.test(text)) {
    throw new FieldError(
      field,
      'has years or months, whose length varies; write days (D) or weeks (W)',
    )
  }
  const [whole, ...groups] = PERIOD.exec(text) ?? []
  const parts = DESIGNATORS.map((unit, at) => [unit, groups[at * 2], groups[at * 2 + 1]] as const)
  const given = parts.filter(([, count]) => count !== undefined)
  // `PT` and `P1DT` have no part where one must be. Only the last part may have a fraction.
  const isWrong =
    given.length === 0 ||
    whole?.endsWith('T') === true ||
    given.slice(0, -1).some(([, , fraction]) => fraction !== undefined)
  if (isWrong) throw new FieldError(field, `must be ${DURATION_FORMS}`)
  return given.reduce((sum, part) => sum + partMs(part), 0)
}

/** NaN if it is not a whole number. In integers: 0.1 of an hour is exactly six minutes. */
function partMs([unit, count = '0', fraction = '']: readonly [
  keyof typeof UNIT_MS,
  string | undefined,
  string | undefined,
]): number {
  const scale = 10n ** BigInt(fraction.length)
  const scaled = BigInt(count + fraction) * BigInt(UNIT_MS[unit])
  return scaled % scale === 0n ? Number(scaled / scale) : Number.NaN
}

const ISO_TIME = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,7})?)?(?:Z|[+-]\d\d:\d\d))?$/

/** Milliseconds since 1970. Throws FieldError. */
export function decodeTime(time: Time, field: string): number {
  const ms = timeMs(time)
  if (!Number.isSafeInteger(ms)) {
    throw new FieldError(
      field,
      'must be a time such as 2027-01-01T00:00:00Z, or milliseconds since 1970',
    )
  }
  return checkTime(ms, field)
}

function timeMs(time: Time): number {
  if (typeof time === 'number') return time
  // A test of Jest has a Date class of its own, so instanceof would not know it.
  if (isDate(time)) return time.getTime()
  // Without a zone, a time would depend on the machine; a date alone is midnight UTC.
  return typeof time === 'string' && ISO_TIME.test(time) ? Date.parse(time) : Number.NaN
}

/** Refuses times for which there are no stamps. */
export function checkTime(ms: number, field: string): number {
  if (ms >= FIRST_MS && ms <= LAST_MS) return ms
  throw new FieldError(field, 'must lead to a time from the year 2000 to 2200')
}
