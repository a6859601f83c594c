// Numbers, times and names as people read them.

export function timeOfDay(iso: string): string {
  return iso.slice(11, 23)
}

export function dateAndTime(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)}`
}

/** 0.42 ms, 12 ms, 3.4 s, 5 min 3 s, 2 h 10 min. */
export function duration(ms: number): string {
  if (ms < 10) return `${trim(ms.toFixed(2))} ms`
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${trim((ms / 1_000).toFixed(1))} s`
  const seconds = Math.round(ms / 1_000)
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
  return `${Math.round(minutes / 60 / 24)} days`
}

/** 0:07, 12:34, 3:00:00. */
export function countdownText(secondsLeft: number): string {
  const all = Math.max(0, Math.ceil(secondsLeft))
  if (all >= 48 * 3_600) return `${Math.floor(all / 86_400)} days`
  const [hours, minutes, seconds] = [Math.floor(all / 3_600), Math.floor(all / 60) % 60, all % 60]
  const two = (value: number): string => String(value).padStart(2, '0')
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds)}` : `${minutes}:${two(seconds)}`
}

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] as const

export function bytes(count: number): string {
  let value = count
  let unit = 0
  while (value >= 1_024 && unit < UNITS.length - 1) {
    value /= 1_024
    unit += 1
  }
  return `${unit === 0 ? value : trim(value.toFixed(1))} ${UNITS[unit]}`
}

export function count(value: number): string {
  return value.toLocaleString('en')
}

export function plural(value: number, one: string, many: string = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`
}

function trim(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text
}

/** The last part of a path, which is what people look for. */
export function lastName(resource: string): string {
  return resource.slice(resource.lastIndexOf('/') + 1) || resource
}

/** An ETag without quotes; short: only its end, where it differs. */
export function shortETag(etag: string): string {
  const plain = etag.replace(/^W\//, '').replaceAll('"', '')
  const date = /datetime'(.*)'/.exec(plain)?.[1]
  if (date !== undefined) return decodeURIComponent(date).slice(11)
  return plain.length <= 12 ? plain : `…${plain.slice(-8)}`
}
