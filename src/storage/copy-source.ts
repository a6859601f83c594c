// What is wrong with the source of a copy, as the client of the destination is told it.
import { StorageError } from './error.ts'

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
