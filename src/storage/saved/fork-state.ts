// Puts the records of a saved state into an empty store in memory, as they were when it was saved. Small slices come along,
// since they are records; the bytes in extents stay where they are, and the new store shares them.
import { setImmediate } from 'node:timers/promises'
import { registerShared } from '../../extent/keys.ts'
import { referencedSlices } from '../../extent/content/reference.ts'
import { SMALL_EXTENT, type Slice } from '../../extent/content/slice.ts'
import { smallKey } from '../../extent/content/small.ts'
import type { SharedExtents } from '../../extent/shared-extents.ts'
import { encodeKey } from '../../kv/key.ts'
import {
  keyAfter,
  prefixRange,
  type Entry,
  type Key,
  type Kv,
  type ReadTx,
  type Step,
  type Tx,
} from '../../kv/kv.ts'
import { StoredRecord } from '../../kv/record.ts'
import { scanAll } from '../../kv/scan.ts'
import { getNextId, putNextId } from '../../node/id.ts'
import { putOnlyFloor } from '../../node/moment.ts'
import { originalKey, savedRange } from './keys.ts'
import { putOriginal, storedContent } from './saved-record.ts'

export type Fork = {
  /** Has the state; nobody sweeps it meanwhile. */
  readonly from: Kv
  readonly stateId: number
  /** Empty. */
  readonly into: Kv
  readonly shared: SharedExtents
  /** The stamps of the new store are above it. */
  readonly stamp: number
}

const RECORDS_PER_STEP = 256
const SCOPES = prefixRange(encodeKey('encryption-scope'))

export async function forkState({ from, stateId, into, shared, stamp }: Fork): Promise<void> {
  const counters = await from.read(getNextId)
  await into.write((tx) => putCounters(tx, counters, stamp))
  // A state has no encryption scopes, but its content may be encrypted with their keys.
  const scopes = await from.read((tx) => scanAll(tx, SCOPES, RECORDS_PER_STEP))
  await into.write((tx) => putScopes(tx, scopes))
  for (let at: Key | undefined = savedRange(stateId).from; at !== undefined;) {
    const start: Key = at
    const part: Part = await from.read((tx) => readPart(tx, stateId, start))
    shared.add(part.extentEnds.keys())
    await into.write((tx) => putPart(tx, part))
    at = part.next
    // A memory engine would not let others run.
    await setImmediate()
  }
}

/** Ids and stamps go on, so that an ETag means one content forever. */
function* putCounters(tx: Tx, nextId: number, stamp: number): Step<void> {
  yield* putNextId(tx, nextId)
  yield* putOnlyFloor(tx, stamp)
}

function* putScopes(tx: Tx, scopes: readonly Entry[]): Step<void> {
  for (const { key, value } of scopes) tx.put(key, new StoredRecord(value.value))
}

/** Some records of a state, with what they refer to. */
type Part = {
  /** As they are saved, by their original keys. */
  readonly records: readonly Entry[]
  readonly smallSlices: readonly Entry[]
  /** How far the records use each extent. */
  readonly extentEnds: ReadonlyMap<number, number>
  readonly next: Key | undefined
}

function* readPart(tx: ReadTx, stateId: number, from: Key): Step<Part> {
  const range = { from, to: savedRange(stateId).to, countMax: RECORDS_PER_STEP }
  const entries = yield* tx.scan(range)
  const slices = entries.flatMap(({ value }) => slicesOfRecord(value))
  const last = entries.at(-1)
  const isEnd = last === undefined || entries.length < RECORDS_PER_STEP
  return {
    records: entries.map(({ key, value }) => ({ key: Uint8Array.from(originalKey(key)), value })),
    smallSlices: yield* readSmallSlices(tx, slices),
    extentEnds: extentEnds(slices),
    next: isEnd ? undefined : keyAfter(last.key),
  }
}

function slicesOfRecord(value: StoredRecord): readonly Slice[] {
  const content = storedContent(value)
  return content === undefined ? [] : referencedSlices(content)
}

function* readSmallSlices(tx: ReadTx, slices: readonly Slice[]): Step<readonly Entry[]> {
  const found: Entry[] = []
  for (const { extent, offset } of slices) {
    if (extent !== SMALL_EXTENT) continue
    const key = smallKey(offset)
    const value = yield* tx.get(key)
    // One that is missing is damage, which putOriginal refuses.
    if (value !== undefined) found.push({ key, value })
  }
  return found
}

function extentEnds(slices: readonly Slice[]): ReadonlyMap<number, number> {
  const ends = new Map<number, number>()
  for (const { extent, offset, lengthBytes } of slices) {
    if (extent === SMALL_EXTENT) continue
    ends.set(extent, Math.max(offset + lengthBytes, ends.get(extent) ?? 0))
  }
  return ends
}

/** First what the references of the records need. */
function* putPart(tx: Tx, { records, smallSlices, extentEnds: ends }: Part): Step<void> {
  for (const { key, value } of smallSlices) tx.put(key, new StoredRecord(value.value))
  for (const [extent, endBytes] of ends) yield* registerShared(tx, extent, endBytes)
  for (const { key, value } of records) yield* putOriginal(tx, key, value)
}
