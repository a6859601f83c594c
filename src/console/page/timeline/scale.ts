// Where times are in the picture. Requests take a millisecond and people minutes, so by default the picture shows the order
// in which things began and ended, and makes long pauses short; the other scale shows the time as it is.
import type { JournalEntry } from '../../../control/api.ts'

export type Scale = {
  /** Of the whole picture, in units. */
  readonly length: number
  /** Where a time is, in units. */
  at(ms: number): number
  /** Where an entry begins and ends. */
  of(entry: JournalEntry): { readonly from: number; readonly to: number }
  /** Pauses that are drawn shorter than they were. */
  readonly pauses: readonly { readonly at: number; readonly ms: number }[]
}

export const SCALES = ['order', 'time'] as const
export type ScaleKind = (typeof SCALES)[number]

type Point = { readonly ms: number; readonly id: number; readonly isEnd: boolean }

/** A bar is as long as its text; between two of them is less. */
const BAR = 1
const GAP = 0.28
const PAUSE = 0.7
const PAUSE_MS = 1_000
const MARGIN = 0.3

export function scaleOf(kind: ScaleKind, entries: readonly JournalEntry[]): Scale {
  return kind === 'time' ? timeScale(entries) : orderScale(entries)
}

export function startMs({ time }: JournalEntry): number {
  return Date.parse(time)
}

export function endMs(entry: JournalEntry): number {
  return startMs(entry) + entry.durationMs
}

function orderScale(entries: readonly JournalEntry[]): Scale {
  const points = pointsOf(entries)
  const placed = new Map<string, number>()
  const steps: { readonly ms: number; readonly x: number }[] = []
  const pauses: { readonly at: number; readonly ms: number }[] = []
  let x = MARGIN
  let last: Point | undefined
  for (const point of points) {
    if (last !== undefined) {
      const pauseMs = point.ms - last.ms
      const isPause = pauseMs >= PAUSE_MS
      const step = isPause ? PAUSE : last.isEnd && !point.isEnd ? GAP : BAR
      if (isPause) pauses.push({ at: x + step / 2, ms: pauseMs })
      x += step
    }
    placed.set(`${point.id} ${point.isEnd}`, x)
    steps.push({ ms: point.ms, x })
    last = point
  }
  const length = x + PAUSE
  return {
    length,
    pauses,
    at: (ms) => between(steps, ms, length),
    of: ({ id }) => ({ from: placed.get(`${id} false`) ?? 0, to: placed.get(`${id} true`) ?? 0 }),
  }
}

/** All beginnings and ends, in their order. Ids are in the order of the ends. */
function pointsOf(entries: readonly JournalEntry[]): readonly Point[] {
  const points: Point[] = []
  let lastEndMs = 0
  for (const entry of entries) {
    const begin = startMs(entry)
    // Beginnings are whole milliseconds: what seems to begin a little before another ended began behind it.
    const isBehind = begin <= lastEndMs && lastEndMs - begin < 1
    points.push({ ms: isBehind ? lastEndMs : begin, id: entry.id, isEnd: false })
    lastEndMs = Math.max(lastEndMs, endMs(entry))
    points.push({ ms: lastEndMs, id: entry.id, isEnd: true })
  }
  return points
    .map((point, at) => ({ point, at }))
    .sort((a, b) => a.point.ms - b.point.ms || a.at - b.at)
    .map(({ point }) => point)
}

function between(
  steps: readonly { readonly ms: number; readonly x: number }[],
  ms: number,
  length: number,
): number {
  const after = steps.findIndex((step) => step.ms >= ms)
  if (after < 0) return length
  const [from, to] = [steps[after - 1], steps[after]]
  if (from === undefined || to === undefined || to.ms === ms) return to?.x ?? 0
  return from.x + ((to.x - from.x) * (ms - from.ms)) / (to.ms - from.ms)
}

const TIME_UNITS = 8

function timeScale(entries: readonly JournalEntry[]): Scale {
  const from = Math.min(...entries.map(startMs))
  const spanMs = Math.max(1, Math.max(...entries.map(endMs)) - from)
  const at = (ms: number): number => {
    const share = (ms - from) / spanMs
    return Math.max(0, Math.min(TIME_UNITS, MARGIN + share * (TIME_UNITS - 2 * MARGIN)))
  }
  return {
    length: TIME_UNITS,
    pauses: [],
    at,
    of: (entry) => ({ from: at(startMs(entry)), to: at(endMs(entry)) }),
  }
}
