// Windows file times: units of 100 ns since 1601, as decimal text, since they exceed the precision of a number.
import { memoize } from '../../../memory/memoize.ts'

export type FileTime = string

const EPOCH_MS = 11_644_473_600_000

export function fileTimeOf(nowMs: number): FileTime {
  return textOf(nowMs).time
}

// Caches the last result: a change writes the same millisecond at least twice, and so do concurrent ones.
let last = { ms: 0, digits: String(EPOCH_MS), time: `${EPOCH_MS}0000` }

function textOf(ms: number): typeof last {
  if (last.ms !== ms) {
    const digits = String(ms + EPOCH_MS)
    last = { ms, digits, time: `${digits}0000` }
  }
  return last
}

/** The time of a change: later than the previous one, even within the same millisecond. */
export function movedFileTime(before: FileTime, nowMs: number): FileTime {
  const { digits, time } = textOf(nowMs)
  const isSame = before.length === time.length && before.startsWith(digits)
  return isSame ? String(BigInt(before) + 1n) : time
}

/** Rounded down to milliseconds since 1970. */
export function msOfFileTime(time: FileTime): number {
  return Number(time.slice(0, -4)) - EPOCH_MS
}

/** With seven decimal places, the format of x-ms-file-creation-time. */
export function fileTimeText(time: FileTime): string {
  const padded = time.padStart(8, '0')
  return `${secondText(padded.slice(0, -7))}.${padded.slice(-7)}Z`
}

/** A list formats thousands of times, and many of them fall in the same second. */
const secondText = memoize((seconds: string): string => {
  const ms = Number(seconds) * 1_000 - EPOCH_MS
  return new Date(ms).toISOString().slice(0, -'.000Z'.length)
})

const TEXT = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,7}))?(?:Z|\+00:00)$/

export function parseFileTime(text: string): FileTime | undefined {
  const match = TEXT.exec(text)
  if (match === null) return undefined
  const ms = Date.parse(`${match[1]}Z`)
  if (Number.isNaN(ms) || ms < -EPOCH_MS) return undefined
  // Date.parse turns 31 June into 1 July.
  if (new Date(ms).toISOString().slice(0, 19) !== match[1]) return undefined
  const fraction = (match[2] ?? '').padEnd(7, '0')
  return String(BigInt(`${ms + EPOCH_MS}0000`) + BigInt(fraction))
}
