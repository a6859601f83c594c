// Event-loop lag: how late the process gets to what is waiting for it, because something else ran too long. One thread
// serves every connection, so this is time that every client waited.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Log } from './log.ts'
import type { Gauge } from './metrics.ts'

/** How often the lag is sampled, by a timer of Node that runs no JavaScript. */
const RESOLUTION_MS = 20
const CHECK_EVERY_MS = 1_000

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
  // Two, because each forgets when it is read.
  const [forScrapes, forLog] = [sampleLag(), sampleLag()]
  const warning = createLagWarning((maxMs) => log.warn('the event loop was held', { maxMs }))
  const checking = setInterval(() => warning.note(forLog.takeMaxMs(), performance.now()), CHECK_EVERY_MS) // prettier-ignore
  checking.unref()
  return {
    gauge: {
      name: 'lazuli_event_loop_lag_max_seconds',
      help: 'Longest time since the last scrape that the event loop was held, so that every request waited',
      read: () => forScrapes.takeMaxMs() / 1_000,
    },
    stop() {
      clearInterval(checking)
      forScrapes.stop()
      forLog.stop()
    },
  }
}

function sampleLag() {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  histogram.enable()
  return {
    /** Since it was last asked for. */
    takeMaxMs(): number {
      // A sample is the time since the one before, which is the resolution when nothing is late.
      const maxMs = histogram.count === 0 ? 0 : histogram.max / 1e6 - RESOLUTION_MS
      histogram.reset()
      return Math.max(0, maxMs)
    },
    stop: () => void histogram.disable(),
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
