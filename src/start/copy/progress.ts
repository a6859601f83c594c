// Shows how far a copy is: on a terminal one line that changes, otherwise a line from time to time.

export type Progress = {
  /** `done` of `total`: bytes of content, or records. */
  show(what: string, done: number, total: number): void
  say(line: string): void
}

export type ProgressSettings = {
  readonly isTerminal: boolean
  write(text: string): void
  /** A monotonic clock. */
  nowMs(): number
}

const TERMINAL_MS = 200
const LINES_MS = 10_000
const CLEAR_LINE = '\r\u001b[K'

export function progressOf({ isTerminal, write, nowMs }: ProgressSettings): Progress {
  let shown = { what: '', sinceMs: 0, done: 0, atMs: 0, isDone: false }
  let hasLine = false
  const end = (): void => {
    if (hasLine) write('\n')
    hasLine = false
  }
  return {
    show(what, done, total) {
      const now = nowMs()
      const isNew = what !== shown.what
      if (isNew) {
        end()
        shown = { what, sinceMs: now, done, atMs: -Infinity, isDone: false }
      }
      const isDone = done >= total
      const isEarly = now - shown.atMs < (isTerminal ? TERMINAL_MS : LINES_MS)
      if (shown.isDone || (isEarly && !isDone)) return
      shown = { ...shown, atMs: now, isDone }
      // A resumed copy begins somewhere in the middle.
      const text = progressText(what, done, total, leftMs(shown, now, done, total))
      if (!isTerminal) return write(`${text}\n`)
      write(`${CLEAR_LINE}${text}`)
      hasLine = true
    },
    say(line) {
      end()
      write(`${line}\n`)
    },
  }
}

type Shown = { readonly sinceMs: number; readonly done: number }

/** At the speed since the start; undefined until there is one. */
function leftMs(
  { sinceMs, done: before }: Shown,
  nowMs: number,
  done: number,
  total: number,
): number | undefined {
  if (done <= before || done >= total) return undefined
  return ((nowMs - sinceMs) / (done - before)) * (total - done)
}

export function progressText(
  what: string,
  done: number,
  total: number,
  leftMs: number | undefined,
): string {
  const percent = total === 0 ? 100 : Math.floor((100 * Math.min(done, total)) / total)
  const amounts = what === 'content' ? [bytesText(done), bytesText(total)] : [done, total]
  const left = leftMs === undefined ? '' : `, ${durationText(leftMs)} left`
  return `${what}: ${amounts.join(' of ')}, ${percent} %${left}`
}

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']

export function bytesText(bytes: number): string {
  const unit = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10))
  const value = bytes / 1_024 ** unit
  return `${unit === 0 ? value : value.toFixed(1)} ${UNITS[unit]}`
}

function durationText(ms: number): string {
  const seconds = Math.round(ms / 1_000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.round(seconds / 60)
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
