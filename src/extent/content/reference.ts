// The reference index: which content uses which slice, sorted by place. The sweep, compaction and fsck read it instead
// of all records. It changes in the same transaction as the owner.
import assert from 'node:assert/strict'
import type { Entry, Key, Step, Tx } from '../../kv/kv.ts'
import { decodeRecord, encodeRecord, recordBytes } from '../../kv/record.ts'
import { ExtentRetired } from '../error.ts'
import { dirtyKey, keyNumbers, referenceKey, requireExtent } from '../keys.ts'
import { hasSmallSlice, putSmallSlice, smallDroppedKey } from './small.ts'
import {
  AT_HAND,
  isAtHand,
  SMALL_EXTENT,
  type Content,
  type ContentId,
  type Piece,
  type Slice,
} from './slice.ts'

export type Reference = {
  readonly slice: Slice
  readonly content: ContentId
  readonly ownerKey: Key
}

/**
 * The record under `ownerKey` now has `content`. Adding the same content under another key (a blob that becomes a
 * version of itself) moves it.
 */
export function* addReferences(tx: Tx, ownerKey: Key, content: Content): Step<void> {
  const slices = slicesOf(content.pieces)
  storeAtHand(tx, content.pieces)
  yield* requireExtents(tx, slices)
  for (const slice of slices) putReference(tx, { slice, content, ownerKey })
}

/** No record has `content` any more. */
export function* removeReferences(tx: Tx, content: Content): Step<void> {
  dropReferences(tx, content, referencedSlices(content))
}

/** The owner's content changed and keeps its id: touches only slices that were added or removed. */
export function* replaceReferences(
  tx: Tx,
  ownerKey: Key,
  before: Content,
  after: Content,
): Step<void> {
  assert(isSameContent(before, after))
  const old = referencedSlices(before)
  const now = slicesOf(after.pieces)
  const oldPlaces = new Set(old.map(placeOf))
  const nowPlaces = new Set(now.map(placeOf))
  const added = now.filter((slice) => !oldPlaces.has(placeOf(slice)))
  storeAtHand(tx, after.pieces)
  yield* requireExtents(tx, added)
  for (const slice of added) putReference(tx, { slice, content: after, ownerKey })
  const removed = old.filter((slice) => !nowPlaces.has(placeOf(slice)))
  dropReferences(tx, before, removed)
}

export function putReference(tx: Tx, { slice, content, ownerKey }: Reference): void {
  const { extent, offset, lengthBytes, crc32 } = slice
  const value = encodeRecord({ lengthBytes, crc32 }, ownerKey)
  tx.put(referenceKey(extent, offset, content), value)
}

export function decodeReference({ key, value }: Entry): Reference {
  const [extent = 0, offset = 0, id = 0, at = 0] = keyNumbers(key)
  const { lengthBytes, crc32 } = decodeRecord<{ lengthBytes: number; crc32: number }>(value)
  const ownerKey = Uint8Array.from(recordBytes(value))
  return { slice: { extent, offset, lengthBytes, crc32 }, content: { id, at }, ownerKey }
}

/** Tells the next sweep to check the extent. Replaces a marker that a running sweep has claimed. */
export function markDirty(tx: Tx, extent: number): void {
  tx.put(dirtyKey(extent), encodeRecord({}))
}

/** Checks that the extents of these slices are usable, and that the bytes of small slices exist. */
export function* requireExtents(tx: Tx, slices: readonly Slice[]): Step<void> {
  // Reads all before it fails for one: then one round trip to the store is enough.
  let missing: number | undefined
  for (const { extent, offset } of slices) {
    if (extent === SMALL_EXTENT && !(yield* hasSmallSlice(tx, offset))) missing ??= offset
  }
  for (const extent of extentsOf(slices)) yield* requireExtent(tx, extent)
  if (missing !== undefined) throw new ExtentRetired(`small slice ${missing}`)
}

/** Each slice once, however many pieces use parts of it. */
function slicesOf(pieces: readonly Piece[]): Slice[] {
  const [first] = pieces
  if (first === undefined) return []
  if (pieces.length === 1) return [first.slice]
  const slices = new Map(pieces.map(({ slice }) => [placeOf(slice), slice]))
  return [...slices.values()]
}

/** The slices that are not stored inside the record itself. */
export function referencedSlices({ pieces }: Content): Slice[] {
  return slicesOf(pieces.filter((piece) => !isAtHand(piece)))
}

function storeAtHand(tx: Tx, pieces: readonly Piece[]): void {
  for (const { slice, [AT_HAND]: bytes } of pieces) {
    if (bytes !== undefined) putSmallSlice(tx, slice.offset, bytes)
  }
}

function dropReferences(tx: Tx, content: ContentId, slices: readonly Slice[]): void {
  for (const { extent, offset } of slices) tx.delete(referenceKey(extent, offset, content))
  for (const { extent, offset } of slices) {
    if (extent === SMALL_EXTENT) tx.put(smallDroppedKey(offset), encodeRecord({}))
  }
  for (const extent of extentsOf(slices)) markDirty(tx, extent)
}

/** The extents that have a file. */
function extentsOf(slices: readonly Slice[]): ReadonlySet<number> {
  const extents = new Set(slices.map((slice) => slice.extent))
  extents.delete(SMALL_EXTENT)
  return extents
}

export function isSameContent(a: ContentId, b: ContentId): boolean {
  return a.id === b.id && (a.at ?? 0) === (b.at ?? 0)
}

function placeOf(slice: Slice): string {
  return `${slice.extent}:${slice.offset}`
}
