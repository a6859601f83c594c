// The state of a copy: as its destination shows it to clients, and as the job that copies from another server
// needs it.

export type CopyState = {
  readonly id: string
  /** The URL from the client, without the signature of a SAS. Older records may still contain it. */
  readonly source: string
  readonly status: 'pending' | 'success' | 'aborted' | 'failed'
  readonly copiedBytes: number
  readonly totalBytes: number
  readonly completedMs?: number
  readonly description?: string
  readonly isIncremental?: true
  /** The snapshot that the last incremental copy created. */
  readonly destinationSnapshot?: number
}

/** The record of a copy from another server that is in progress. */
export type PendingCopy = {
  readonly account: string
  readonly copyId: string
  /** Includes the signature of a SAS: the job reads from this URL, and nobody else sees it. */
  readonly url: string
  /** Identifies the state of the source that is being copied. */
  readonly etag?: string
  /** The source supports ranges and has an ETag, so the job can continue where it stopped. */
  readonly isResumable?: true
  /** The source doesn't support If-Match: it is a file of another File service. */
  readonly isUnconditional?: true
  readonly map: number
  readonly copiedBytes: number
  readonly totalBytes: number
  readonly startedMs: number
}

/** The state of a copy that is done within its request. */
export function completedCopy(
  state: Pick<CopyState, 'id' | 'source'>,
  totalBytes: number,
  nowMs: number,
): CopyState {
  return { ...state, status: 'success', copiedBytes: totalBytes, totalBytes, completedMs: nowMs }
}

export type CopyOutcome =
  { readonly status: 'success' } | { readonly status: 'failed'; readonly description: string }
