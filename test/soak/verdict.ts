// Whether a server that has worked for a while is as it was after it had warmed up. Each series is cut into thirds after the first fifth, which is
// warming up; the middle value of the last third may be larger than that of the first only by what noise explains.

/** What was measured at one moment, or in the time since the one before. */
export type Sample = {
  readonly rssBytes: number
  /** After a collection of garbage. */
  readonly heapBytes: number
  /** Outside of the heap: buffers. */
  readonly externalBytes: number
  readonly descriptorCount: number
  readonly loopLagMs: number
  /** By operation. */
  readonly p99Ms: Readonly<Record<string, number>>
  readonly operationCount: number
}

export type Ending = {
  readonly liveBytes: number
  readonly diskBytes: number
  readonly fsckExitCode: number
  /** Answers that no operation expects. */
  readonly errors: readonly string[]
}

export type Finding = {
  readonly what: string
  readonly first: number
  readonly last: number
  readonly max: number
  readonly isWithin: boolean
}

export type Verdict = {
  readonly outcome: 'flat' | 'not flat' | 'says nothing'
  readonly findings: readonly Finding[]
  readonly reasons: readonly string[]
}

const MIB = 2 ** 20
const SAMPLES_MIN = 10
/** Fewer in a sample is no load. */
const OPERATIONS_MIN = 20
const DISK_RATIO_MAX = 1.3

type Limit = (first: number) => number

/** What the last third may be, given the first. Latencies are those of a machine that others use, too. */
const LIMITS: readonly (readonly [what: string, of: (sample: Sample) => number, Limit])[] = [
  ['heap, bytes', ({ heapBytes }) => heapBytes, (first) => first * 1.2 + 12 * MIB],
  ['buffers, bytes', ({ externalBytes }) => externalBytes, (first) => first * 1.5 + 24 * MIB],
  ['resident memory, bytes', ({ rssBytes }) => rssBytes, (first) => first * 1.25 + 64 * MIB],
  ['descriptors', ({ descriptorCount }) => descriptorCount, (first) => first * 1.1 + 16],
  ['event-loop lag p99, ms', ({ loopLagMs }) => loopLagMs, (first) => first * 2 + 50],
]
const latencyMax: Limit = (first) => first * 3 + 200

export function verdictOf(samples: readonly Sample[], ending: Ending): Verdict {
  const findings = [...seriesFindings(samples), diskFinding(ending)]
  const reasons = nothingReasons(samples)
  if (reasons.length > 0) return { outcome: 'says nothing', findings, reasons }
  const bad = [
    ...findings.filter(({ isWithin }) => !isWithin).map(textOf),
    ...(ending.fsckExitCode === 0 ? [] : [`fsck ended with ${ending.fsckExitCode}`]),
    ...ending.errors.slice(0, 10),
  ]
  return { outcome: bad.length === 0 ? 'flat' : 'not flat', findings, reasons: bad }
}

function seriesFindings(samples: readonly Sample[]): readonly Finding[] {
  const operations = [...new Set(samples.flatMap(({ p99Ms }) => Object.keys(p99Ms)))].toSorted()
  return [
    ...LIMITS.map(([what, of, limit]) => finding(what, samples.map(of), limit)),
    ...operations.map((name) => {
      const values = samples.flatMap(({ p99Ms }) => p99Ms[name] ?? [])
      return finding(`${name} p99, ms`, values, latencyMax)
    }),
  ]
}

function finding(what: string, series: readonly number[], limit: Limit): Finding {
  const warm = series.slice(Math.floor(series.length / 5))
  const third = Math.max(1, Math.floor(warm.length / 3))
  const [first, last] = [median(warm.slice(0, third)), median(warm.slice(-third))]
  const max = limit(first)
  return { what, first, last, max, isWithin: last <= max }
}

function diskFinding({ liveBytes, diskBytes }: Ending): Finding {
  const ratio = liveBytes === 0 ? Infinity : diskBytes / liveBytes
  const what = 'disk after the sweep, times live data'
  return { what, first: 1, last: ratio, max: DISK_RATIO_MAX, isWithin: ratio <= DISK_RATIO_MAX }
}

function nothingReasons(samples: readonly Sample[]): readonly string[] {
  const idle = samples.filter(({ operationCount }) => operationCount < OPERATIONS_MIN).length
  return [
    ...(samples.length < SAMPLES_MIN ? [`only ${samples.length} samples`] : []),
    ...(idle * 4 > samples.length ? [`${idle} samples with fewer than ${OPERATIONS_MIN} operations`] : []),
  ] // prettier-ignore
}

function textOf({ what, first, last, max }: Finding): string {
  return `${what}: ${shown(last)} at the end, ${shown(first)} at first, at most ${shown(max)}`
}

/** Whole numbers, unless they are small. */
export function shown(value: number): string {
  if (!Number.isFinite(value)) return String(value)
  return value < 100
    ? value.toFixed(2).replace(/\.?0+$/, '')
    : Math.round(value).toLocaleString('en')
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? 0
}

/** The value below which 99 of 100 are. */
export function p99(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.99))] ?? 0
}
