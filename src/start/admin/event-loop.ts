// Measures event-loop lag: how long one task has kept all others waiting. One thread serves every connection, so every
// client waits that long.
import type { Log } from '../log/log.ts'
import type { Gauge } from './metrics.ts'

/** The interval of the timer whose delay is measured. */
const SAMPLE_EVERY_MS = 20

export type LagLimits = {
  /** Shorter lags are not logged. */
  readonly warnFromMs: number
  /** The shortest time between two warnings. */
  readonly warnEveryMs: number
}

const LIMITS: LagLimits = { warnFromMs: 250, warnEveryMs: 10_000 }

export type EventLoopWatch = {
  readonly gauge: Omit<Gauge, 'read'> & { readonly read: () => number }
  stop(): void
}

/** A gauge, and a warning in the log when the lag is long. */
export function watchEventLoop(log: Pick<Log, 'warn'>): EventLoopWatch {
  const warning = createLagWarning((maxMs) => log.warn('event loop blocked', { maxMs }))
  let maxMs = 0
  let dueMs = performance.now() + SAMPLE_EVERY_MS
  const sample = (nowMs: number): number => {
    const lagMs = Math.max(0, nowMs - dueMs)
    maxMs = Math.max(maxMs, lagMs)
    return lagMs
  }
  const timer = setInterval(() => {
    const nowMs = performance.now()
    warning.note(sample(nowMs), nowMs)
    dueMs = nowMs + SAMPLE_EVERY_MS
  }, SAMPLE_EVERY_MS)
  timer.unref()
  return {
    gauge: {
      name: 'lazuli_event_loop_lag_max_seconds',
      read() {
        // The timer may be late right now, and fire only after this scrape.
        sample(performance.now())
        const seconds = maxMs / 1_000
        maxMs = 0
        return seconds
      },
    },
    stop: () => clearInterval(timer),
  }
}

/** Warns about long lags at a limited rate. The next warning includes lags that were held back. */
export function createLagWarning(warn: (maxMs: number) => void, limits: LagLimits = LIMITS) {
  let pendingMs = 0
  let notBeforeMs = -Infinity
  return {
    note(lagMs: number, nowMs: number): void {
      if (lagMs >= limits.warnFromMs) pendingMs = Math.max(pendingMs, lagMs)
      if (pendingMs === 0 || nowMs < notBeforeMs) return
      warn(Math.round(pendingMs))
      pendingMs = 0
      notBeforeMs = nowMs + limits.warnEveryMs
    },
  }
}
