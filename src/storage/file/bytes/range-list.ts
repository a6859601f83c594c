// List Ranges: where a file was written, or what differs between it and a snapshot of the share. A file is
// followed by its id, so a rename is known for what it is.
import type { ByteRange } from '../../../extent/content/interval-map.ts'
import type { ReadTx, Step } from '../../../kv/kv.ts'
import { StorageError } from '../../shared/error.ts'
import { checkLeaseForRead } from '../../shared/lease.ts'
import { changedRanges, type MapRanges } from '../../../extent/content/map-range.ts'
import {
  getNode,
  locate,
  locateIn,
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
  /** What the client asks about; `to` may be Infinity. */
  readonly range: ByteRange
  readonly previous?: {
    readonly snapshot: number
    /** x-ms-file-support-rename: it may have had another name then. */
    readonly mayBeRenamed: boolean
  }
  /** Left out, all is answered at once. */
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
  // Of a file that was longer then, what is behind its end now is gone and not cleared.
  const maps = { now: node.map, before: before?.map }
  return { node, ...(yield* changedBlocks(tx, maps, window, node.lengthBytes, page?.countMax)) }
}

/** So many ranges are in two blocks at least, however short they are: every page gets a block further. */
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
  // A block that is not seen whole is for the next page.
  const end = found.next === undefined ? Infinity : blockStart(found.next)
  const seen = found.ranges.filter(({ from }) => from < end)
  const ranges = inBlocks(seen, Math.min(end, lengthBytes)).map(({ from, to, isCleared }) => ({
    from: Math.max(from, window.from),
    to: Math.min(to, window.to),
    isCleared,
  }))
  const further = countMax === undefined ? undefined : ranges[countMax]
  if (further !== undefined) return { ranges: ranges.slice(0, countMax), next: further.from }
  return { ranges, next: found.next === undefined ? undefined : end }
}

/** A range behind the end is an error; the whole of an empty file is not. */
function within({ from, to }: ByteRange, lengthBytes: number): ByteRange {
  if (from > 0 && from >= lengthBytes) throw new StorageError('InvalidRange')
  return { from, to: Math.min(to, lengthBytes) }
}

/** The file as the snapshot shows it; undefined if it came later. */
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
  const there = yield* nodeAt(tx, share, view, address.path)
  const before = yield* getNode(tx, view, node.nodeId)
  const isRenamed = there?.nodeId !== before?.nodeId
  if (isRenamed && !(mayBeRenamed && before !== undefined)) {
    throw new StorageError('FileGenerationMismatch')
  }
  if (before !== undefined && before.origin !== node.origin) {
    throw new StorageError('FileGenerationMismatch')
  }
  return before
}

function* nodeAt(
  tx: ReadTx,
  share: Existing['share'],
  view: Existing['view'],
  path: readonly string[],
): Step<FileNode | undefined> {
  try {
    return (yield* locateIn(tx, share, view, path)).node
  } catch (error) {
    if (error instanceof StorageError && error.code === 'ParentNotFound') return undefined
    throw error
  }
}
