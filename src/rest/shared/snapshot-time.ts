// Timestamps in a query that identify a snapshot or a version.
import { invalidQuery, StorageError, type ErrorCode } from '../../storage/shared/error.ts'
import { parseTimestamp } from '../../storage/shared/etag.ts'

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,7})?Z$/

/** Accepts fewer digits than our own timestamps have. */
export function isTimestamp(text: string): boolean {
  return TIMESTAMP.test(text)
}

/** Returns the stamp. A valid time that can't be one of our stamps is answered with the `absent` error. */
export function decodeSnapshotTime(name: string, text: string, absent: ErrorCode): number {
  const stamp = parseTimestamp(text)
  if (stamp !== undefined) return stamp
  throw isTimestamp(text) ? new StorageError(absent) : invalidQuery(name, text)
}
