// The source of a copy: how a service sees one that is the other's, and what is wrong with it, as the client of
// the destination is told it.
import type { Hole, Piece } from '../../extent/content/slice.ts'
import type { ReadTx, Step } from '../../kv/kv.ts'
import type { ContentHeaders } from './content-headers.ts'
import { StorageError } from './error.ts'
import type { Metadata } from './metadata.ts'

/** A blob or a file, as a copy in the other service reads it. */
export type SourceState = {
  readonly lengthBytes: number
  readonly headers: ContentHeaders
  readonly metadata: Metadata
  readonly createdMs: number
  readonly modifiedMs: number
  /** Which state it is. */
  readonly stamp: number
  /** Undefined if it is encrypted, so that nobody can share it. */
  readonly content: SourceContent | undefined
}

/** The id of a map, or bytes as Get Blob sends them. */
export type SourceContent =
  | { readonly map: number }
  | { readonly pieces: readonly (Piece | Hole)[] }
  | { readonly bytes: Uint8Array }

/** An object of the other service, which finds it by its own rules. */
export type OtherSource = {
  readonly account: string
  /** `stamp`: the state that was looked at before and must still be there. */
  find(tx: ReadTx, nowMs: number, stamp?: number): Step<SourceState>
}

/** What the request itself says wrongly of the source keeps its own code. */
const OWN_CODES: readonly string[] = [
  'SourceConditionNotMet',
  'UnsatisfiableCondition',
  'MultipleConditionHeadersNotSupported',
  'InvalidHeaderValue',
  'CannotVerifyCopySource',
]

export function ofSource(error: unknown): unknown {
  if (!(error instanceof StorageError) || OWN_CODES.includes(error.code)) return error
  const details = {
    CopySourceStatusCode: String(error.status),
    CopySourceErrorCode: error.code === 'NotModified' ? 'ConditionNotMet' : error.code,
    CopySourceErrorMessage: error.message,
  }
  return new StorageError('CannotVerifyCopySource', details, error.message, error.status)
}
