// Messages between the main thread and the threads that run queries. Every message is a request or its answer: a
// thread reads only as much of the blob as it requested, and computes only as much output as was requested.
import type { QueryErrorCode } from '../query-error.ts'
import type { QueryRequest } from './query.ts'

/** Asks whether the query is valid. The thread keeps nothing of it. */
export type CheckQuestion = {
  readonly kind: 'check'
  readonly query: number
  readonly request: QueryRequest
}

/** Starts a query. Its reply is the same as that of the first `pull`. */
export type RunQuestion = {
  readonly kind: 'run'
  readonly query: number
  readonly request: QueryRequest
  readonly nowMs: number
  readonly totalBytes: number
  readonly syncMarker: Uint8Array
}

export type QueryQuestion =
  | CheckQuestion
  | RunQuestion
  /** Requests the next part of the answer. */
  | { readonly kind: 'pull'; readonly query: number }
  /** The bytes that `needsBytes` requested; undefined at the end of the blob. */
  | {
      readonly kind: 'bytes'
      readonly query: number
      readonly bytes: Uint8Array<ArrayBuffer> | undefined
    }
  /** Cancels the query. Has no reply. */
  | { readonly kind: 'drop'; readonly query: number }

export type QueryReply = { readonly query: number } & (
  | { readonly kind: 'valid' }
  | { readonly kind: 'refused'; readonly code: QueryErrorCode; readonly message: string }
  | { readonly kind: 'needsBytes' }
  | { readonly kind: 'part'; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'end' }
  /** An internal error. */
  | { readonly kind: 'failed'; readonly stack: string }
)
