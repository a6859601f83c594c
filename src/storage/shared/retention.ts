// Soft delete: how long what is deleted can be had back.

/** How long was decided when it was deleted; later changes of the policy don't count. */
export type Deleted = { readonly atMs: number; readonly untilMs: number }

const DAY_MS = 24 * 60 * 60 * 1_000

export function deletedNow(nowMs: number, days: number): Deleted {
  return { atMs: nowMs, untilMs: nowMs + days * DAY_MS }
}

/** Whole days: one that was deleted a moment ago and is kept for 7 has 6 left. */
export function remainingDays({ untilMs }: Deleted, nowMs: number): number {
  return Math.max(0, Math.floor((untilMs - nowMs) / DAY_MS))
}
