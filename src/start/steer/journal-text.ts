// The journal in a terminal: a line for each request, and one more that says to whom it lost.
import type { JournalEntry } from '../../control/entry.ts'
import { cutText, printableText } from '../text-table.ts'

const WIDTHS = { time: 12, id: 7, client: 16, operation: 24, status: 3, resource: 48 } as const

export const JOURNAL_TITLE = row('TIME', '#', 'CLIENT', 'OPERATION', '', 'RESOURCE')

export function entryLines(entry: JournalEntry): readonly string[] {
  const { id, time, client, operation, status, resource } = entry
  const first = row(
    time.slice(11, 23),
    `#${id}`,
    client.name,
    operation,
    statusText(status),
    resource,
  )
  const why = whyText(entry)
  return why === undefined
    ? [first]
    : [first, `${' '.repeat(WIDTHS.time + 2)}${printableText(why)}`]
}

/** The name of an NTSTATUS is too long for the column; an error is named in full in the second line. */
function statusText(status: JournalEntry['status']): string {
  if (status === 0) return '–'
  if (typeof status === 'number') return String(status)
  return status === 'SUCCESS' ? 'OK' : 'err'
}

function row(
  time: string,
  id: string,
  client: string,
  operation: string,
  status: string,
  resource: string,
): string {
  const cells = { time, id, client, operation, status, resource }
  return Object.entries(WIDTHS)
    .map(([name, width]) => {
      const text = printableText(cells[name as keyof typeof cells])
      // Of a name, the beginning tells more.
      const keepsEnd = name === 'resource' || name === 'client'
      return (keepsEnd ? cutText(text, width) : text.slice(0, width)).padEnd(width)
    })
    .join('  ')
    .trimEnd()
}

function whyText({ errorCode, refusedBy, lostTo, winner }: JournalEntry): string | undefined {
  if (errorCode === undefined) return undefined
  const parts = [errorCode]
  if (refusedBy !== undefined) parts.push(`refused by ${refusedBy}`)
  if (lostTo !== undefined) {
    const known =
      winner &&
      ` (client ${winner.client}, ${winner.operation}, ${spanText(winner.beforeMs)} before)`
    parts.push(`lost to #${lostTo}${known ?? ''}`)
  }
  return parts.join(', ')
}

export function spanText(ms: number): string {
  if (ms < 10) return `${Number(ms.toFixed(1))} ms`
  if (ms < 1_000) return `${Math.round(ms)} ms`
  const seconds = ms / 1_000
  if (seconds < 120) return `${Number(seconds.toFixed(1))} s`
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`
}
