// LOCKs that a client sends again because it lost the response ([MS-SMB2] 3.3.5.14): a handle stores the number of the
// last completed LOCK for each of 64 buckets.
import { DIALECT, type Dialect } from '../session/dialect.ts'
import type { FileHandle } from '../world.ts'

const BUCKET_COUNT = 64

export type LockSequence = { readonly sequenceIndex: number; readonly sequenceNumber: number }

/** Handles of 3.x can outlive their connection in several ways, those of 2.1 only if they are resilient. */
export function hasLockSequences(
  dialect: Dialect,
  { durable }: Pick<FileHandle, 'durable'>,
): boolean {
  return dialect >= DIALECT.smb300 || durable?.kind === 'resilient'
}

/** Whether this LOCK was completed before. If not, empties the bucket until `storeSequence`. */
export function isRepeated(
  { lockSequences }: Pick<FileHandle, 'lockSequences'>,
  { sequenceIndex, sequenceNumber }: LockSequence,
): boolean {
  if (lockSequences.get(sequenceIndex) === sequenceNumber) return true
  lockSequences.delete(sequenceIndex)
  return false
}

export function storeSequence(
  { lockSequences }: Pick<FileHandle, 'lockSequences'>,
  { sequenceIndex, sequenceNumber }: LockSequence,
): void {
  if (sequenceIndex < 1 || sequenceIndex > BUCKET_COUNT) return
  lockSequences.set(sequenceIndex, sequenceNumber)
}
