// The timers of one listener. Once it is closed, none of them fires and no new one starts, so that none keeps the
// process alive.
import type { SmbWorld } from '../world.ts'

export function scopeTimers({ after }: Pick<SmbWorld, 'after'>): {
  readonly after: SmbWorld['after']
  stop(): void
} {
  const running = new Set<() => void>()
  let isStopped = false
  return {
    after: (delayMs, then) => {
      if (isStopped) return () => {}
      const cancel = after(delayMs, () => {
        running.delete(cancel)
        then()
      })
      running.add(cancel)
      return () => {
        running.delete(cancel)
        cancel()
      }
    },
    stop: () => {
      isStopped = true
      for (const cancel of running) cancel()
      running.clear()
    },
  }
}
