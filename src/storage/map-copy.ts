// Copies of long maps. To copy 50,000 records in one transaction would hold everybody up for a second. So a transaction
// that needs such a copy asks for it (MapCopyNeeded) and changes nothing; the copy is made beside it, in many small
// transactions, and the transaction is run again and finds it. Nobody sees a copy before that: its id is new.
//
// What is copied must not have changed meanwhile, which the stamp of its blob or file tells. If it has, the copy is made
// again; and after a few times in the transaction itself, or a snapshot of a busy page blob would never be made.
import { setImmediate } from 'node:timers/promises'
import { decodeKey, encodeKey } from '../kv/key.ts'
import { prefixRange, type Key, type Kv, type Step, type Tx, type Value } from '../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../kv/record.ts'
import { dropMap, mapRecordsFrom, putMapRecord, sweepMap, type SomeRecords } from './map.ts'

/** → CopiedMap: a map that is a copy and that no blob has yet */
function copiedMapKey(mapId: number): Key {
  return encodeKey('copied-map', mapId)
}

const COPIED_MAPS = prefixRange(encodeKey('copied-map'))

type CopiedMap = {
  readonly of: number
  /** Of the blob or file whose map is copied. */
  readonly stamp: number
  readonly sinceMs: number
  readonly state: 'begun' | 'whole' | 'leftToTransaction'
}

/** Pieces that a transaction copies itself, and pieces of one step of a copy that is made beside it. */
const COPY_PIECES_MAX = 1_000
const STEP_PIECES = 500
const RECORDS_PER_SCAN = 250
const SWEEP_COUNT = 200
/** Copies that may turn out to be out of date. */
const ATTEMPTS_MAX = 3
/** All together, of one transaction: it needs two at most. */
const COPIES_MAX = 16
/** Of a copy whose maker is gone. */
const ABANDONED_MS = 60 * 60 * 1_000

export class MapCopyNeeded extends Error {
  readonly of: number
  readonly to: number
  readonly stamp: number

  constructor(of: number, to: number, stamp: number) {
    super(`a copy of the map ${of} is needed`)
    this.name = 'MapCopyNeeded'
    this.of = of
    this.to = to
    this.stamp = stamp
  }
}

/**
 * The same bytes under the new id `to`: a copy shares nothing that can change with the first. `stamp` is that of the
 * blob or file that has the map `of`, and changes with its bytes.
 */
export function* copyMap(tx: Tx, of: number, to: number, stamp: number): Step<void> {
  const key = copiedMapKey(to)
  const value = yield* tx.get(key)
  // First, for bodies that are tried without durable writes (kv/live.ts): here they see that they can't be.
  tx.delete(key)
  const copied = value === undefined ? undefined : decodeRecord<CopiedMap>(value)
  if (copied?.state === 'whole' && copied.of === of && copied.stamp === stamp) return
  const isLeft = copied?.state === 'leftToTransaction'
  // One that is out of date has to go first.
  if (copied !== undefined && !isLeft) throw new MapCopyNeeded(of, to, stamp)
  const next = yield* copySome(tx, of, to, 0, isLeft ? Infinity : COPY_PIECES_MAX)
  if (next !== undefined) throw new MapCopyNeeded(of, to, stamp)
}

/** From `offset` on, about so many pieces. Answers where to go on; undefined at the end. */
function* copySome(
  tx: Tx,
  of: number,
  to: number,
  offset: number,
  piecesMax: number,
): Step<number | undefined> {
  let at: number | undefined = offset
  let pieceCount = 0
  while (at !== undefined) {
    const { records, next }: SomeRecords = yield* mapRecordsFrom(tx, of, at, RECORDS_PER_SCAN)
    for (const { content, blocks } of records) {
      if (pieceCount >= piecesMax) return content.at ?? 0
      yield* putMapRecord(tx, to, content.at ?? 0, content.pieces, blocks)
      pieceCount += content.pieces.length
    }
    at = next
  }
  return undefined
}

/** The same store, whose transactions get the copies of maps that they need. */
export function withMapCopies(kv: Kv, clock: () => number): Kv {
  return {
    ...kv,
    write: (body) =>
      kv.write(body).catch((error: unknown) => {
        if (!(error instanceof MapCopyNeeded)) throw error
        return writeWithCopies(kv, body, error, clock)
      }),
  }
}

async function writeWithCopies<T>(
  kv: Kv,
  body: (tx: Tx) => Step<T>,
  first: MapCopyNeeded,
  clock: () => number,
): Promise<T> {
  const attempts = new Map<number, number>()
  let needed = first
  try {
    for (let count = 0; ; count += 1) {
      const attempt = (attempts.get(needed.to) ?? 0) + 1
      attempts.set(needed.to, attempt)
      await makeCopy(kv, needed, attempt, clock())
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

async function makeCopy(
  kv: Kv,
  { of, to, stamp }: MapCopyNeeded,
  attempt: number,
  sinceMs: number,
): Promise<void> {
  const mark = (state: CopiedMap['state']): Value =>
    encodeRecord({ of, stamp, sinceMs, state } satisfies CopiedMap)
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
    at = await kv.write((tx) => copyStep(tx, of, to, from))
    // In memory nothing else would wait.
    await setImmediate()
  }
  await kv.write((tx) => putMark(tx, to, mark('whole')))
}

function* copyStep(tx: Tx, of: number, to: number, from: number): Step<number | undefined> {
  return yield* copySome(tx, of, to, from, STEP_PIECES)
}

function* putMark(tx: Tx, to: number, mark: Value): Step<void> {
  tx.put(copiedMapKey(to), mark)
}

/** Nobody wants it: it is swept like any other map. */
function* discardCopy(tx: Tx, to: number): Step<void> {
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
