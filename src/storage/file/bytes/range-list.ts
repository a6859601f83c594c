// List Ranges: the written ranges of a file, or its differences from a snapshot of the share. A file is identified by
// its id, so renames are recognized.
import type { ByteRange } from '../../../extent/content/interval-map.ts'
import type { ReadTx, Step } from '../../../kv/kv.ts'
import { StorageError } from '../../shared/error.ts'
import { checkLeaseForRead } from '../../shared/lease.ts'
import { changedRanges, type MapRanges } from '../../../extent/content/map-range.ts'
import {
  findIn,
  getNode,
  locate,
  requireNode,
  type Existing,
  type FileAddress,
  type FileNode,
} from '../tree/node.ts'
import { BLOCK_BYTES } from './range.ts'
import { blockEnd, blockStart, inBlocks } from './range-blocks.ts'
import { checkOpens } from '../open/rest-access.ts'
import { requireShareSnapshot } from '../share/share.ts'

export type RangeListQuery = {
  readonly leaseId: string | undefined
  /** The requested range; `to` may be Infinity. */
  readonly range: ByteRange
  readonly previous?: {
    readonly snapshot: number
    /** x-ms-file-support-rename: the file may have had another name in the snapshot. */
    readonly mayBeRenamed: boolean
  }
  /** Left out, all ranges are returned at once. */
  readonly page?: { readonly from: number; readonly countMax: number }
}

export function* listRanges(
  tx: ReadTx,
  address: FileAddress,
  { leaseId, range, previous, page }: RangeListQuery,
  nowMs: number,
): Step<MapRanges & { readonly node: FileNode }> {
  const file = requireNode(yield* locate(tx, address), 'file')
  const { share, node } = file
  if (address.snapshot === undefined) {
    yield* checkOpens(tx, share.id, node, 'List Ranges', range)
    checkLeaseForRead(node.lease, leaseId, nowMs, 'file')
  }
  const { from, to } = within(range, node.lengthBytes)
  const window = { from: Math.max(from, page?.from ?? 0), to }
  if (previous === undefined) {
    const maps = { now: node.map, before: undefined }
    return { node, ...(yield* changedRanges(tx, maps, window, page?.countMax)) }
  }
  const before = yield* findPrevious(tx, address, file, previous)
  // If the file was longer before, the part beyond its current end is not listed as cleared.
  const maps = { now: node.map, before: before?.map }
  return { node, ...(yield* changedBlocks(tx, maps, window, node.lengthBytes, page?.countMax)) }
}

/** More ranges than this span at least two blocks, however short they are, so every page advances by a block. */
const RANGES_OF_A_BLOCK = BLOCK_BYTES

function* changedBlocks(
  tx: ReadTx,
  maps: { readonly now: number | undefined; readonly before: number | undefined },
  window: ByteRange,
  lengthBytes: number,
  countMax: number | undefined,
): Step<MapRanges> {
  const blocks = {
    from: blockStart(window.from),
    to: Math.min(blockEnd(window.to), lengthBytes),
  }
  const rangesMax = countMax === undefined ? undefined : countMax + RANGES_OF_A_BLOCK
  const found = yield* changedRanges(tx, maps, blocks, rangesMax)
  // A block that was not read completely is left to the next page.
  const end = found.next === undefined ? Infinity : blockStart(found.next)
  const complete = found.ranges.filter(({ from }) => from < end)
  const ranges = inBlocks(complete, Math.min(end, lengthBytes)).map(({ from, to, isCleared }) => ({
    from: Math.max(from, window.from),
    to: Math.min(to, window.to),
    isCleared,
  }))
  const further = countMax === undefined ? undefined : ranges[countMax]
  if (further !== undefined) return { ranges: ranges.slice(0, countMax), next: further.from }
  return { ranges, next: found.next === undefined ? undefined : end }
}

/** A range that starts beyond the end is an error; the whole range of an empty file is not. */
function within({ from, to }: ByteRange, lengthBytes: number): ByteRange {
  if (from > 0 && from >= lengthBytes) throw new StorageError('InvalidRange')
  return { from, to: Math.min(to, lengthBytes) }
}

/** The file in the snapshot; undefined if it was created later. */
const NOT_FOUND = 'The previous snapshot was not found.'

function* findPrevious(
  tx: ReadTx,
  address: FileAddress,
  { share, node }: Existing,
  { snapshot, mayBeRenamed }: NonNullable<RangeListQuery['previous']>,
): Step<FileNode | undefined> {
  const { id: shareId, lastSnapshot } = share
  yield* requireShareSnapshot(tx, shareId, snapshot)
  if (address.snapshot !== undefined && snapshot > address.snapshot) {
    throw new StorageError('PreviousSnapshotCannotBeNewer')
  }
  const view = { shareId, lastSnapshot, snapshot }
  const there = yield* findIn(tx, share, view, address.path)
  const before = yield* getNode(tx, view, node.nodeId)
  const isRenamed = there?.node?.nodeId !== before?.nodeId
  if (isRenamed && before === undefined) throw new StorageError('FileGenerationMismatch')
  // Recorded: the service looks for the file's name in the snapshot.
  if (isRenamed && !mayBeRenamed) throw new StorageError('PreviousSnapshotNotFound', {}, NOT_FOUND)
  if (before !== undefined && before.origin !== node.origin) {
    throw new StorageError('FileGenerationMismatch')
  }
  return before
}
