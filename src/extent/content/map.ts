// Maps: content that is stored as one record per write, found by offset, so that a write costs the same whatever the
// size of the content. Page and append blobs, long block lists and files have one each.
import { clearOverlapping, overwriteOverlapping, RangeReading } from './interval-map.ts'
import type { ByteRange, Interval, IntervalEdit } from './interval-map.ts'
import { addReferences, removeReferences } from './reference.ts'
import { cutPiece } from './slice-list.ts'
import { AT_HAND, type Content, type Hole, type Piece } from './slice.ts'
import { derived } from '../../kv/derived.ts'
import { encodeKey } from '../../kv/key.ts'
import {
  keyAfter,
  prefixRange,
  type Entry,
  type Key,
  type KeyRange,
  type ReadTx,
  type Step,
  type Tx,
} from '../../kv/kv.ts'
import { giveWay } from '../../kv/step.ts'
import {
  decodeRecord,
  encodeRecord,
  encodeSharedRecord,
  type StoredRecord,
} from '../../kv/record.ts'

/** → MapRecord: the part of a map's content that begins at `offset` */
export function mapKey(mapId: number, offset: number): Key {
  return encodeKey('map', mapId, offset)
}

/** All records of a map. */
export function mapRange(mapId: number): KeyRange {
  return prefixRange(encodeKey('map', mapId))
}

/** → {}: a map that is no longer used and has to be swept */
export function deletedMapKey(mapId: number): Key {
  return encodeKey('deleted-map', mapId)
}

export const DELETED_MAPS = prefixRange(encodeKey('deleted-map'))

/** A committed block: its id in base64 and its length. */
export type Block = readonly [id: string, lengthBytes: number]

export type MapRecord = {
  readonly content: Content
  readonly blocks?: readonly Block[]
  /** The bytes of its only piece are stored in this record, and nowhere else. */
  readonly inline?: true
}

// Up to this offset, small pieces are stored inside the records of the map: a write there is one record. Readers hold
// such bytes in memory, so this also bounds what they hold.
const INLINE_END = 64 * 1024

/** Records per scan: few at first, since a record of a block list has hundreds of pieces. */
const SCAN_COUNT_MIN = 32
const SCAN_COUNT_MAX = 256

/** Pieces that are handled in about a millisecond. */
const GIVE_WAY_PIECES = 256

/** The bytes of `range`, in order and without gaps, for `ExtentStore.read`. */
export function* readMap(tx: ReadTx, mapId: number, range: ByteRange): Step<(Piece | Hole)[]> {
  const lengthBytes = range.to - range.from
  const record = yield* getMapRecord(tx, mapKey(mapId, range.from))
  const first = record?.content.pieces[0]
  // Most reads match a single write.
  if (first !== undefined && lengthBytes > 0 && first.lengthBytes >= lengthBytes) {
    return [cutPiece(first, 0, lengthBytes)]
  }
  const reading = new RangeReading(range)
  yield* walkMap(tx, mapId, range, (_key, { content: { at = 0, pieces } }) => {
    let offset = at
    for (const piece of pieces) {
      reading.add(offset, piece)
      offset += piece.lengthBytes
    }
  })
  return reading.end()
}

/** The intervals of a map that have a byte in `range`, in order. */
export function* mapIntervals(tx: ReadTx, mapId: number, range: ByteRange): Step<Interval[]> {
  const intervals: Interval[] = []
  yield* walkMap(tx, mapId, range, (_key, { content: { at = 0, pieces } }) => {
    let offset = at
    for (const piece of pieces) {
      const end = offset + piece.lengthBytes
      if (end > range.from && offset < range.to) intervals.push({ offset, piece })
      offset = end
    }
  })
  return intervals
}

export type MapRecordEntry = { readonly key: Key; readonly record: MapRecord }

/** The records that may have a byte in `range`, including the one that begins before it. */
export function* mapRecords(tx: ReadTx, mapId: number, range: ByteRange): Step<MapRecordEntry[]> {
  const entries: MapRecordEntry[] = []
  yield* walkMap(tx, mapId, range, (key, record) => entries.push({ key, record }))
  return entries
}

/** Calls `visit` for the records that may have a byte in `range`, in order, and gives way between them. */
function* walkMap(
  tx: ReadTx,
  mapId: number,
  range: ByteRange,
  visit: (key: Key, record: MapRecord) => void,
): Step<void> {
  const from = mapKey(mapId, range.from)
  const record = yield* getMapRecord(tx, from)
  // Most reads match a single write, and a lookup costs less than a scan.
  if (record !== undefined && endOf(record) >= range.to) return visit(from, record)
  const to = range.to === Infinity ? mapRange(mapId).to : mapKey(mapId, range.to)
  let next: Key | undefined = from
  let countMax = SCAN_COUNT_MIN
  while (next !== undefined) {
    const found: readonly Entry[] = yield* tx.scan({
      from: next,
      to,
      countMax,
      ahead: SCAN_COUNT_MAX,
    })
    // Records do not overlap: if one begins at the start of the range, no earlier one reaches into it.
    if (next === from && range.from > 0 && !isAt(found[0], from)) {
      const before = { from: mapKey(mapId, 0), to: from, countMax: 1, reverse: true }
      for (const { key, value } of yield* tx.scan(before)) visit(key, decodeMapRecord(value))
    }
    let pieceCount = 0
    for (const { key, value } of found) {
      const decoded = decodeMapRecord(value)
      visit(key, decoded)
      pieceCount += decoded.content.pieces.length
      if (pieceCount > GIVE_WAY_PIECES) {
        pieceCount = 0
        yield* giveWay()
      }
    }
    const last: Entry | undefined = found.length < countMax ? undefined : found.at(-1)
    next = last && keyAfter(last.key)
    countMax = Math.min(countMax * 2, SCAN_COUNT_MAX)
    if (next !== undefined) yield* giveWay()
  }
}

function isAt(entry: Entry | undefined, key: Key): boolean {
  return entry !== undefined && Buffer.compare(entry.key, key) === 0
}

function endOf({ content: { at = 0, pieces } }: MapRecord): number {
  return pieces.reduce((end, { lengthBytes }) => end + lengthBytes, at)
}

/** Writes `piece` at `offset` of a map with one piece per record (page and append blobs). */
export function* overwriteMap(tx: Tx, mapId: number, offset: number, piece: Piece): Step<void> {
  const range = { from: offset, to: offset + piece.lengthBytes }
  const same = yield* tx.getFields<MapRecord>(mapKey(mapId, offset))
  // Most overwrites have the length of the old piece; an inline one has no references to remove.
  if (same?.inline === true && endOf(same) === range.to) {
    return yield* putMapRecord(tx, mapId, offset, [piece])
  }
  const overlapping = yield* mapIntervals(tx, mapId, range)
  yield* editMap(tx, mapId, overlapping, overwriteOverlapping(overlapping, offset, piece))
}

/** Leaves zeros in `range`. */
export function* clearMap(tx: Tx, mapId: number, range: ByteRange): Step<void> {
  const overlapping = yield* mapIntervals(tx, mapId, range)
  yield* editMap(tx, mapId, overlapping, clearOverlapping(overlapping, range))
}

function* editMap(tx: Tx, mapId: number, old: readonly Interval[], edit: IntervalEdit): Step<void> {
  for (const { offset, piece } of old) {
    yield* removeReferences(tx, { id: mapId, at: offset, pieces: [piece] })
  }
  for (const offset of edit.remove) tx.delete(mapKey(mapId, offset))
  for (const { offset, piece } of edit.put) yield* putMapRecord(tx, mapId, offset, [piece])
}

export function* putMapRecord(
  tx: Tx,
  mapId: number,
  offset: number,
  pieces: readonly Piece[],
  blocks?: readonly Block[],
): Step<void> {
  const key = mapKey(mapId, offset)
  const content: Content = { id: mapId, at: offset, pieces }
  const bytes = blocks === undefined ? inlineBytes(content) : undefined
  const stored = { ...content, pieces: pieces.map(withoutBytes) }
  if (bytes !== undefined) {
    tx.put(key, encodeSharedRecord({ content: stored, inline: true } satisfies MapRecord, bytes))
    return
  }
  yield* addReferences(tx, key, content)
  const record: MapRecord = blocks === undefined ? { content: stored } : { content: stored, blocks }
  tx.put(key, encodeSharedRecord(record))
}

/** The bytes to store inside the record: a whole small slice near the beginning of the map. */
function inlineBytes({ at = 0, pieces }: Content): Uint8Array | undefined {
  const [piece] = pieces
  if (piece === undefined || pieces.length > 1 || at + piece.lengthBytes > INLINE_END)
    return undefined
  return piece.lengthBytes === piece.slice.lengthBytes ? piece[AT_HAND] : undefined
}

function withBytes(record: MapRecord, bytes: Uint8Array): MapRecord {
  const pieces = record.content.pieces.map((piece) => ({ ...piece, [AT_HAND]: bytes }))
  return { ...record, content: { ...record.content, pieces } }
}

function withoutBytes(piece: Piece): Piece {
  if (piece[AT_HAND] === undefined) return piece
  const { slice, from, lengthBytes, nonce } = piece
  return { slice, from, lengthBytes, ...(nonce !== undefined && { nonce }) }
}

export type SomeRecords = {
  readonly records: readonly MapRecord[]
  /** The offset of the record after them. */
  readonly next: number | undefined
}

/** Up to `countMax` records of a map, starting at `offset`. */
export function* mapRecordsFrom(
  tx: ReadTx,
  mapId: number,
  offset: number,
  countMax: number,
): Step<SomeRecords> {
  const range = { from: mapKey(mapId, offset), to: mapRange(mapId).to }
  const entries = yield* tx.scan({ ...range, countMax: countMax + 1 })
  const records = entries.map(({ value }) => decodeMapRecord(value))
  const next = records.length > countMax ? records.pop() : undefined
  return { records, next: next && (next.content.at ?? 0) }
}

/** Marks a map as unused; it is swept later, in steps. */
export function dropMap(tx: Tx, mapId: number): void {
  tx.put(deletedMapKey(mapId), encodeRecord({}))
}

/** Pieces after which a step of a sweep ends. */
const SWEEP_PIECES = 100

/** One step of the sweep of a map. Returns how many records it removed; 0 when none are left. */
export function* sweepMap(tx: Tx, mapId: number, countMax: number): Step<number> {
  const entries = yield* tx.scan({ ...mapRange(mapId), countMax })
  let recordCount = 0
  let pieceCount = 0
  for (const { key, value } of entries) {
    if (pieceCount >= SWEEP_PIECES) break
    const { content } = decodeMapRecord(value)
    yield* removeReferences(tx, content)
    tx.delete(key)
    recordCount += 1
    pieceCount += content.pieces.length
  }
  if (entries.length === 0) tx.delete(deletedMapKey(mapId))
  return recordCount
}

function* getMapRecord(tx: ReadTx, key: Key): Step<MapRecord | undefined> {
  const record = yield* tx.get(key)
  return record === undefined ? undefined : decodeMapRecord(record)
}

export function decodeMapRecord(value: StoredRecord): MapRecord {
  const record = decodeRecord<MapRecord>(value)
  if (record.inline !== true) return record
  return derived(value, 'map record', () => withBytes(record, value.bytes))
}
