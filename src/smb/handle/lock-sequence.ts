// LOCKs that a client sends again because it has lost the answer ([MS-SMB2] 3.3.5.14): a handle remembers for each
// of 64 buckets the number of the last one that was done.
import { DIALECT, type Dialect } from '../session/dialect.ts'
import type { FileHandle } from '../world.ts'

const BUCKET_COUNT = 64

export type LockSequence = { readonly sequenceIndex: number; readonly sequenceNumber: number }

/** Handles of 3.x outlive their connection one way or another; those of 2.1 only where they were made to. */
export function countsSequences(
  dialect: Dialect,
  { durable }: Pick<FileHandle, 'durable'>,
): boolean {
  return dialect >= DIALECT.smb300 || durable?.kind === 'resilient'
}

/** Whether just this was done before. If not, the bucket is empty until `rememberSequence`. */
export function isRepeated(
  { lockSequences }: Pick<FileHandle, 'lockSequences'>,
  { sequenceIndex, sequenceNumber }: LockSequence,
): boolean {
  if (lockSequences.get(sequenceIndex) === sequenceNumber) return true
  lockSequences.delete(sequenceIndex)
  return false
}

export function rememberSequence(
  { lockSequences }: Pick<FileHandle, 'lockSequences'>,
  { sequenceIndex, sequenceNumber }: LockSequence,
): void {
  if (sequenceIndex < 1 || sequenceIndex > BUCKET_COUNT) return
  lockSequences.set(sequenceIndex, sequenceNumber)
}
