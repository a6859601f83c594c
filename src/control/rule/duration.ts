// Durations in rules, such as the time limit of a barrier. They are timers, so they are short.
import type { Duration } from '../api.ts'
import { FieldError } from '../field-error.ts'
import { decodeDuration } from '../time.ts'

/** Shorter than Node's longest timer (2^31 - 1 ms). */
export const DURATION_MS_MAX = 86_400_000

/** In milliseconds, from 0 to a day. `field` is its name in errors. */
export function durationMs(value: unknown, field: string): number {
  const ms = decodeDuration(value as Duration, field)
  if (ms <= DURATION_MS_MAX) return ms
  throw new FieldError(field, 'must be from 0 to a day')
}

/** Checks it and leaves it as it is written. */
export function checkedDuration(value: unknown, field: string): Duration {
  durationMs(value, field)
  return value as Duration
}
