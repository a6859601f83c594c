// What a server does from time to time: analytics logs are written, and space is freed.
import type { Log } from '../start/log/log.ts'
import type { Store } from '../start/store/store.ts'

const SWEEP_EVERY_MS = 60_000

export type Sweeping = {
  now(): Promise<void>
  /** Runs work while no sweep runs. */
  between<T>(work: () => Promise<T>): Promise<T>
  stop(): Promise<void>
}

export function sweepEvery(store: Store, log: Log, flushLogs: () => Promise<void>): Sweeping {
  let sweeping = Promise.resolve()
  const now = (): Promise<void> => {
    sweeping = sweeping
      .then(() => flushLogs())
      // A full disk fails the logs, and only the sweep frees space, so go on.
      .catch((error: unknown) => log.error('analytics logs could not be written', { error }))
      .then(() => store.sweep())
      .catch((error: unknown) => log.error('the sweep failed', { error }))
    return sweeping
  }
  const timer = setInterval(() => void now(), SWEEP_EVERY_MS)
  timer.unref()
  return {
    now,
    between: (work) => {
      const done = sweeping.then(work)
      sweeping = done.then(
        () => undefined,
        () => undefined,
      )
      return done
    },
    stop: () => {
      clearInterval(timer)
      return sweeping
    },
  }
}
