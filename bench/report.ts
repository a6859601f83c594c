// Formats results as Markdown: medians of the rounds with their range, and each goal with ✓ or ✗.
import type { Row } from './row.ts'
import type { TargetName } from './target.ts'

/** Responses per second of one server in one row, one number per round. */
export type Rates = {
  readonly perSecond: readonly number[]
  /** CPU time of the server per response. */
  readonly cpuUs: readonly number[]
  /** Why the numbers are invalid: some responses were errors. */
  readonly failure?: string
}

export type Measured = {
  readonly row: Row
  readonly rates: ReadonlyMap<TargetName, Rates>
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const high = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? high : ((sorted[middle - 1] ?? Number.NaN) + high) / 2
}

/** Three significant digits are enough for such measurements. */
export function number(value: number): string {
  if (!Number.isFinite(value)) return '–'
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2
  return value.toLocaleString('en', { maximumFractionDigits: digits })
}

export function spread(values: readonly number[]): string {
  if (values.length < 2) return number(median(values))
  return `${number(median(values))} (${number(Math.min(...values))}–${number(Math.max(...values))})`
}

export function rateCell(rates: Rates | undefined): string {
  if (rates === undefined) return '–'
  return rates.failure === undefined ? spread(rates.perSecond) : `failed: ${rates.failure}`
}

/** Lazuli's rate divided by another server's: '20.1× (18×) ✓'. */
function ratioCell(measured: Measured, other: 'azurite' | 'bare'): string {
  const ours = measured.rates.get('lazuli')
  const theirs = measured.rates.get(other)
  const goal = measured.row.goal[other]
  if ((ours === undefined || theirs === undefined || ours.failure) ?? theirs.failure) return '–'
  return ratioText(median(ours.perSecond) / median(theirs.perSecond), goal)
}

export function ratioText(ratio: number, goal: number | undefined): string {
  if (goal === undefined) return `${number(ratio)}×`
  return `${number(ratio)}× (${goal}×) ${ratio >= goal ? '✓' : '✗'}`
}

/** The rate divided by Lazuli's rate in another row: '0.85× (0.8×) ✓ of Get Blob 4 KiB'. */
function rowCell(measured: Measured, results: readonly Measured[]): string {
  const { row: goal } = measured.row.goal
  const other = results.find(({ row }) => row.name === goal?.name)
  const ours = measured.rates.get('lazuli')
  const theirs = other?.rates.get('lazuli')
  if (measured.row.goal.perSecond !== undefined)
    return rateGoalCell(ours, measured.row.goal.perSecond)
  if (goal === undefined || ours === undefined || theirs === undefined) return '–'
  if (ours.failure !== undefined || theirs.failure !== undefined) return '–'
  const ratio = median(ours.perSecond) / median(theirs.perSecond)
  return `${ratioText(ratio, goal.ratio)} of ${other?.row.work}`
}

function rateGoalCell(ours: Rates | undefined, goal: number): string {
  if (ours === undefined || ours.failure !== undefined) return '–'
  const rate = median(ours.perSecond)
  return `${number(rate)}/s (${goal}/s) ${rate >= goal ? '✓' : '✗'}`
}

export function loadTable(results: readonly Measured[]): string {
  const header = ['work', 'Lazuli/s', 'Azurite/s', 'bare/s', '÷ Azurite (goal)', '÷ bare (goal)']
  const hasRowGoals = results.some(
    ({ row: { goal } }) => goal.row !== undefined || goal.perSecond !== undefined,
  )
  if (hasRowGoals) header.push('÷ own (goal)')
  const rows = results.map((measured) => [
    measured.row.work,
    rateCell(measured.rates.get('lazuli')),
    rateCell(measured.rates.get('azurite')),
    rateCell(measured.rates.get('bare')),
    ratioCell(measured, 'azurite'),
    ratioCell(measured, 'bare'),
    ...(hasRowGoals ? [rowCell(measured, results)] : []),
  ])
  return table(header, rows)
}

/** Compares this checkout with another one round by round: each ratio is of two adjacent measurements. */
export function pairTable(results: readonly Measured[]): string {
  const header = [
    'work',
    'now/s',
    'before/s',
    'rate ÷ before',
    'CPU µs now',
    'before',
    'before ÷ now',
  ]
  const rows = results.map(({ row, rates }) => {
    const [now, before] = [rates.get('lazuli'), rates.get('before')]
    return [
      row.work,
      rateCell(now),
      rateCell(before),
      spread(ratios(now?.perSecond, before?.perSecond)),
      number(median(now?.cpuUs ?? [])),
      number(median(before?.cpuUs ?? [])),
      spread(ratios(before?.cpuUs, now?.cpuUs)),
    ]
  })
  return table(header, rows)
}

function ratios(ours: readonly number[] = [], theirs: readonly number[] = []): number[] {
  return ours.map((value, round) => value / (theirs[round] ?? Number.NaN))
}

/** A measured value that should stay below its goal: '0.21 s (0.4 s) ✓'. */
export function atMost(value: number, goal: number, unit: string): string {
  return `${number(value)}${unit} (${goal}${unit}) ${value <= goal ? '✓' : '✗'}`
}

/** Pads the columns, so that the table is readable in a terminal too. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, column) =>
    Math.max(...[title, ...rows.map((row) => row[column] ?? '')].map((cell) => cell.length)),
  )
  const line = (cells: readonly string[]) =>
    `| ${widths.map((width, column) => (cells[column] ?? '').padEnd(width)).join(' | ')} |`
  const rule = `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`
  return [line(header), rule, ...rows.map(line)].join('\n')
}
