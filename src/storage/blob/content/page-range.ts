// Get Page Ranges: where a page blob was written, and what differs between it and a snapshot of it. Both are
// one question, since a blob differs from an empty one where it was written (map-range.ts).
import type { ByteRange } from '../../../extent/content/interval-map.ts'
import type { ReadTx, Step } from '../../../kv/kv.ts'
import { StorageError } from '../../shared/error.ts'
import { changedRanges, type MapRange } from '../../../extent/content/map-range.ts'
import { findBlobAt, isPast, readBlob, type BlobAddress } from '../blob.ts'
import type { Blob } from '../record.ts'
import { checkNotIncremental, requireType, type BlobGuard } from '../guard.ts'

export const PAGE_BYTES = 512

export type PageRange = MapRange

export type PageRangeQuery = {
  /** What the client asks about; `to` may be Infinity. */
  readonly range: ByteRange
  /** The snapshot to compare with; 'none of ours' is well-formed and names nothing. */
  readonly previous?: { readonly snapshot: number } | 'none of ours'
  /** Left out, all is answered at once. */
  readonly page?: { readonly from: number; readonly countMax: number }
}

export type PageRanges = {
  readonly blob: Blob
  readonly ranges: readonly PageRange[]
  /** Where the next page of the answer begins. */
  readonly next: number | undefined
}

export function* getPageRanges(
  tx: ReadTx,
  address: BlobAddress,
  guard: BlobGuard,
  query: PageRangeQuery,
  nowMs: number,
): Step<PageRanges> {
  const { stored } = yield* readBlob(tx, address, guard, nowMs)
  const { blob } = stored
  requireType(blob, 'PageBlob')
  if (!isPast(blob)) checkNotIncremental(blob)
  const previous =
    query.previous === undefined
      ? undefined
      : yield* findPrevious(tx, address, blob, query.previous, nowMs)
  const asked = pagesOf(query.range, blob.lengthBytes)
  const window = { from: Math.max(asked.from, query.page?.from ?? 0), to: asked.to }
  // What was written and cleared since is in neither map.
  const since = previous?.stamp ?? Infinity
  const cleared = (blob.cleared ?? []).filter(({ stamp }) => stamp > since)
  const maps = { now: blob.map, before: previous?.map, cleared }
  return { blob, ...(yield* changedRanges(tx, maps, window, query.page?.countMax)) }
}

/** The pages that the range touches. A range behind the end is an error, the whole of an empty blob is not. */
function pagesOf({ from, to }: ByteRange, lengthBytes: number): ByteRange {
  if (from > 0 && from >= lengthBytes) throw new StorageError('InvalidPageRange')
  const end = Math.min(to, lengthBytes)
  return {
    from: Math.floor(from / PAGE_BYTES) * PAGE_BYTES,
    to: Math.ceil(end / PAGE_BYTES) * PAGE_BYTES,
  }
}

/** The snapshot to compare with: an older one of the same blob, which was not made anew since. */
function* findPrevious(
  tx: ReadTx,
  address: BlobAddress,
  blob: Blob,
  asked: NonNullable<PageRangeQuery['previous']>,
  nowMs: number,
): Step<Blob> {
  if (asked === 'none of ours') throw new StorageError('PreviousSnapshotNotFound')
  const { at, ...current } = address
  if (at !== undefined && 'snapshot' in at && asked.snapshot > at.snapshot) {
    throw new StorageError('PreviousSnapshotCannotBeNewer')
  }
  const { stored } = yield* findBlobAt(tx, { ...current, at: asked }, nowMs)
  if (stored === undefined) throw new StorageError('PreviousSnapshotNotFound')
  if (stored.blob.type !== 'PageBlob') {
    throw new StorageError('PreviousSnapshotOperationNotSupported')
  }
  if (stored.blob.origin !== blob.origin) throw new StorageError('BlobOverwritten')
  return stored.blob
}
