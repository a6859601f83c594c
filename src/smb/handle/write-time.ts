// When a handle sees its own writes in the file's write time. It moves in the store with every write, but is shown
// to the writer as Windows and Samba do it: two seconds after the first write, and then not before FLUSH, SET_INFO
// or CLOSE, which takes its own time if writes came after that (smbtorture's smb2.timestamps.delayed-*).
import type { FileTime } from '../../storage/file/tree/file-time.ts'
import type { FileHandle } from '../world.ts'

const DELAY_MS = 2_000

type DelayedTime = {
  /** Of the file before the first write. */
  readonly before: FileTime
  readonly first: FileTime
  readonly firstMs: number
  readonly last: FileTime
  /** Writes came after the first was shown. */
  readonly isLate: boolean
}

const KEPT = 'delayedWriteTime'

type Kept = Pick<FileHandle, 'kept'>

function delayedOf({ kept }: Kept): DelayedTime | undefined {
  return kept.get(KEPT) as DelayedTime | undefined
}

/** The file's write time before and after a write by the handle. */
export function noteWrite(handle: Kept, before: FileTime, after: FileTime, nowMs: number): void {
  const delayed = delayedOf(handle)
  const next: DelayedTime =
    delayed === undefined
      ? { before, first: after, firstMs: nowMs, last: after, isLate: false }
      : { ...delayed, last: after, isLate: delayed.isLate || isShown(delayed, nowMs) }
  handle.kept.set(KEPT, next)
}

/** The next query shows the time of the last write. */
export function showWriteTime({ kept }: Kept): void {
  kept.delete(KEPT)
}

/** What the handle is shown; a time that somebody else has set since is shown at once. */
export function shownWriteTime(handle: Kept, lastWriteTime: FileTime, nowMs: number): FileTime {
  const delayed = delayedOf(handle)
  if (delayed === undefined || delayed.last !== lastWriteTime) return lastWriteTime
  return isShown(delayed, nowMs) ? delayed.first : delayed.before
}

/** Whether CLOSE is the time of the last write. */
export function isWriteTimeLate(handle: Kept): boolean {
  return delayedOf(handle)?.isLate === true
}

function isShown({ firstMs }: DelayedTime, nowMs: number): boolean {
  return nowMs - firstMs >= DELAY_MS
}
