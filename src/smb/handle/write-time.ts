// The write time that a handle sees after its own writes. Every write updates it in the store, but the writer sees the
// update late, as in Windows and Samba: two seconds after the first write, and later ones only after FLUSH, SET_INFO or
// CLOSE. CLOSE sets its own time if there were such later writes (smbtorture's smb2.timestamps.delayed-*).
import type { FileTime } from '../../storage/file/tree/file-time.ts'
import type { FileHandle } from '../world.ts'

const DELAY_MS = 2_000

type DelayedTime = {
  /** The file's time before the first write. */
  readonly before: FileTime
  readonly first: FileTime
  readonly firstMs: number
  readonly last: FileTime
  /** There were writes after the first became visible. */
  readonly isLate: boolean
}

const STATE_KEY = 'delayedWriteTime'

type StatefulHandle = Pick<FileHandle, 'commandState'>

function delayedOf({ commandState }: StatefulHandle): DelayedTime | undefined {
  return commandState.get(STATE_KEY) as DelayedTime | undefined
}

/** `before` and `after`: the file's write time before and after a write by the handle. */
export function noteWrite(
  handle: StatefulHandle,
  before: FileTime,
  after: FileTime,
  nowMs: number,
): void {
  const delayed = delayedOf(handle)
  const next: DelayedTime =
    delayed === undefined
      ? { before, first: after, firstMs: nowMs, last: after, isLate: false }
      : { ...delayed, last: after, isLate: delayed.isLate || isVisible(delayed, nowMs) }
  handle.commandState.set(STATE_KEY, next)
}

/** Makes the time of the last write visible to the next query. */
export function showWriteTime({ commandState }: StatefulHandle): void {
  commandState.delete(STATE_KEY)
}

/** The time that the handle sees. A time that another handle has set is visible at once. */
export function visibleWriteTime(
  handle: StatefulHandle,
  lastWriteTime: FileTime,
  nowMs: number,
): FileTime {
  const delayed = delayedOf(handle)
  if (delayed === undefined || delayed.last !== lastWriteTime) return lastWriteTime
  return isVisible(delayed, nowMs) ? delayed.first : delayed.before
}

/** Whether CLOSE has to set its own time as the write time. */
export function isWriteTimeLate(handle: StatefulHandle): boolean {
  return delayedOf(handle)?.isLate === true
}

function isVisible({ firstMs }: DelayedTime, nowMs: number): boolean {
  return nowMs - firstMs >= DELAY_MS
}
