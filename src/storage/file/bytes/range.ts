// The bytes of a file as ranges: written, cleared and read through its map (extent/content/map.ts), for REST and SMB
// alike. Nothing is checked here but that it is possible; who may do it is put-range.ts and the SMB server.
import assert from 'node:assert/strict'
import { readIntervals, type ByteRange } from '../../../extent/content/interval-map.ts'
import { smallPiece } from '../../../extent/content/small.ts'
import type { Hole, Piece } from '../../../extent/content/slice.ts'
import type { ReadTx, Step } from '../../../kv/kv.ts'
import { clearMap, overwriteMap, readMap } from '../../../extent/content/map.ts'
import type { Moment } from '../../../node/moment.ts'
import { ARCHIVE } from '../tree/attributes.ts'
import { announceChange, NOTIFY } from '../tree/change-event.ts'
import { movedFileTime } from '../tree/file-time.ts'
import {
  clearedMap,
  saveNode,
  touched,
  writableMap,
  type Existing,
  type FileNode,
} from '../tree/node.ts'
import type { FileTx } from '../open/open.ts'
import { changeUsage } from '../share/share.ts'

/** What is freed is whole blocks of this; the rest of a cleared range is written with zeros (Put Range). */
export const BLOCK_BYTES = 512

/** The largest file, 4 TiB ("Azure Files scalability and performance targets"). */
export const FILE_BYTES_MAX = 4 * 2 ** 40

export type RangeChange = {
  readonly moment: Moment
  /** For a map, if the file gets a new one. */
  readonly newId: number
  readonly lastWrite: 'now' | 'preserve'
  /** Of the change time; left out, it is moved. */
  readonly change?: 'now' | 'preserve'
}

/** Shows `pieces` from `offset` on, and nothing where they are holes. Behind the end only where it may `grow`. */
export function* writeRange(
  tx: FileTx,
  file: Existing,
  { offset, pieces }: { readonly offset: number; readonly pieces: readonly (Piece | Hole)[] },
  change: RangeChange & { readonly grow: boolean },
): Step<FileNode> {
  const { share, view, node } = file
  const end = pieces.reduce((at, { lengthBytes }) => at + lengthBytes, offset)
  const lengthBytes = Math.max(node.lengthBytes, end)
  assert(change.grow || lengthBytes === node.lengthBytes, 'a range ends inside of its file')
  yield* changeUsage(tx, share, lengthBytes - node.lengthBytes)
  const place = yield* writableMap(tx, view, node, change.newId)
  let at = offset
  for (const piece of pieces) {
    if (piece.slice !== undefined) yield* overwriteMap(tx, place.map, at, piece)
    else yield* clearMap(tx, place.map, { from: at, to: at + piece.lengthBytes })
    at += piece.lengthBytes
  }
  return saveWritten(tx, file, { ...place, lengthBytes }, change)
}

/** Leaves zeros in the range: blocks that lie in it whole are freed, the others are written. */
export function* clearRange(
  tx: FileTx,
  file: Existing,
  range: ByteRange,
  change: RangeChange & { /** For the zeros. */ readonly zerosId: number },
): Step<FileNode> {
  const { view, node } = file
  assert(range.to <= node.lengthBytes, 'a range ends inside of its file')
  const { freed, zeroed } = clearedParts(range)
  const place = freed
    ? yield* clearedMap(tx, view, node, freed, change.newId)
    : yield* writableMap(tx, view, node, change.newId)
  const zerosBytes = Math.max(0, ...zeroed.map(({ from, to }) => to - from))
  if (zerosBytes > 0) {
    const zeros = new Uint8Array(zerosBytes)
    const piece = smallPiece(change.zerosId, zeros)
    for (const { from, to } of zeroed) {
      yield* overwriteMap(tx, place.map, from, { ...piece, lengthBytes: to - from })
    }
  }
  return saveWritten(tx, file, { ...place, lengthBytes: node.lengthBytes }, change)
}

/** At most a block at each end is zeroed; a range without a whole block is zeroed altogether. */
export function clearedParts({ from, to }: ByteRange): {
  readonly freed: ByteRange | undefined
  readonly zeroed: readonly ByteRange[]
} {
  const freed = {
    from: Math.ceil(from / BLOCK_BYTES) * BLOCK_BYTES,
    to: Math.floor(to / BLOCK_BYTES) * BLOCK_BYTES,
  }
  if (freed.from >= freed.to) return { freed: undefined, zeroed: [{ from, to }] }
  const edges = [
    { from, to: freed.from },
    { from: freed.to, to },
  ]
  return { freed, zeroed: edges.filter((edge) => edge.from < edge.to) }
}

function saveWritten(
  tx: FileTx,
  file: Existing,
  content: Required<Pick<FileNode, 'lengthBytes' | 'map' | 'mapSince'>>,
  { moment, lastWrite, change }: RangeChange,
): FileNode {
  const { view, node } = file
  const { stamp, modifiedMs, changeTime } = touched(node, moment)
  const { lastWriteTime } = node
  // Names instead of spreads: every write of every client passes here.
  const after = saveNode(tx, view, node, {
    ...node,
    stamp,
    modifiedMs,
    changeTime: change === 'preserve' ? node.changeTime : changeTime,
    lastWriteTime: lastWrite === 'now' ? movedFileTime(lastWriteTime, moment.nowMs) : lastWriteTime,
    attributes: node.attributes | ARCHIVE,
    lengthBytes: content.lengthBytes,
    map: content.map,
    mapSince: content.mapSince,
  })
  const filter =
    NOTIFY.lastWrite |
    (after.lengthBytes === node.lengthBytes ? 0 : NOTIFY.size) |
    (after.attributes === node.attributes ? 0 : NOTIFY.attributes)
  announceChange(tx, file, after, 'modified', filter)
  return after
}

/** The bytes of the range, in order and without gaps, for ExtentStore.read. */
export function* readRange(
  tx: ReadTx,
  { map }: Pick<FileNode, 'map'>,
  range: ByteRange,
): Step<(Piece | Hole)[]> {
  return map === undefined ? readIntervals([], range) : yield* readMap(tx, map, range)
}
