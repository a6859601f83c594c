// Tables and lines for a terminal.

export type TextColumn<Row> = readonly [
  title: string,
  text: (row: Row) => string,
  /** A longer text is cut, in a table of 120 columns; by default it is not. */
  widthMax?: number,
]

const WIDTH = 120
const GAP = '  '
/** Less of a text tells nothing. */
const CUT_MIN = 10

/** A line for the titles, and one for each row. Columns that may be cut take the room that `width` leaves them. */
export function tableLines<Row>(
  columns: readonly TextColumn<Row>[],
  rows: readonly Row[],
  width = WIDTH,
): readonly string[] {
  const cells = [
    columns.map(([title]) => title),
    ...rows.map((row) => columns.map(([, text]) => printableText(text(row)))),
  ]
  const limits = columns.map(([, , widthMax = Infinity]) => widthMax * Math.max(1, width / WIDTH))
  const widths = limits.map((limit, at) =>
    Math.min(Math.floor(limit), Math.max(...cells.map((row) => row[at]?.length ?? 0))),
  )
  shrink(
    widths,
    columns.map(([, , widthMax]) => widthMax !== undefined),
    width,
  )
  return cells.map((row) =>
    row
      .map((text, at) => cutText(text, widths[at]).padEnd(widths[at] ?? 0))
      .join(GAP)
      .trimEnd(),
  )
}

/** Takes from the widest of the columns that may be cut, as long as there is something to take. */
function shrink(widths: number[], mayBeCut: readonly boolean[], width: number): void {
  const total = (): number => widths.reduce((sum, each) => sum + each + GAP.length, -GAP.length)
  for (let over = total() - width; over > 0; over -= 1) {
    const widest = Math.max(...widths.filter((_, at) => mayBeCut[at] === true))
    if (widest <= CUT_MIN) return
    widths[widths.findIndex((each, at) => mayBeCut[at] === true && each === widest)] = widest - 1
  }
}

/** Keeps the end, which tells one path from another. */
export function cutText(text: string, widthMax: number = Infinity): string {
  return text.length <= widthMax ? text : `…${text.slice(1 - widthMax)}`
}

// oxlint-disable-next-line no-control-regex -- control characters are what is replaced
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g

/** Names come from clients: they must not move the cursor, nor look like lines of their own. */
export function printableText(text: string): string {
  return text.replaceAll(CONTROL, (c) => `%${c.charCodeAt(0).toString(16).padStart(2, '0')}`)
}

/** Lines of at most `width` characters, broken at spaces. */
export function wrapText(text: string, width: number): readonly string[] {
  const lines: string[] = []
  let line = ''
  for (const word of printableText(text).split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return line === '' ? lines : [...lines, line]
}
