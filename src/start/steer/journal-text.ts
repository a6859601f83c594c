// The journal in a terminal: a line for each request, and more that say to whom it lost.
import type { JournalEntry } from '../../control/entry.ts'
import { cutText, printableText, wrapText } from '../text-table.ts'
import { colored, type Color, type Screen } from './screen.ts'

type Cells = {
  readonly time: string
  readonly id: string
  readonly client: string
  readonly operation: string
  readonly status: string
  readonly resource: string
}

export function journalTitle(screen: Screen): string {
  const title = { time: 'TIME', id: '#', client: 'CLIENT', operation: 'OPERATION', status: '', resource: 'RESOURCE' } // prettier-ignore
  return colored(row(title, screen), 'bold', screen)
}

export function entryLines(entry: JournalEntry, screen: Screen): readonly string[] {
  const { id, time, client, operation, status, resource } = entry
  const cells = {
    time: time.slice(11, 23),
    id: `#${id}`,
    client: client.name,
    operation,
    status: statusText(status),
    resource,
  }
  const color = colorOf(entry)
  const first = row(cells, screen, color)
  const why = whyText(entry)
  if (why === undefined) return [first]
  const lines = wrapText(why, screen.width - WHY_AT)
  return [first, ...lines.map((line) => ' '.repeat(WHY_AT) + colorText(line, color, screen))]
}

function colorOf({ isConflict, errorCode }: JournalEntry): Color | undefined {
  if (isConflict) return 'red'
  return errorCode === undefined ? undefined : 'yellow'
}

function colorText(text: string, color: Color | undefined, screen: Screen): string {
  return color === undefined ? text : colored(text, color, screen)
}

/** The name of an NTSTATUS is too long for the column; an error is named in full in the second line. */
function statusText(status: JournalEntry['status']): string {
  if (status === 0) return '–'
  if (typeof status === 'number') return String(status)
  return status === 'SUCCESS' ? 'OK' : 'err'
}

const GAP = '  '
const FIXED = { time: 12, id: 7, status: 3 } as const
const WHY_AT = FIXED.time + GAP.length

/** Clients and operations get a share of what the other columns leave; the rest is the resource's. */
function widthsFor({ width }: Screen): Readonly<Record<keyof Cells, number>> {
  const free = width - FIXED.time - FIXED.id - FIXED.status - 5 * GAP.length
  const client = share(free, 0.18, 8, 24)
  const operation = share(free, 0.27, 14, 28)
  return { ...FIXED, client, operation, resource: free - client - operation }
}

function share(width: number, part: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, Math.round(width * part)))
}

const ORDER = ['time', 'id', 'client', 'operation', 'status', 'resource'] as const

function row(cells: Cells, screen: Screen, statusColor?: Color): string {
  const widths = widthsFor(screen)
  const texts = ORDER.map((name) => {
    const width = widths[name]
    const text = printableText(cells[name])
    // Of a name, the end tells more.
    const cut = name === 'operation' ? cutEnd(text, width) : cutText(text, width)
    const padded = name === 'resource' ? cut : cut.padEnd(width)
    return name === 'status' ? colorText(padded, statusColor, screen) : padded
  })
  return texts.join(GAP).trimEnd()
}

function cutEnd(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`
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
