// A moment is the clock's time and a stamp. Each stamp is greater than all earlier ones, even if the clock stops or is
// set back, or the server crashes. A stamp is milliseconds times 1,024 plus a sequence number; ETags and the ids of
// snapshots and versions are derived from it.
import assert from 'node:assert/strict'
import { encodeKey } from '../kv/key.ts'
import {
  prefixRange,
  withAttempt,
  type EventKv,
  type Key,
  type Kv,
  type ReadTx,
  type Step,
  type Tx,
} from '../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../kv/record.ts'

export type Moment = { readonly nowMs: number; readonly stamp: number }

export const STAMPS_PER_MS = 1024

/** Nodes that share a store take stamps in turn: each one those that leave its slot as the remainder. */
export type StampSlot = { readonly slot: number; readonly slotCount: number }

export const ONLY_SLOT: StampSlot = { slot: 0, slotCount: 1 }

/** The first stamp is above `floor`. */
export function createMoments(
  clock: () => number,
  floor: number,
  { slot, slotCount }: StampSlot = ONLY_SLOT,
): () => Moment {
  assert(Number.isSafeInteger(floor), 'a stamp is a whole number')
  let last = floor
  return () => {
    const nowMs = Math.floor(clock())
    const first = Math.max(nowMs * STAMPS_PER_MS, last + 1)
    last = slotCount === 1 ? first : first + ((slot - (first % slotCount) + slotCount) % slotCount)
    return { nowMs, stamp: last }
  }
}

/** The stamp of a write: greater than the object's current one, whatever clock that came from. */
export function nextStamp(current: number | undefined, moment: Moment): number {
  return current === undefined || moment.stamp > current ? moment.stamp : current + 1
}

/** → { stamp }: an upper bound for all stamps that one server, or one slot of a cluster, has used */
function floorKey({ slot, slotCount }: StampSlot): Key {
  return slotCount === 1 ? encodeKey('moment-floor') : encodeKey('moment-floor', slot)
}

/** How far the stored floor is ahead of the last stamp: it is written about once per second. */
const RESERVED_STAMPS = 1_000 * STAMPS_PER_MS

export type StoredMoments = {
  /** Raises the stored floor in the same transaction as a write whose stamp is above it. */
  stamped<Event>(kv: EventKv<Event>): EventKv<Event>
  moment(): Moment
  /** Lowers the floor to the last stamp, when a store is closed properly. */
  saveFloor(): Promise<void>
}

/** Moments whose stamps are never reused, even after a crash with a clock that was set back. */
export async function openMoments(
  kv: Kv,
  clock: () => number,
  slot: StampSlot = ONLY_SLOT,
): Promise<StoredMoments> {
  const key = floorKey(slot)
  let floor = await kv.read((tx) => storedFloor(tx, key))
  let last = floor
  const next = createMoments(clock, floor, slot)
  const moment = (): Moment => {
    const taken = next()
    last = taken.stamp
    return taken
  }
  const isReserved = (): boolean => last <= floor
  return {
    // Callers take the stamp before they call `write`, so `last` covers it.
    stamped: (stamping) =>
      withAttempt(stamping, async (body) => {
        if (isReserved()) return stamping.attempt(body)
        const raised = last + RESERVED_STAMPS
        const attempted = await stamping.attempt((tx) => withFloor(tx, body, key, raised))
        if ('value' in attempted) floor = Math.max(floor, raised)
        return attempted
      }),
    moment,
    saveFloor: () => kv.write((tx) => putFloor(tx, key, last)),
  }
}

function* withFloor<Event, T>(
  tx: Tx<Event>,
  body: (tx: Tx<Event>) => Step<T>,
  key: Key,
  stamp: number,
): Step<T> {
  const value = yield* body(tx)
  tx.put(key, encodeRecord({ stamp }))
  return value
}

function* putFloor(tx: Tx, key: Key, stamp: number): Step<void> {
  tx.put(key, encodeRecord({ stamp }))
}

/** An upper bound for the stamps of all servers and slots. */
export function* getHighestFloor(tx: ReadTx): Step<number> {
  const range = prefixRange(encodeKey('moment-floor'))
  const entries = yield* tx.scan({ ...range, countMax: FLOOR_COUNT_MAX })
  const stamps = entries.map(({ value }) => decodeRecord<{ stamp: number }>(value).stamp)
  return Math.max(0, ...stamps)
}

/** Above all slots that there are. */
const FLOOR_COUNT_MAX = 1_000

/** For a store that was copied: every server and every slot goes on above it. */
export function* putOnlyFloor(tx: Tx, stamp: number): Step<void> {
  yield* putFloor(tx, floorKey(ONLY_SLOT), stamp)
}

/** A store that was copied has the floor of the server that wrote it. */
function* storedFloor(tx: ReadTx, key: Key): Step<number> {
  const own = yield* tx.getFields<{ stamp: number }>(key)
  const single = yield* tx.getFields<{ stamp: number }>(floorKey(ONLY_SLOT))
  return Math.max(own?.stamp ?? 0, single?.stamp ?? 0)
}
