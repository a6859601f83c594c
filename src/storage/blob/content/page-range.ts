// Get Page Ranges: the written pages of a page blob, or the pages that differ from those of a snapshot. Both
// are the same query: the written pages are those that differ from an empty blob (map-range.ts).
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
  /** `to` may be Infinity. */
  readonly range: ByteRange
  /** The snapshot to compare with; 'unknown' if the id is well-formed but none of ours. */
  readonly previous?: { readonly snapshot: number } | 'unknown'
  /** Without it, the answer has all ranges. */
  readonly page?: { readonly from: number; readonly countMax: number }
}

type PageRanges = {
  readonly blob: Blob
  readonly ranges: readonly PageRange[]
  /** The offset where the next page of the answer starts. */
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
  const pages = pagesOf(query.range, blob.lengthBytes)
  const window = { from: Math.max(pages.from, query.page?.from ?? 0), to: pages.to }
  // Pages that were written and cleared since the snapshot are in neither map.
  const since = previous?.stamp ?? Infinity
  const cleared = (blob.cleared ?? []).filter(({ stamp }) => stamp > since)
  const maps = { now: blob.map, before: previous?.map, cleared }
  return { blob, ...(yield* changedRanges(tx, maps, window, query.page?.countMax)) }
}

/** The pages that the range touches. A range past the end is an error, but the whole of an empty blob is not. */
function pagesOf({ from, to }: ByteRange, lengthBytes: number): ByteRange {
  if (from > 0 && from >= lengthBytes) throw new StorageError('InvalidPageRange')
  const end = Math.min(to, lengthBytes)
  return {
    from: Math.floor(from / PAGE_BYTES) * PAGE_BYTES,
    to: Math.ceil(end / PAGE_BYTES) * PAGE_BYTES,
  }
}

/** The snapshot to compare with: an older one of the same blob, which must not have been overwritten since. */
function* findPrevious(
  tx: ReadTx,
  address: BlobAddress,
  blob: Blob,
  previous: NonNullable<PageRangeQuery['previous']>,
  nowMs: number,
): Step<Blob> {
  if (previous === 'unknown') throw new StorageError('PreviousSnapshotNotFound')
  const { at, ...current } = address
  if (at !== undefined && 'snapshot' in at && previous.snapshot > at.snapshot) {
    throw new StorageError('PreviousSnapshotCannotBeNewer')
  }
  const { stored } = yield* findBlobAt(tx, { ...current, at: previous }, nowMs)
  if (stored === undefined) throw new StorageError('PreviousSnapshotNotFound')
  if (stored.blob.type !== 'PageBlob') {
    throw new StorageError('PreviousSnapshotOperationNotSupported')
  }
  if (stored.blob.origin !== blob.origin) throw new StorageError('BlobOverwritten')
  return stored.blob
}
