// What people use to see and steer a server: the journal, and the points at which barriers and faults listen.
import { Barriers } from './barrier/barrier.ts'
import { CLIENT_BY, type ClientSource } from './client.ts'
import type { Head } from './entry.ts'
import { Faults } from './fault/fault.ts'
import { Journal, JOURNAL_BYTES_MAX, JOURNAL_COUNT_MAX } from './journal.ts'
import { Points } from './point.ts'
import { afterReal } from './rule/timer.ts'

export type ControlSettings = {
  readonly clock: () => number
  /** undefined: no journal is kept. */
  readonly journal: { readonly countMax?: number; readonly bytesMax?: number } | undefined
  readonly clientBy?: readonly ClientSource[]
  decodeHead(text: string): Head
}

export type Control = {
  readonly points: Points
  readonly journal: Journal | undefined
  readonly barriers: Barriers
  readonly faults: Faults
  /** Removes all barriers and faults, so that requests end and the server can close. */
  letGo(): void
  /** For the fronts of the services. */
  readonly watching: {
    /** Even while nothing listens at the points. */
    readonly isAlwaysOn: boolean
    readonly points: Points
    readonly clientBy: readonly ClientSource[]
    clock(): number
  }
}

export function createControl({
  decodeHead,
  clock,
  journal: kept,
  clientBy = CLIENT_BY,
}: ControlSettings): Control {
  const points = new Points()
  const journal =
    kept &&
    new Journal({
      countMax: kept.countMax ?? JOURNAL_COUNT_MAX,
      bytesMax: kept.bytesMax ?? JOURNAL_BYTES_MAX,
      clientBy,
      decodeHead,
    })
  const timers = { points, after: afterReal }
  const barriers = new Barriers(timers)
  const faults = new Faults({ ...timers, clock, nowMs: () => performance.now() })
  return {
    points,
    journal,
    barriers,
    faults,
    letGo: () => {
      barriers.clear()
      faults.clear()
    },
    watching: { isAlwaysOn: journal !== undefined, points, clientBy, clock },
  }
}
