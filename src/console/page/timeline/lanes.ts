// A lane for each client. Requests that a client has under way at the same time are in rows of their own.
import type { JournalEntry } from '../../../control/api.ts'
import type { Period } from '../../../control/timeline.ts'
import type { Scale } from './scale.ts'

export type Bar = {
  readonly entry: JournalEntry
  readonly from: number
  readonly to: number
  readonly row: number
}

export type Band = {
  readonly period: Period
  readonly from: number
  readonly to: number
  readonly row: number
}

export type Lane = {
  readonly client: string
  readonly bars: readonly Bar[]
  readonly bands: readonly Band[]
  readonly barRows: number
  readonly bandRows: number
}

/** In the order in which the clients came. */
export function lanesOf(
  entries: readonly JournalEntry[],
  periods: readonly Period[],
  scale: Scale,
): readonly Lane[] {
  const clients = new Set(entries.map(({ client }) => client.name))
  for (const { client } of periods) clients.add(client)
  return [...clients].map((client) => {
    const own = entries.filter((entry) => entry.client.name === client)
    const bars = inRows(own.map((entry) => ({ entry, ...scale.of(entry) })))
    const held = periods.filter((period) => period.client === client)
    const bands = inRows(held.map((period) => ({ period, ...spanOf(period, scale) })))
    return { client, bars, bands, barRows: rowCount(bars), bandRows: rowCount(bands) }
  })
}

function spanOf(
  { from, to }: Period,
  scale: Scale,
): { readonly from: number; readonly to: number } {
  return {
    from: scale.at(Date.parse(from)),
    to: to === undefined ? scale.length : scale.at(Date.parse(to)),
  }
}

type Span = { readonly from: number; readonly to: number }

/** The first row that is free. */
function inRows<T extends Span>(spans: readonly T[]): readonly (T & { readonly row: number })[] {
  const ends: number[] = []
  return spans
    .toSorted((a, b) => a.from - b.from)
    .map((span) => {
      const free = ends.findIndex((end) => end <= span.from)
      const row = free < 0 ? ends.length : free
      ends[row] = span.to
      return { ...span, row }
    })
}

function rowCount(spans: readonly { readonly row: number }[]): number {
  return spans.reduce((most, { row }) => Math.max(most, row + 1), 0)
}
