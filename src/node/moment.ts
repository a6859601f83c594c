// A moment is the clock's time and a stamp. Each stamp is greater than all earlier ones, even if the clock stops or is
// set back, or the server crashes. A stamp is milliseconds times 1,024 plus a sequence number; ETags and the ids of
// snapshots and versions are derived from it.
import assert from 'node:assert/strict'
import { encodeKey } from '../kv/key.ts'
import { withAttempt, type EventKv, type Step, type Tx } from '../kv/kv.ts'
import { encodeRecord } from '../kv/record.ts'

export type Moment = { readonly nowMs: number; readonly stamp: number }

export const STAMPS_PER_MS = 1024

/** The first stamp is above `floor`. */
export function createMoments(clock: () => number, floor: number): () => Moment {
  assert(Number.isSafeInteger(floor), 'a stamp is a whole number')
  let last = floor
  return () => {
    const nowMs = Math.floor(clock())
    last = Math.max(nowMs * STAMPS_PER_MS, last + 1)
    return { nowMs, stamp: last }
  }
}

/** The stamp of a write: greater than the object's current one, whatever clock that came from. */
export function nextStamp(current: number | undefined, moment: Moment): number {
  return current === undefined || moment.stamp > current ? moment.stamp : current + 1
}

/** → { stamp }: an upper bound for all stamps in the store */
const FLOOR_KEY = encodeKey('moment-floor')

/** How far the stored floor is ahead of the last stamp: it is written about once per second. */
const RESERVED_STAMPS = 1_000 * STAMPS_PER_MS

export type StoredMoments<Event> = {
  /** Raises the stored floor in the same transaction as a write whose stamp is above it. */
  readonly kv: EventKv<Event>
  moment(): Moment
  /** Lowers the floor to the last stamp, when a store is closed properly. */
  saveFloor(): Promise<void>
}

/** Moments whose stamps are never reused, even after a crash with a clock that was set back. */
export async function openMoments<Event>(
  kv: EventKv<Event>,
  clock: () => number,
): Promise<StoredMoments<Event>> {
  const stored = await kv.read((tx) => tx.getFields<{ stamp: number }>(FLOOR_KEY))
  let floor = stored?.stamp ?? 0
  let last = floor
  const next = createMoments(clock, floor)
  const moment = (): Moment => {
    const taken = next()
    last = taken.stamp
    return taken
  }
  const isReserved = (): boolean => last <= floor
  return {
    // Callers take the stamp before they call `write`, so `last` covers it.
    kv: withAttempt(kv, async (body) => {
      if (isReserved()) return kv.attempt(body)
      const raised = last + RESERVED_STAMPS
      const attempted = await kv.attempt((tx) => withFloor(tx, body, raised))
      if ('value' in attempted) floor = Math.max(floor, raised)
      return attempted
    }),
    moment,
    saveFloor: () => kv.write((tx) => putFloor(tx, last)),
  }
}

function* withFloor<Event, T>(
  tx: Tx<Event>,
  body: (tx: Tx<Event>) => Step<T>,
  stamp: number,
): Step<T> {
  const value = yield* body(tx)
  tx.put(FLOOR_KEY, encodeRecord({ stamp }))
  return value
}

function* putFloor(tx: Tx, stamp: number): Step<void> {
  tx.put(FLOOR_KEY, encodeRecord({ stamp }))
}
