// Copies of long maps. To copy 50,000 records in one transaction would hold everybody up for a second. So a transaction
// that needs such a copy asks for it (MapCopyNeeded) and changes nothing; the copy is made beside it, in many small
// transactions, and the transaction is run again and finds it. Nobody sees a copy before that: its id is new.
//
// What is copied must not have changed meanwhile, which the stamp of its blob or file tells. If it has, the copy is made
// again; and after a few times in the transaction itself, or a snapshot of a busy page blob would never be made.
import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { clearOverlapping, type ByteRange } from './interval-map.ts'
import { piecesLengthBytes } from './slice-list.ts'
import type { Piece } from './slice.ts'
import { decodeKey, encodeKey } from '../../kv/key.ts'
import { prefixRange, type EventKv, type Key, type Kv, type Step, type Tx } from '../../kv/kv.ts'
import { decodeRecord, encodeRecord, type StoredRecord } from '../../kv/record.ts'
import {
  clearMap,
  decodeMapRecord,
  dropMap,
  mapKey,
  mapRecordsFrom,
  putMapRecord,
  sweepMap,
  type SomeRecords,
} from './map.ts'

/** → CopiedMap: a map that is a copy and that no blob has yet */
function copiedMapKey(mapId: number): Key {
  return encodeKey('copied-map', mapId)
}

const COPIED_MAPS = prefixRange(encodeKey('copied-map'))

/** A copy that a transaction needs. */
export type MapCopy = {
  readonly of: number
  /** A new id. */
  readonly to: number
  /** Of the blob or file that has the map; it changes with the bytes. */
  readonly stamp: number
  /** What the copy leaves out. */
  readonly without?: ByteRange
}

type CopiedMap = Omit<MapCopy, 'to'> & {
  readonly sinceMs: number
  readonly state: 'begun' | 'whole' | 'leftToTransaction'
}

/** Pieces that a transaction copies itself, and pieces of one step of a copy that is made beside it. */
const COPY_PIECES_MAX = 1_000
const STEP_PIECES = 500
/** A record may have one piece or hundreds: a scan takes few at first, and more where they are small. */
const RECORDS_MIN = 4
const RECORDS_MAX = 256
const SWEEP_COUNT = 200
/** Copies that may turn out to be out of date. */
const ATTEMPTS_MAX = 3
/** All together, of one transaction: it needs two at most. */
const COPIES_MAX = 16
/** Of a copy whose maker is gone. */
const ABANDONED_MS = 60 * 60 * 1_000

export class MapCopyNeeded extends Error {
  readonly copy: MapCopy

  constructor(copy: MapCopy) {
    super(`a copy of the map ${copy.of} is needed`)
    this.name = 'MapCopyNeeded'
    this.copy = copy
  }
}

/** The same bytes under a new id: a copy shares nothing that can change with the first. */
export function* copyMap(tx: Tx, copy: MapCopy): Step<void> {
  const key = copiedMapKey(copy.to)
  const value = yield* tx.get(key)
  // First, for bodies that are tried without durable writes (kv/live.ts): here they see that they can't be.
  tx.delete(key)
  const copied = value === undefined ? undefined : decodeRecord<CopiedMap>(value)
  if (copied?.state === 'whole' && isSameCopy(copied, copy)) return
  const isLeft = copied?.state === 'leftToTransaction'
  // One that is out of date has to go first.
  if (copied !== undefined && !isLeft) throw new MapCopyNeeded(copy)
  const next = yield* copySome(tx, copy, 0, isLeft ? Infinity : COPY_PIECES_MAX)
  if (next !== undefined) throw new MapCopyNeeded(copy)
}

function isSameCopy(one: Omit<MapCopy, 'to'>, other: MapCopy): boolean {
  if (one.of !== other.of || one.stamp !== other.stamp) return false
  return one.without?.from === other.without?.from && one.without?.to === other.without?.to
}

/**
 * Leaves zeros in a range of a map, and answers which map has the rest: the same or, where much is cleared, a copy
 * without it. Only for a map that nothing else shows.
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

/** From `offset` on, about so many pieces. Answers where to go on; undefined at the end. */
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

/** Of the last record that begins in the range, what reaches behind it. */
function* copyEnd(tx: Tx, of: number, to: number, without: ByteRange): Step<void> {
  const range = { from: mapKey(of, without.from), to: mapKey(of, without.to) }
  const [last] = yield* tx.scan({ ...range, countMax: 1, reverse: true })
  if (last === undefined) return
  const { content } = decodeMapRecord(last.value)
  yield* copyRest(tx, to, content.at ?? 0, content.pieces, without)
}

/** Of a record, what is outside of the range. A map that is cleared has one piece in each. */
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

/** The same store, whose transactions get the copies of maps that they need. */
export function withMapCopies<Event>(kv: EventKv<Event>, clock: () => number): EventKv<Event> {
  return {
    ...kv,
    write: (body) =>
      kv.write(body).catch((error: unknown) => {
        if (!(error instanceof MapCopyNeeded)) throw error
        return writeWithCopies(kv, body, error, clock)
      }),
  }
}

async function writeWithCopies<Event, T>(
  kv: Kv<Event>,
  body: (tx: Tx<Event>) => Step<T>,
  first: MapCopyNeeded,
  clock: () => number,
): Promise<T> {
  const attempts = new Map<number, number>()
  let needed = first
  try {
    for (let count = 0; ; count += 1) {
      const { to } = needed.copy
      const attempt = (attempts.get(to) ?? 0) + 1
      attempts.set(to, attempt)
      await makeCopy(kv, needed.copy, attempt, clock())
      try {
        return await kv.write(body)
      } catch (error) {
        if (!(error instanceof MapCopyNeeded) || count >= COPIES_MAX) throw error
        needed = error
      }
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
  await kv.write((tx) => putMark(tx, to, mark('begun')))
  // What an earlier attempt has left.
  if (attempt > 1) while ((await kv.write((tx) => sweepMap(tx, to, SWEEP_COUNT))) > 0);
  if (attempt > ATTEMPTS_MAX) {
    await kv.write((tx) => putMark(tx, to, mark('leftToTransaction')))
    return
  }
  let at: number | undefined = 0
  while (at !== undefined) {
    const from: number = at
    at = await kv.write((tx) => copySome(tx, copy, from, STEP_PIECES))
    // In memory nothing else would wait.
    await setImmediate()
  }
  await kv.write((tx) => putMark(tx, to, mark('whole')))
}

function* putMark(tx: Tx, to: number, mark: StoredRecord): Step<void> {
  tx.put(copiedMapKey(to), mark)
}

/** A map that is made in steps and that nothing shows yet: a crash leaves it to the sweep. */
export function* beginMap(tx: Tx, mapId: number, sinceMs: number): Step<void> {
  const begun: CopiedMap = { of: mapId, stamp: 0, sinceMs, state: 'begun' }
  tx.put(copiedMapKey(mapId), encodeRecord(begun))
}

/** A record shows the map from now on. */
export function adoptMap(tx: Tx, mapId: number): void {
  tx.delete(copiedMapKey(mapId))
}

/** Nobody wants it: it is swept like any other map. */
export function* discardCopy(tx: Tx, to: number): Step<void> {
  tx.delete(copiedMapKey(to))
  dropMap(tx, to)
}

/** Copies that a crash has left; by the machine's clock, as they were made. */
export async function sweepCopiedMaps(kv: Kv, nowMs: number): Promise<void> {
  const marks = await kv.read((tx) => tx.scan({ ...COPIED_MAPS, countMax: SWEEP_COUNT }))
  for (const { key, value } of marks) {
    if (decodeRecord<CopiedMap>(value).sinceMs + ABANDONED_MS > nowMs) continue
    await kv.write((tx) => discardCopy(tx, Number(decodeKey(key)[1])))
  }
}
