// When something happens: the clock's time, and a stamp that is greater than every stamp before it in
// this process, even if the clock stands still or is set back. A stamp is milliseconds times 1,024 plus
// a sequence number; ETags and the ids of snapshots and versions are made from it.
import assert from 'node:assert/strict'

export type Moment = { readonly nowMs: number; readonly stamp: number }

export const STAMPS_PER_MS = 1024

/** `floor` is the greatest stamp that the store has seen: the first one made here is above it. */
export function createMoments(clock: () => number, floor: number): () => Moment {
  assert(Number.isSafeInteger(floor), 'a stamp is a whole number')
  let last = floor
  return () => {
    const nowMs = Math.floor(clock())
    last = Math.max(nowMs * STAMPS_PER_MS, last + 1)
    return { nowMs, stamp: last }
  }
}

/** The stamp of a write: above the object's own, whichever process with whichever clock made that. */
export function nextStamp(current: number | undefined, moment: Moment): number {
  return current === undefined || moment.stamp > current ? moment.stamp : current + 1
}
