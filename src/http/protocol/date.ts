// Dates in headers. Formatted as RFC 1123 and cached by the second, since a list has thousands and every answer
// has one. Parsed as RFC 1123 and in the other forms that HTTP requires servers to accept.

type CachedDate = { readonly second: number; readonly text: string }

const CACHE_SIZE = 256
const cache: (CachedDate | undefined)[] = Array.from({ length: CACHE_SIZE }, () => undefined)

export function formatHttpDate(timeMs: number): string {
  const second = Math.floor(timeMs / 1000)
  const slot = ((second % CACHE_SIZE) + CACHE_SIZE) % CACHE_SIZE
  const cached = cache[slot]
  if (cached !== undefined && cached.second === second) return cached.text
  const text = new Date(second * 1000).toUTCString()
  cache[slot] = { second, text }
  return text
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
/** Sun, 06 Nov 1994 08:49:37 GMT; the day of the week may be missing, the zone may be a number. */
const RFC_1123 =
  /^(?:[a-z]{3,9}, )?(\d{1,2}) ([a-z]{3}) (\d{4}) (\d\d):(\d\d):(\d\d) (GMT|UTC|Z|[+-]\d{4})$/i
/** Sunday, 06-Nov-94 08:49:37 GMT */
const RFC_850 = /^[a-z]{6,9}, (\d\d)-([a-z]{3})-(\d\d) (\d\d):(\d\d):(\d\d) (GMT)$/i
/** Sun Nov  6 08:49:37 1994 */
const ASCTIME = /^[a-z]{3} ([a-z]{3}) ([ \d]\d) (\d\d):(\d\d):(\d\d) (\d{4})$/i
/** 1994-11-06T08:49:37.1234567Z */
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,7})?(?:Z|[+-]\d\d:\d\d)$/

export function parseHttpDate(text: string): number | undefined {
  const rfc1123 = RFC_1123.exec(text)
  if (rfc1123 !== null) {
    const [, day, month, year, hour, minute, second, zone] = rfc1123
    return timeOf([year, month, day, hour, minute, second], zone)
  }
  if (ISO.test(text)) return validTime(Date.parse(text))
  const rfc850 = RFC_850.exec(text)
  if (rfc850 !== null) {
    const [, day, month, year, hour, minute, second] = rfc850
    const century = Number(year) < 70 ? '20' : '19'
    return timeOf([`${century}${year}`, month, day, hour, minute, second])
  }
  const asctime = ASCTIME.exec(text)
  if (asctime === null) return undefined
  const [, month, day, hour, minute, second, year] = asctime
  return timeOf([year, month, day, hour, minute, second])
}

type Parts = readonly (string | undefined)[]

function timeOf([year, month = '', ...rest]: Parts, zone = 'GMT'): number | undefined {
  const monthIndex = MONTHS.indexOf(month.toLowerCase())
  const [day = 0, hour = 0, minute = 0, second = 0] = rest.map(Number)
  if (monthIndex < 0 || hour > 23 || minute > 59 || second > 59) return undefined
  const timeMs = Date.UTC(Number(year), monthIndex, day, hour, minute, second)
  // 31 June would become 1 July.
  if (new Date(timeMs).getUTCDate() !== day) return undefined
  return validTime(timeMs - zoneMs(zone))
}

function zoneMs(zone: string): number {
  if (!/^[+-]/.test(zone)) return 0
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(3, 5))
  return (zone.startsWith('-') ? -minutes : minutes) * 60_000
}

function validTime(timeMs: number): number | undefined {
  return Number.isNaN(timeMs) ? undefined : timeMs
}
