// The timers of one listener. Once it is closed, none of them fires and no new one starts, so that none keeps the
// process alive.
import type { SmbWorld } from '../world.ts'

type Timers = Pick<SmbWorld, 'after' | 'afterRealTime'>

export function scopeTimers(world: Timers): Timers & {
  stop(): void
} {
  const running = new Set<() => void>()
  let isStopped = false
  const scoped =
    (after: SmbWorld['after']): SmbWorld['after'] =>
    (delayMs, then) => {
      if (isStopped) return () => {}
      const cancel = after(delayMs, () => {
        running.delete(cancel)
        return then()
      })
      running.add(cancel)
      return () => {
        running.delete(cancel)
        cancel()
      }
    }
  return {
    after: scoped(world.after),
    afterRealTime: scoped(world.afterRealTime),
    stop: () => {
      isStopped = true
      for (const cancel of running) cancel()
      running.clear()
    },
  }
}
