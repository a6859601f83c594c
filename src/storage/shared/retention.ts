// Soft delete: how long deleted resources can be restored.

/** Determined when it was deleted. Later changes of the policy have no effect. */
export type Deleted = { readonly atMs: number; readonly untilMs: number }

const DAY_MS = 24 * 60 * 60 * 1_000

export function deletedNow(nowMs: number, days: number): Deleted {
  return { atMs: nowMs, untilMs: nowMs + days * DAY_MS }
}

/** In whole days: of 7 days, 6 remain directly after the deletion. */
export function remainingDays({ untilMs }: Deleted, nowMs: number): number {
  return Math.max(0, Math.floor((untilMs - nowMs) / DAY_MS))
}
