// When something happens: the clock's time, and a stamp that is greater than every stamp before it, even if the clock
// stands still, is set back, or the server crashes. A stamp is milliseconds times 1,024 plus a sequence number; ETags
// and the ids of snapshots and versions are made from it.
import assert from 'node:assert/strict'
import { getFields } from '../kv/fields.ts'
import { encodeKey } from '../kv/key.ts'
import type { EventKv, Step, Tx } from '../kv/kv.ts'
import { encodeRecord } from '../kv/record.ts'

export type Moment = { readonly nowMs: number; readonly stamp: number }

export const STAMPS_PER_MS = 1024

/** Nodes that share a store: each makes every so manyth stamp, so no two make the same. */
export type StampShare = { readonly node: number; readonly nodeCount: number }

const ALL_STAMPS: StampShare = { node: 0, nodeCount: 1 }

/** The first stamp is above `floor`. */
export function createMoments(
  clock: () => number,
  floor: number,
  { node, nodeCount }: StampShare = ALL_STAMPS,
): () => Moment {
  assert(Number.isSafeInteger(floor), 'a stamp is a whole number')
  assert(
    node < nodeCount && nodeCount <= STAMPS_PER_MS,
    'each node has some stamps of a millisecond',
  )
  let last = floor
  return () => {
    const nowMs = Math.floor(clock())
    const least = Math.max(nowMs * STAMPS_PER_MS, last + 1)
    last = least + ((node - (least % nodeCount) + nodeCount) % nodeCount)
    return { nowMs, stamp: last }
  }
}

/** The stamp of a write: above the object's own, whichever process with whichever clock made that. */
export function nextStamp(current: number | undefined, moment: Moment): number {
  return current === undefined || moment.stamp > current ? moment.stamp : current + 1
}

/** → { stamp }: no stamp in the store is greater */
const FLOOR_KEY = encodeKey('moment-floor')

/** How far ahead of the last stamp the stored floor is set: it is written about once in this time. */
const RESERVED_STAMPS = 1_000 * STAMPS_PER_MS

export type StoredMoments<Event> = {
  /** Writes whose stamps may not be above the stored floor raise it in the same transaction. */
  readonly kv: EventKv<Event>
  moment(): Moment
  /** Lowers the floor to the last stamp, for a store that is closed in order. */
  saveFloor(): Promise<void>
}

/** Moments whose stamps are never used again, also after a crash with a clock that was set back. */
export async function openMoments<Event>(
  kv: EventKv<Event>,
  clock: () => number,
): Promise<StoredMoments<Event>> {
  const stored = await kv.read((tx) => getFields<{ stamp: number }>(tx, FLOOR_KEY))
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
    // A body's stamp was taken before the body is handed over.
    kv: {
      ...kv,
      write: async (body) => {
        if (isReserved()) return kv.write(body)
        const raised = last + RESERVED_STAMPS
        const value = await kv.write((tx) => withFloor(tx, body, raised))
        floor = Math.max(floor, raised)
        return value
      },
      attempt: async (body) => {
        if (isReserved()) return kv.attempt(body)
        const raised = last + RESERVED_STAMPS
        const attempted = await kv.attempt((tx) => withFloor(tx, body, raised))
        if ('value' in attempted) floor = Math.max(floor, raised)
        return attempted
      },
    },
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
