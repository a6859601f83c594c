// The source of a copy: a blob or file as the other service sees it, and how its errors are reported to the
// client of the destination.
import type { Hole, Piece } from '../../../extent/content/slice.ts'
import type { ReadTx, Step } from '../../../kv/kv.ts'
import type { ContentHeaders } from '../content-headers.ts'
import { StorageError } from '../error.ts'
import type { Metadata } from '../metadata.ts'

/** A blob or file, as a copy to the other service reads it. */
export type SourceState = {
  readonly lengthBytes: number
  readonly headers: ContentHeaders
  readonly metadata: Metadata
  readonly createdMs: number
  readonly modifiedMs: number
  /** Identifies the state. */
  readonly stamp: number
  /** Undefined if it is encrypted, and therefore can't be shared. */
  readonly content: SourceContent | undefined
}

/** The id of a map, or the content as Get Blob reads it. */
export type SourceContent =
  | { readonly map: number }
  | { readonly pieces: readonly (Piece | Hole)[] }
  | { readonly bytes: Uint8Array }

/** An object of the other service, which provides the function to find it. */
export type OtherSource = {
  readonly account: string
  /** `stamp`: the state that was read before, which must still be the current one. */
  find(tx: ReadTx, nowMs: number, stamp?: number): Step<SourceState>
}

/** Errors in what the request says about the source keep their codes, and so does a server that can't read its own. */
const REQUEST_CODES: readonly string[] = [
  'ServerBusy',
  'SourceConditionNotMet',
  'UnsatisfiableCondition',
  'MultipleConditionHeadersNotSupported',
  'InvalidHeaderValue',
  'CannotVerifyCopySource',
]

export function ofSource(error: unknown): unknown {
  if (!(error instanceof StorageError) || REQUEST_CODES.includes(error.code)) return error
  const details = {
    CopySourceStatusCode: String(error.status),
    CopySourceErrorCode: error.code === 'NotModified' ? 'ConditionNotMet' : error.code,
    CopySourceErrorMessage: error.message,
  }
  return new StorageError('CannotVerifyCopySource', details, error.message, error.status)
}
