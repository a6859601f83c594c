// Smart tier: the service moves a blob between hot, cool and cold, depending on its last access ("Optimize
// Azure Blob Storage costs with smart tier"). The current tier follows from the record and the clock, so no job
// has to move blobs.

/** The tier that a blob of the smart tier is in at present. */
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

/** Like last access times, the time is kept to the day, so that reads seldom write. */
export function isAccessNoted(accessedMs: number, nowMs: number): boolean {
  return nowMs < accessedMs + DAY_MS
}
