// Messages between the main thread and the threads that run queries. Every message is a request or its answer: a
// thread reads only as much of the blob as it requested, and computes only as much output as was requested.
import type { QueryErrorCode } from '../query-error.ts'
import type { QueryRequest } from './query.ts'

/** Whether the query can be run. Nothing is kept of it. */
export type CheckQuestion = {
  readonly kind: 'check'
  readonly query: number
  readonly request: QueryRequest
}

/** Begins a query. The reply is that to its first `pull`. */
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
  /** The next part of the answer. */
  | { readonly kind: 'pull'; readonly query: number }
  /** What `needsBytes` asked for; undefined at the end of the blob. */
  | {
      readonly kind: 'bytes'
      readonly query: number
      readonly bytes: Uint8Array<ArrayBuffer> | undefined
    }
  /** Nobody wants the answer any more. There is no reply to it. */
  | { readonly kind: 'drop'; readonly query: number }

export type QueryReply = { readonly query: number } & (
  | { readonly kind: 'valid' }
  | { readonly kind: 'refused'; readonly code: QueryErrorCode; readonly message: string }
  | { readonly kind: 'needsBytes' }
  | { readonly kind: 'part'; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'end' }
  /** A mistake of ours. */
  | { readonly kind: 'failed'; readonly stack: string }
)
