// Errors that had another code in older versions of the services. Rules throw the newest code.
import { StorageError, type ErrorCode } from '../../storage/shared/error.ts'

type ErrorRow = {
  readonly code: ErrorCode
  /** The first version with `code`. */
  readonly since: string
  readonly before: ErrorCode
}

const ERROR_ROWS: readonly ErrorRow[] = [
  { code: 'ShareSnapshotNotFound', since: '2025-11-05', before: 'ShareNotFound' },
]

/** The error as the request's version knows it. */
export function errorAt(error: StorageError, version: string | undefined): StorageError {
  if (version === undefined) return error
  const row = ERROR_ROWS.find(({ code, since }) => code === error.code && version < since)
  return row === undefined ? error : new StorageError(row.before, error.details)
}
