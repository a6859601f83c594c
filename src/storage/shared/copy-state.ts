// A copy, as clients see it on its destination, and as the job that brings the bytes of another server knows it.

export type CopyState = {
  readonly id: string
  /** The URL as the client sent it, without the signature of a SAS. Older records may have it. */
  readonly source: string
  readonly status: 'pending' | 'success' | 'aborted' | 'failed'
  readonly copiedBytes: number
  readonly totalBytes: number
  readonly completedMs?: number
  readonly description?: string
  readonly isIncremental?: true
  /** The snapshot that an incremental copy made last. */
  readonly destinationSnapshot?: number
}

/** A copy from another server that is under way: the record beside its destination. */
export type PendingCopy = {
  readonly account: string
  readonly copyId: string
  /** With the signature of a SAS: it is read by this, and never shown. */
  readonly url: string
  /** The state of the source that is copied. */
  readonly etag?: string
  /** Its rest can be asked for, and told from that of another state. */
  readonly isResumable?: true
  /** It takes no If-Match: a file of another File service. */
  readonly isUnconditional?: true
  readonly map: number
  readonly copiedBytes: number
  readonly totalBytes: number
  readonly startedMs: number
}

/** Which state of a copy. */
export type CopyProgress = Pick<PendingCopy, 'copyId' | 'map' | 'copiedBytes'>

export function isSameState(a: CopyProgress, b: CopyProgress): boolean {
  return a.copyId === b.copyId && a.map === b.map && a.copiedBytes === b.copiedBytes
}

export type CopyOutcome =
  { readonly status: 'success' } | { readonly status: 'failed'; readonly description: string }
