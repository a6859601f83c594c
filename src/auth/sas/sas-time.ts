// The times of a SAS, in the ISO 8601 forms that the service accepts: a date alone, or with hours and minutes,
// optional seconds with up to seven decimals, in UTC or with an offset.
import { memoize } from '../../memory/memoize.ts'

const FORM =
  /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,7}))?)?(Z|[+-]\d{2}:\d{2}))?$/

export const parseSasTime: (text: string) => number | undefined = memoize(parse)

function parse(text: string): number | undefined {
  const match = FORM.exec(text)
  if (match === null) return undefined
  const field = (index: number) => Number(match[index] ?? 0)
  const [year, month, day, hour, minute, second] = [1, 2, 3, 4, 5, 6].map(field)
  const date = new Date(0)
  date.setUTCFullYear(year ?? 0, (month ?? 0) - 1, day ?? 0)
  const isDay = date.getUTCMonth() + 1 === month && date.getUTCDate() === day
  if (!isDay || (hour ?? 0) > 23 || (minute ?? 0) > 59 || (second ?? 0) > 59) return undefined
  const fractionMs = Number((match[7] ?? '').padEnd(3, '0').slice(0, 3))
  const timeMs = date.setUTCHours(hour ?? 0, minute ?? 0, second ?? 0, fractionMs)
  return timeMs - offsetMs(match[8] ?? 'Z')
}

function offsetMs(zone: string): number {
  if (zone === 'Z') return 0
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(4, 6))
  return (zone.startsWith('-') ? -minutes : minutes) * 60_000
}

/** With whole seconds, as the SDKs write the times of a SAS and of a user delegation key. */
export function formatSasTime(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 19) + 'Z'
}
