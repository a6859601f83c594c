// Where a blob's bytes are: behind its record (small ones), in the record as pieces (a few), or in a map,
// which is records of their own by offset. A page or an appended block is one record of a map, so that
// writing it costs the same in a blob of any size; of a long block list a record holds many blocks.
import assert from 'node:assert/strict'
import { overwriteOverlapping, clearOverlapping, readIntervals } from '../../extent/interval-map.ts'
import type { ByteRange, Interval, IntervalEdit } from '../../extent/interval-map.ts'
import { addReferences, removeReferences, replaceReferences } from '../../extent/reference.ts'
import { subRangeOfPieces } from '../../extent/slice-list.ts'
import type { Content, Hole, Piece } from '../../extent/slice.ts'
import type { Key, ReadTx, Step, Tx, Value } from '../../kv/kv.ts'
import { decodeRecord, encodeRecord } from '../../kv/record.ts'
import { scanAll } from '../../kv/scan.ts'
import { deletedMapKey, mapKey, mapRange } from './keys.ts'

/** A committed block: its id in base64 and its length. */
export type Block = readonly [id: string, lengthBytes: number]

export type BlobContent = {
  readonly lengthBytes: number
  /** The bytes stand behind the record … */
  readonly inline?: true
  /** … or in extents, end to end … */
  readonly content?: Content
  /** … or are found by this id in a map. */
  readonly map?: number
  /** The block list, beside `content`; that of a map stands in its records. */
  readonly blocks?: readonly Block[]
}

export type MapRecord = { readonly content: Content; readonly blocks?: readonly Block[] }

/** What Get Blob sends: bytes at hand, or pieces to be read. */
export type BlobBytes =
  { readonly bytes: Uint8Array } | { readonly pieces: readonly (Piece | Hole)[] }

/** Records of a map that one scan takes. */
const SCAN_COUNT = 1_000
/** Blocks in one record of a map. */
const MAP_BLOCKS = 256
/** With more blocks than this, a block list is a map. */
export const RECORD_BLOCKS_MAX = 64

export function* readContent(
  tx: ReadTx,
  stored: { readonly blob: BlobContent; readonly bytes: Uint8Array },
  range: ByteRange,
): Step<BlobBytes> {
  const { blob, bytes } = stored
  if (blob.map !== undefined) {
    return { pieces: readIntervals(yield* mapIntervals(tx, blob.map, range), range) }
  }
  if (blob.content === undefined) return { bytes: bytes.subarray(range.from, range.to) }
  return { pieces: subRangeOfPieces(blob.content.pieces, range.from, range.to) }
}

/** The intervals of a map that have a byte in `range`, in order. */
export function* mapIntervals(tx: ReadTx, mapId: number, range: ByteRange): Step<Interval[]> {
  const intervals: Interval[] = []
  for (const { record } of yield* mapRecords(tx, mapId, range)) {
    let offset = record.content.at ?? 0
    for (const piece of record.content.pieces) {
      const end = offset + piece.lengthBytes
      if (end > range.from && offset < range.to) intervals.push({ offset, piece })
      offset = end
    }
  }
  return intervals
}

type MapEntry = { readonly key: Key; readonly record: MapRecord }

/** The records that may have a byte in `range`: the one that begins before it is one of them. */
function* mapRecords(tx: ReadTx, mapId: number, range: ByteRange): Step<MapEntry[]> {
  const before = {
    from: mapKey(mapId, 0),
    to: mapKey(mapId, range.from),
    countMax: 1,
    reverse: true,
  }
  const to = range.to === Infinity ? mapRange(mapId).to : mapKey(mapId, range.to)
  const within = { from: mapKey(mapId, range.from), to }
  const entries = [...(yield* tx.scan(before)), ...(yield* scanAll(tx, within, SCAN_COUNT))]
  return entries.map(({ key, value }) => ({ key, record: decodeMapRecord(value) }))
}

/** Shows `piece` at `offset` of a map of single pieces (page and append blobs). */
export function* overwriteMap(tx: Tx, mapId: number, offset: number, piece: Piece): Step<void> {
  const range = { from: offset, to: offset + piece.lengthBytes }
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
  yield* addReferences(tx, key, content)
  tx.put(key, encodeRecord(blocks === undefined ? { content } : { content, blocks }))
}

/** Blocks with their pieces, as a blob that was committed shows them. */
export type BlockPieces = {
  readonly id: string
  readonly pieces: readonly Piece[]
  readonly lengthBytes: number
}

/**
 * Stores a block list under a new id: in the record if it is short, else as a map. A short one may take over
 * the content of the record that it replaces.
 */
export function* putBlocks(
  tx: Tx,
  key: Key,
  id: number,
  blocks: readonly BlockPieces[],
  reused?: Content,
): Step<BlobContent> {
  const lengthBytes = blocks.reduce((sum, block) => sum + block.lengthBytes, 0)
  if (blocks.length <= RECORD_BLOCKS_MAX) {
    const pieces = blocks.flatMap((block) => block.pieces)
    const content = { id: reused?.id ?? id, pieces }
    if (reused === undefined) yield* addReferences(tx, key, content)
    else yield* replaceReferences(tx, key, reused, content)
    return { lengthBytes, content, blocks: blocks.map(blockOf) }
  }
  let offset = 0
  for (let at = 0; at < blocks.length; at += MAP_BLOCKS) {
    const some = blocks.slice(at, at + MAP_BLOCKS)
    const pieces = some.flatMap((block) => block.pieces)
    yield* putMapRecord(tx, id, offset, pieces, some.map(blockOf))
    offset += some.reduce((sum, block) => sum + block.lengthBytes, 0)
  }
  return { lengthBytes, map: id }
}

function blockOf({ id, lengthBytes }: BlockPieces): Block {
  return [id, lengthBytes]
}

/** The committed blocks of a block blob, with their pieces; none if it was put whole. */
export function* committedBlocks(tx: ReadTx, blob: BlobContent): Step<BlockPieces[]> {
  if (blob.map === undefined) return cutBlocks(blob.content?.pieces ?? [], blob.blocks ?? [])
  const records = yield* mapRecords(tx, blob.map, { from: 0, to: Infinity })
  return records.flatMap(({ record }) => cutBlocks(record.content.pieces, record.blocks ?? []))
}

function cutBlocks(pieces: readonly Piece[], blocks: readonly Block[]): BlockPieces[] {
  const cut: BlockPieces[] = []
  let at = 0
  for (const [id, lengthBytes] of blocks) {
    let end = at
    let sum = 0
    // A block is whole pieces: it was never written otherwise.
    while (sum < lengthBytes) sum += pieces[end++]?.lengthBytes ?? Infinity
    assert.equal(sum, lengthBytes, 'a block is made of whole pieces')
    cut.push({ id, pieces: pieces.slice(at, end), lengthBytes })
    at = end
  }
  return cut
}

/** The same bytes for the record under `toKey`, which shares nothing that can change with the first. */
export function* copyContent(
  tx: Tx,
  { lengthBytes, inline, content, map, blocks }: BlobContent,
  toKey: Key,
  newId: number,
): Step<BlobContent> {
  if (inline !== undefined) return { lengthBytes, inline }
  const list = blocks === undefined ? {} : { blocks }
  if (map === undefined) {
    if (content === undefined) return { lengthBytes }
    const copy = { id: newId, pieces: content.pieces }
    yield* addReferences(tx, toKey, copy)
    return { lengthBytes, content: copy, ...list }
  }
  for (const { record } of yield* mapRecords(tx, map, { from: 0, to: Infinity })) {
    const { at = 0, pieces } = record.content
    yield* putMapRecord(tx, newId, at, pieces, record.blocks)
  }
  return { lengthBytes, map: newId }
}

/** The record moves to another key with its bytes; the records of a map stay where they are. */
export function* moveContent(tx: Tx, { content }: BlobContent, toKey: Key): Step<void> {
  if (content !== undefined) yield* addReferences(tx, toKey, content)
}

/** No record shows these bytes any more. A map is swept later, in steps. */
export function* dropContent(tx: Tx, { content, map }: BlobContent): Step<void> {
  if (content !== undefined) yield* removeReferences(tx, content)
  if (map !== undefined) tx.put(deletedMapKey(map), encodeRecord({}))
}

/** One step of the sweep of a map: how many records it removed; 0 when it is gone. */
export function* sweepMap(tx: Tx, mapId: number, countMax: number): Step<number> {
  const entries = yield* tx.scan({ ...mapRange(mapId), countMax })
  for (const { key, value } of entries) {
    yield* removeReferences(tx, decodeMapRecord(value).content)
    tx.delete(key)
  }
  if (entries.length === 0) tx.delete(deletedMapKey(mapId))
  return entries.length
}

function decodeMapRecord(value: Value): MapRecord {
  return decodeRecord<MapRecord>(value)
}
