// Writes, clears and reads ranges of a file through its map (extent/content/map.ts), for REST and SMB alike. It only
// asserts that ranges are valid; put-range.ts and the SMB operations check what is allowed.
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

/** Clearing a range frees whole blocks of this size and writes zeros to the rest (Put Range). */
export const BLOCK_BYTES = 512

/** The largest file, 4 TiB ("Azure Files scalability and performance targets"). */
export const FILE_BYTES_MAX = 4 * 2 ** 40

export type RangeChange = {
  readonly moment: Moment
  /** The id of the new map, if the file needs one. */
  readonly newId: number
  readonly lastWrite: 'now' | 'preserve'
  /** For the change time; left out, it is set to now. */
  readonly change?: 'now' | 'preserve'
}

/** Writes `pieces` at `offset`; holes clear their range. Only with `grow` may they extend the file. */
export function* writeRange(
  tx: FileTx,
  file: Existing,
  { offset, pieces }: { readonly offset: number; readonly pieces: readonly (Piece | Hole)[] },
  change: RangeChange & { readonly grow: boolean },
): Step<FileNode> {
  const { share, view, node } = file
  const end = pieces.reduce((at, { lengthBytes }) => at + lengthBytes, offset)
  const lengthBytes = Math.max(node.lengthBytes, end)
  assert(change.grow || lengthBytes === node.lengthBytes, 'a range must end inside its file')
  yield* changeUsage(tx, share, lengthBytes - node.lengthBytes)
  const target = yield* writableMap(tx, view, node, change.newId)
  let at = offset
  for (const piece of pieces) {
    if (piece.slice !== undefined) yield* overwriteMap(tx, target.map, at, piece)
    else yield* clearMap(tx, target.map, { from: at, to: at + piece.lengthBytes })
    at += piece.lengthBytes
  }
  return saveWritten(tx, file, { ...target, lengthBytes }, change)
}

/** Fills the range with zeros: whole blocks are freed, partial ones are written. */
export function* clearRange(
  tx: FileTx,
  file: Existing,
  range: ByteRange,
  change: RangeChange & { /** For the zeros. */ readonly zerosId: number },
): Step<FileNode> {
  const { view, node } = file
  assert(range.to <= node.lengthBytes, 'a range must end inside its file')
  const { freed, zeroed } = clearedParts(range)
  const target = freed
    ? yield* clearedMap(tx, view, node, freed, change.newId)
    : yield* writableMap(tx, view, node, change.newId)
  const zerosBytes = Math.max(0, ...zeroed.map(({ from, to }) => to - from))
  if (zerosBytes > 0) {
    const zeros = new Uint8Array(zerosBytes)
    const piece = smallPiece(change.zerosId, zeros)
    for (const { from, to } of zeroed) {
      yield* overwriteMap(tx, target.map, from, { ...piece, lengthBytes: to - from })
    }
  }
  return saveWritten(tx, file, { ...target, lengthBytes: node.lengthBytes }, change)
}

/** Zeros are written to less than a block at each end, or to the whole range if it contains no whole block. */
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
  // Explicit fields instead of spreads: this is on the path of every write.
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
