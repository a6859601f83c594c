// Event-loop lag: how late the process gets to what is waiting for it, because something else ran too long. One thread
// serves every connection, so this is time that every client waited.
import type { Log } from '../log/log.ts'
import type { Gauge } from './metrics.ts'

/** How often a timer looks whether it is late. */
const SAMPLE_EVERY_MS = 20

export type LagLimits = {
  /** Below this nobody needs to know. */
  readonly warnFromMs: number
  /** The least time between two lines of the log. */
  readonly warnEveryMs: number
}

const LIMITS: LagLimits = { warnFromMs: 250, warnEveryMs: 10_000 }

export type EventLoopWatch = { readonly gauge: Gauge; stop(): void }

/** A gauge, and a warning in the log when the lag is long. */
export function watchEventLoop(log: Pick<Log, 'warn'>): EventLoopWatch {
  const warning = createLagWarning((maxMs) => log.warn('the event loop was held', { maxMs }))
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
      help: 'Longest time since the last scrape that the event loop was held, so that every request waited',
      read() {
        // The timer may be late now, and its turn only come behind this scrape.
        sample(performance.now())
        const seconds = maxMs / 1_000
        maxMs = 0
        return seconds
      },
    },
    stop: () => clearInterval(timer),
  }
}

/** Says when the lag is long, but not too often: what it kept to itself counts for the next time. */
export function createLagWarning(warn: (maxMs: number) => void, limits: LagLimits = LIMITS) {
  let unsaidMs = 0
  let notBeforeMs = -Infinity
  return {
    note(lagMs: number, nowMs: number): void {
      if (lagMs >= limits.warnFromMs) unsaidMs = Math.max(unsaidMs, lagMs)
      if (unsaidMs === 0 || nowMs < notBeforeMs) return
      warn(Math.round(unsaidMs))
      unsaidMs = 0
      notBeforeMs = nowMs + limits.warnEveryMs
    },
  }
}
