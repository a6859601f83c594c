// Where a blob's bytes are: small ones behind its record, a few pieces in the record, everything else in a map,
// which has its own records by offset. A page or an appended block is one map record, so that writing it costs
// the same in a blob of any size. A map record of a long block list holds many blocks.
import assert from 'node:assert/strict'
import type { ByteRange } from '../../../extent/content/interval-map.ts'
import {
  addReferences,
  removeReferences,
  replaceReferences,
} from '../../../extent/content/reference.ts'
import { subRangeOfPieces } from '../../../extent/content/slice-list.ts'
import type { Content, Hole, Piece } from '../../../extent/content/slice.ts'
import type { Key, ReadTx, Step, Tx } from '../../../kv/kv.ts'
import { giveWay } from '../../../kv/step.ts'
import { copyMap } from '../../../extent/content/map-copy.ts'
import {
  dropMap,
  mapRecords,
  putMapRecord,
  readMap,
  type Block,
} from '../../../extent/content/map.ts'

export type BlobContent = {
  readonly lengthBytes: number
  /** The bytes are behind the record … */
  readonly inline?: true
  /** … or in extents, end to end … */
  readonly content?: Content
  /** … or in the map with this id. */
  readonly map?: number
  /** The block list of `content`. That of a map is in its records. */
  readonly blocks?: readonly Block[]
}

/** What Get Blob sends: bytes in memory, or pieces to read. */
export type BlobBytes =
  { readonly bytes: Uint8Array } | { readonly pieces: readonly (Piece | Hole)[] }

/** Blocks in one map record. */
export const MAP_BLOCKS = 256
/** A longer block list becomes a map. */
export const RECORD_BLOCKS_MAX = 64

export function* readContent(
  tx: ReadTx,
  stored: { readonly blob: BlobContent; readonly bytes: Uint8Array },
  range: ByteRange,
): Step<BlobBytes> {
  const { blob, bytes } = stored
  if (blob.map !== undefined) {
    return { pieces: yield* readMap(tx, blob.map, range) }
  }
  if (blob.content === undefined) return { bytes: bytes.subarray(range.from, range.to) }
  return { pieces: subRangeOfPieces(blob.content.pieces, range.from, range.to) }
}

/** A committed block with its pieces. */
export type BlockPieces = {
  readonly id: string
  readonly pieces: readonly Piece[]
  readonly lengthBytes: number
}

/**
 * Stores a block list under a new id: in the record if it is short, else as a map. A short list may reuse the
 * content of the record that it replaces.
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
  yield* putBlockRecords(tx, id, 0, blocks)
  return { lengthBytes, map: id }
}

/** Puts blocks into a map, starting at `from`. Returns the offset where they end. */
export function* putBlockRecords(
  tx: Tx,
  mapId: number,
  from: number,
  blocks: readonly BlockPieces[],
): Step<number> {
  let offset = from
  for (let at = 0; at < blocks.length; at += MAP_BLOCKS) {
    const chunk = blocks.slice(at, at + MAP_BLOCKS)
    const pieces = chunk.flatMap((block) => block.pieces)
    yield* putMapRecord(tx, mapId, offset, pieces, chunk.map(blockOf))
    offset += chunk.reduce((sum, block) => sum + block.lengthBytes, 0)
  }
  return offset
}

function blockOf({ id, lengthBytes }: BlockPieces): Block {
  return [id, lengthBytes]
}

/** The committed blocks of a block blob. There are none after Put Blob. */
export function* committedBlocks(tx: ReadTx, blob: BlobContent): Step<BlockPieces[]> {
  if (blob.map === undefined) return cutBlocks(blob.content?.pieces ?? [], blob.blocks ?? [])
  const blocks: BlockPieces[] = []
  for (const { record } of yield* mapRecords(tx, blob.map, { from: 0, to: Infinity })) {
    for (const block of cutBlocks(record.content.pieces, record.blocks ?? [])) blocks.push(block)
    yield* giveWay()
  }
  return blocks
}

function cutBlocks(pieces: readonly Piece[], blocks: readonly Block[]): BlockPieces[] {
  const cut: BlockPieces[] = []
  let at = 0
  for (const [id, lengthBytes] of blocks) {
    let end = at
    let sum = 0
    // A block always consists of whole pieces.
    while (sum < lengthBytes) sum += pieces[end++]?.lengthBytes ?? Infinity
    assert.equal(sum, lengthBytes, 'a block is made of whole pieces')
    cut.push({ id, pieces: pieces.slice(at, end), lengthBytes })
    at = end
  }
  return cut
}

/** A copy of the content for the record under `toKey`. The two share only slices, which never change. */
export function* copyContent(
  tx: Tx,
  { lengthBytes, inline, content, map, blocks, stamp }: BlobContent & { readonly stamp: number },
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
  yield* copyMap(tx, { of: map, to: newId, stamp })
  return { lengthBytes, map: newId }
}

/** For a record that moves to another key. The records of a map stay where they are. */
export function* moveContent(tx: Tx, { content }: BlobContent, toKey: Key): Step<void> {
  if (content !== undefined) yield* addReferences(tx, toKey, content)
}

/** Releases bytes that no record uses any more. The sweep removes a map later, in steps. */
export function* dropContent(tx: Tx, { content, map }: BlobContent): Step<void> {
  if (content !== undefined) yield* removeReferences(tx, content)
  if (map !== undefined) dropMap(tx, map)
}
