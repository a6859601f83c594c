// Tables and lines for a terminal.

export type TextColumn<Row> = readonly [
  title: string,
  text: (row: Row) => string,
  /** A longer text is cut; by default it is not. */
  widthMax?: number,
]

/** A line for the titles, and one for each row. */
export function tableLines<Row>(
  columns: readonly TextColumn<Row>[],
  rows: readonly Row[],
): readonly string[] {
  const cells = [
    columns.map(([title]) => title),
    ...rows.map((row) =>
      columns.map(([, text, widthMax]) => cutText(printableText(text(row)), widthMax)),
    ),
  ]
  const widths = columns.map((_, at) => Math.max(...cells.map((row) => row[at]?.length ?? 0)))
  return cells.map((row) =>
    row
      .map((text, at) => text.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  )
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
