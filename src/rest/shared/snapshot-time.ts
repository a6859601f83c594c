// The times in a query that name a snapshot or a version.
import { invalidQuery, StorageError, type ErrorCode } from '../../storage/shared/error.ts'
import { parseTimestamp } from '../../storage/shared/etag.ts'

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,7})?Z$/

/** Also one with fewer digits than ours have. */
export function isTimestamp(text: string): boolean {
  return TIMESTAMP.test(text)
}

/** The stamp; what is a time but none of ours names nothing that is there. */
export function decodeSnapshotTime(name: string, text: string, absent: ErrorCode): number {
  const stamp = parseTimestamp(text)
  if (stamp !== undefined) return stamp
  throw isTimestamp(text) ? new StorageError(absent) : invalidQuery(name, text)
}
