// Smart tier: the service itself moves a blob between hot, cool and cold, by when it was last accessed
// ("Optimize Azure Blob Storage costs with smart tier"). Where a blob is now follows from the record and the
// clock, so no job has to move it.

/** What a blob of the smart tier is billed and answered as: its capacity tier. */
export type CapacityTier = 'Hot' | 'Cool' | 'Cold'

const DAY_MS = 24 * 60 * 60 * 1_000
const COOL_AFTER_MS = 30 * DAY_MS
const COLD_AFTER_MS = 90 * DAY_MS
const MOVED_BYTES_MIN = 128 * 1_024

/** Objects below 128 KiB stay hot. */
export function isMoved(lengthBytes: number): boolean {
  return lengthBytes >= MOVED_BYTES_MIN
}

export function capacityTier(lengthBytes: number, accessedMs: number, nowMs: number): CapacityTier {
  const idleMs = nowMs - accessedMs
  if (!isMoved(lengthBytes) || idleMs < COOL_AFTER_MS) return 'Hot'
  return idleMs < COLD_AFTER_MS ? 'Cool' : 'Cold'
}

/** The time of an access is kept to the day, as last access times are, so that reading seldom writes. */
export function isAccessNoted(accessedMs: number, nowMs: number): boolean {
  return nowMs < accessedMs + DAY_MS
}
