// For tests of barriers and faults: requests without a server, and timers without waiting.
import type { Passing, Subject } from '../point.ts'
import type { After } from './timer.ts'

export type TestPassing = Passing & {
  end(): void
  /** The client goes. */
  leave(): void
}

export function passingRequest(fields: Partial<Subject & { stores: boolean }>): TestPassing {
  const ended: (() => void)[] = []
  const gone: (() => void)[] = []
  let hasEnded = false
  return {
    service: 'blob',
    operation: 'Put Blob',
    account: 'devstoreaccount1',
    path: '/c/doc',
    client: 'A',
    clientRequestId: undefined,
    whenGone: (listener) => void gone.push(listener),
    stores: false,
    harm: {},
    whenEnded: (listener) => void (hasEnded ? listener() : ended.push(listener)),
    end: () => {
      hasEnded = true
      for (const listener of ended.splice(0)) listener()
    },
    leave: () => {
      for (const listener of gone.splice(0)) listener()
    },
    ...fields,
  }
}

export type ManualTimers = {
  readonly after: After
  nowMs(): number
  /** Timers that are due run in order. */
  advance(byMs: number): void
  readonly count: number
}

export function manualTimers(): ManualTimers {
  const timers = new Set<{ readonly dueMs: number; run(): void }>()
  let now = 0
  const next = () => [...timers].toSorted((one, other) => one.dueMs - other.dueMs)[0]
  return {
    after: (delayMs, then) => {
      const timer = { dueMs: now + delayMs, run: then }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    nowMs: () => now,
    advance: (byMs) => {
      now += byMs
      for (let timer = next(); timer !== undefined && timer.dueMs <= now; timer = next()) {
        timers.delete(timer)
        timer.run()
      }
    },
    get count() {
      return timers.size
    },
  }
}
