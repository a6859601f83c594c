// What happened between two looks at the server's counters.
import type { Traffic } from '../../../control/overview.ts'

export type Rate = {
  /** Seconds since 1970, by the machine of the server. */
  readonly time: number
  readonly requestsPerSecond: number
  readonly conflictsPerSecond: number
  /** undefined: there was no request. */
  readonly medianMs: number | undefined
  readonly slowestMs: number | undefined
}

/** undefined: the server has been started again, or no time has passed. */
export function rateBetween(before: Traffic, after: Traffic): Rate | undefined {
  const seconds = (after.atMs - before.atMs) / 1_000
  const requests = after.requestCount - before.requestCount
  if (seconds <= 0 || requests < 0) return undefined
  const counts = after.durations.map(({ count }, at) => count - (before.durations[at]?.count ?? 0))
  const bounds = after.durations.map(({ upToMs }) => upToMs)
  return {
    time: after.atMs / 1_000,
    requestsPerSecond: requests / seconds,
    conflictsPerSecond: Math.max(0, after.conflictCount - before.conflictCount) / seconds,
    medianMs: quantile(0.5, counts, bounds),
    slowestMs: quantile(0.99, counts, bounds),
  }
}

/** Within a bucket, durations are taken to be spread evenly. */
export function quantile(
  share: number,
  counts: readonly number[],
  bounds: readonly (number | undefined)[],
): number | undefined {
  const all = counts.reduce((sum, each) => sum + each, 0)
  if (all <= 0) return undefined
  let rest = share * all
  let from = 0
  for (const [at, count] of counts.entries()) {
    const to = bounds[at] ?? from
    if (rest <= count && count > 0) return from + ((to - from) * rest) / count
    rest -= count
    from = to
  }
  return from
}
