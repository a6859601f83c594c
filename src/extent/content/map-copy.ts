// Copies of long maps. Copying 50,000 records in one transaction would block the server for a second. So a transaction
// that needs such a copy yields a need (MapCopyNeeded) and changes nothing. The copy is made in many small transactions,
// and the transaction runs again and finds it. Nobody sees the copy before that, since its id is new.
//
// If the source has changed meanwhile, which the stamp of its blob or file shows, the copy is made again. After a few
// attempts the transaction copies the map itself; otherwise the snapshot of a busy page blob would never complete.
import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { clearOverlapping, type ByteRange } from './interval-map.ts'
import { piecesLengthBytes } from './slice-list.ts'
import { ExtentRetired } from '../error.ts'
import type { Piece } from './slice.ts'
import { decodeKey, encodeKey } from '../../kv/key.ts'
import {
  prefixRange,
  withAttempt,
  type Attempted,
  type EventKv,
  type Key,
  type Kv,
  type Needed,
  type ReadTx,
  type Step,
  type Tx,
} from '../../kv/kv.ts'
import { decodeRecord, encodeRecord, type StoredRecord } from '../../kv/record.ts'
import { need } from '../../kv/step.ts'
import {
  clearMap,
  decodeMapRecord,
  deletedMapKey,
  dropMap,
  mapKey,
  mapRecordsFrom,
  putMapRecord,
  sweepMap,
  type SomeRecords,
} from './map.ts'

/** → CopiedMap: a copy of a map that is not used yet */
function copiedMapKey(mapId: number): Key {
  return encodeKey('copied-map', mapId)
}

const COPIED_MAPS = prefixRange(encodeKey('copied-map'))

/** A copy that a transaction needs. */
export type MapCopy = {
  readonly of: number
  /** A new id. */
  readonly to: number
  /** The stamp of the blob or file that has the map; it changes with the bytes. */
  readonly stamp: number
  /** The range that the copy leaves out. */
  readonly without?: ByteRange
}

type CopiedMap = Omit<MapCopy, 'to'> & {
  readonly sinceMs: number
  readonly state: 'begun' | 'whole' | 'leftToTransaction'
}

/** Pieces that a transaction copies itself, and pieces per step of a longer copy. */
const COPY_PIECES_MAX = 1_000
const STEP_PIECES = 200
/** Records per scan: few at first, since a record may have one piece or hundreds. */
const RECORDS_MIN = 4
const RECORDS_MAX = 256
const SWEEP_COUNT = 200
/** Attempts before the transaction copies the map itself. */
const ATTEMPTS_MAX = 3
/** Copies per transaction, including repeated ones; a transaction needs two at most. */
const COPIES_MAX = 16
/** When a copy counts as abandoned. */
const ABANDONED_MS = 60 * 60 * 1_000

type MapCopyNeeded = { readonly kind: 'mapCopy'; readonly copy: MapCopy }

function isMapCopy(needed: Needed): needed is MapCopyNeeded {
  return needed.kind === 'mapCopy'
}

/** Copies a map to a new id. The two share only slices, which never change. */
export function* copyMap(tx: Tx, copy: MapCopy): Step<void> {
  const copied = yield* getCopied(tx, copy.to)
  if (copied === undefined) yield* requireUnswept(tx, copy.to)
  tx.delete(copiedMapKey(copy.to))
  if (copied?.state === 'whole' && isSameCopy(copied, copy)) return
  const needed: MapCopyNeeded = { kind: 'mapCopy', copy }
  const isLeft = copied?.state === 'leftToTransaction'
  // An outdated copy has to be removed first.
  if (copied !== undefined && !isLeft) yield* need(needed)
  const next = yield* copySome(tx, copy, 0, isLeft ? Infinity : COPY_PIECES_MAX)
  if (next !== undefined) yield* need(needed)
}

function* getCopied(tx: ReadTx, to: number): Step<CopiedMap | undefined> {
  const value = yield* tx.get(copiedMapKey(to))
  return value === undefined ? undefined : decodeRecord<CopiedMap>(value)
}

/** A copy that took too long was discarded, and is being swept: whatever is written to it now would be swept too. */
function* requireUnswept(tx: ReadTx, to: number): Step<void> {
  const deleted = yield* tx.get(deletedMapKey(to))
  if (deleted !== undefined) throw new ExtentRetired(`map ${to}`)
}

function isSameCopy(one: Omit<MapCopy, 'to'>, other: MapCopy): boolean {
  if (one.of !== other.of || one.stamp !== other.stamp) return false
  return one.without?.from === other.without?.from && one.without?.to === other.without?.to
}

/**
 * Clears a range of a map and returns the id of the resulting map: the same one or, if the range has many records, a copy
 * without them. The map must have only one user.
 */
export function* clearLongMap(
  tx: Tx,
  copy: MapCopy & { readonly without: ByteRange },
): Step<number> {
  const { of, to, without } = copy
  if (!(yield* hasManyRecords(tx, of, without))) {
    yield* clearMap(tx, of, without)
    return of
  }
  yield* copyMap(tx, copy)
  dropMap(tx, of)
  return to
}

/** Whether a range of a map has more records than one transaction should touch. */
export function* hasManyRecords(tx: Tx, mapId: number, { from, to }: ByteRange): Step<boolean> {
  const range = { from: mapKey(mapId, from), to: mapKey(mapId, to) }
  const keys = yield* tx.scanKeys({ ...range, countMax: COPY_PIECES_MAX + 1 })
  return keys.length > COPY_PIECES_MAX
}

/** Copies about `piecesMax` pieces, starting at `offset`. Returns where to continue; undefined at the end. */
function* copySome(
  tx: Tx,
  { of, to, without = NOTHING }: MapCopy,
  offset: number,
  piecesMax: number,
): Step<number | undefined> {
  let at: number | undefined = offset
  let pieceCount = 0
  let countMax = RECORDS_MIN
  while (at !== undefined) {
    const { records, next }: SomeRecords = yield* mapRecordsFrom(tx, of, at, countMax)
    at = next
    countMax = Math.min(countMax * 4, RECORDS_MAX)
    for (const { content, blocks } of records) {
      const begin = content.at ?? 0
      if (pieceCount >= piecesMax) return begin
      if (begin >= without.from && begin < without.to) {
        yield* copyEnd(tx, of, to, without)
        at = without.to
        break
      }
      if (begin < without.from && begin + piecesLengthBytes(content.pieces) > without.from) {
        yield* copyRest(tx, to, begin, content.pieces, without)
      } else {
        yield* putMapRecord(tx, to, begin, content.pieces, blocks)
      }
      pieceCount += content.pieces.length
    }
  }
  return undefined
}

const NOTHING: ByteRange = { from: Infinity, to: Infinity }

/** Copies the part of the range's last record that extends beyond the range. */
function* copyEnd(tx: Tx, of: number, to: number, without: ByteRange): Step<void> {
  const range = { from: mapKey(of, without.from), to: mapKey(of, without.to) }
  const [last] = yield* tx.scan({ ...range, countMax: 1, reverse: true })
  if (last === undefined) return
  const { content } = decodeMapRecord(last.value)
  yield* copyRest(tx, to, content.at ?? 0, content.pieces, without)
}

/** Copies the parts of a record outside of the range. Maps that are cleared have one piece per record. */
function* copyRest(
  tx: Tx,
  to: number,
  offset: number,
  pieces: readonly Piece[],
  without: ByteRange,
): Step<void> {
  const [piece] = pieces
  assert(piece !== undefined && pieces.length === 1, 'a map that is cleared has single pieces')
  const rest = clearOverlapping([{ offset, piece }], without)
  for (const { offset: at, piece: left } of rest.put) yield* putMapRecord(tx, to, at, [left])
}

/** A kv that provides its transactions with the map copies that they need. */
export function withMapCopies<Event>(kv: EventKv<Event>, clock: () => number): EventKv<Event> {
  return withAttempt(kv, (body) => attemptWithCopies(kv, body, clock))
}

/** Keeps the copies if the body needs something else: the next attempt finds them, or they are swept. */
async function attemptWithCopies<Event, T>(
  kv: Kv<Event>,
  body: (tx: Tx<Event>) => Step<T>,
  clock: () => number,
): Promise<Attempted<T>> {
  const attempts = new Map<number, number>()
  try {
    for (let copyCount = 0; ; copyCount += 1) {
      const attempted = await kv.attempt(body)
      if ('value' in attempted || !isMapCopy(attempted.need)) return attempted
      assert(copyCount < COPIES_MAX, 'a transaction needs few map copies')
      const { copy } = attempted.need
      const attempt = (attempts.get(copy.to) ?? 0) + 1
      attempts.set(copy.to, attempt)
      await makeCopy(kv, copy, attempt, clock())
    }
  } catch (error) {
    for (const to of attempts.keys()) await kv.write((tx) => discardCopy(tx, to))
    throw error
  }
}

async function makeCopy(kv: Kv, copy: MapCopy, attempt: number, sinceMs: number): Promise<void> {
  const { to, ...source } = copy
  const mark = (state: CopiedMap['state']): StoredRecord =>
    encodeRecord({ ...source, sinceMs, state } satisfies CopiedMap)
  await kv.write((tx) => beginCopy(tx, to, mark('begun')))
  // Remove the records of an earlier copy.
  while ((await kv.write((tx) => sweepMap(tx, to, SWEEP_COUNT))) > 0);
  if (attempt > ATTEMPTS_MAX) {
    await kv.write((tx) => changeMark(tx, to, mark('leftToTransaction')))
    return
  }
  let at: number | undefined = 0
  while (at !== undefined) {
    const from: number = at
    at = await kv.write((tx) => copyStep(tx, copy, from))
    // A memory engine would not let other requests run.
    await setImmediate()
  }
  await kv.write((tx) => changeMark(tx, to, mark('whole')))
}

function* beginCopy(tx: Tx, to: number, mark: StoredRecord): Step<void> {
  yield* requireUnswept(tx, to)
  tx.put(copiedMapKey(to), mark)
}

/** Each step checks that a sweep, maybe on another node, has not given the copy up: some of its records may be gone. */
function* requireBegun(tx: ReadTx, to: number): Step<void> {
  const copied = yield* getCopied(tx, to)
  if (copied?.state !== 'begun') throw new ExtentRetired(`map ${to}`)
}

function* copyStep(tx: Tx, copy: MapCopy, from: number): Step<number | undefined> {
  yield* requireBegun(tx, copy.to)
  return yield* copySome(tx, copy, from, STEP_PIECES)
}

function* changeMark(tx: Tx, to: number, mark: StoredRecord): Step<void> {
  yield* requireBegun(tx, to)
  tx.put(copiedMapKey(to), mark)
}

/** Registers a map that is built in steps, so that the sweep removes it after a crash. */
export function* beginMap(tx: Tx, mapId: number, sinceMs: number): Step<void> {
  const begun: CopiedMap = { of: mapId, stamp: 0, sinceMs, state: 'begun' }
  tx.put(copiedMapKey(mapId), encodeRecord(begun))
}

/** A record uses the map from now on. */
export function* adoptMap(tx: Tx, mapId: number): Step<void> {
  yield* requireBegun(tx, mapId)
  tx.delete(copiedMapKey(mapId))
}

/** Drops a copy that is not needed; it is swept like any other map. */
export function* discardCopy(tx: Tx, to: number): Step<void> {
  tx.delete(copiedMapKey(to))
  dropMap(tx, to)
}

/** Removes copies that a crash left behind. Uses the sweep's clock, as `withMapCopies` does. */
export async function sweepCopiedMaps(kv: Kv, nowMs: number): Promise<void> {
  const marks = await kv.read((tx) => tx.scan({ ...COPIED_MAPS, countMax: SWEEP_COUNT }))
  for (const { key, value } of marks) {
    if (decodeRecord<CopiedMap>(value).sinceMs + ABANDONED_MS > nowMs) continue
    await kv.write((tx) => discardCopy(tx, Number(decodeKey(key)[1])))
  }
}
