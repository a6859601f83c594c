// Times as Windows has them: 100 ns since 1601, as a decimal text, since they have more digits than a number.
import { remembering } from '../../kv/remember.ts'

export type FileTime = string

const EPOCH_MS = 11_644_473_600_000

export function fileTimeOf(nowMs: number): FileTime {
  return `${nowMs + EPOCH_MS}0000`
}

/** The time of a change: later than what it was, also within one millisecond. */
export function movedFileTime(before: FileTime, nowMs: number): FileTime {
  const now = fileTimeOf(nowMs)
  const isSame = before.length === now.length && before.slice(0, -4) === now.slice(0, -4)
  return isSame ? String(BigInt(before) + 1n) : now
}

/** Rounded down to milliseconds since 1970. */
export function msOfFileTime(time: FileTime): number {
  return Number(time.slice(0, -4)) - EPOCH_MS
}

/** With seven digits behind the second, as x-ms-file-creation-time has them. An answer has three, often the same. */
export const fileTimeText = remembering((time: FileTime): string => {
  const padded = time.padStart(5, '0')
  return `${new Date(msOfFileTime(padded)).toISOString().slice(0, -1)}${padded.slice(-4)}Z`
})

const TEXT = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,7}))?(?:Z|\+00:00)$/

export function parseFileTime(text: string): FileTime | undefined {
  const match = TEXT.exec(text)
  if (match === null) return undefined
  const ms = Date.parse(`${match[1]}Z`)
  if (Number.isNaN(ms) || ms < -EPOCH_MS) return undefined
  // Date.parse turns 31 June into 1 July; a time is one text only.
  if (new Date(ms).toISOString().slice(0, 19) !== match[1]) return undefined
  const fraction = (match[2] ?? '').padEnd(7, '0')
  return String(BigInt(`${ms + EPOCH_MS}0000`) + BigInt(fraction))
}
