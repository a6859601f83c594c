// Comma-separated values (RFC 4180), as spreadsheets write them.
import { ControlError } from '../../control/control-error.ts'

/** One object per row, by the names of the first row. An empty field is left out. */
export function parseCsv(text: string, place: string): readonly Record<string, string>[] {
  const [names = [], ...rows] = rowsOf(text.replace(/^\uFEFF/, ''), place)
  return rows.map((row, at) => {
    if (row.length > names.length) {
      throw new ControlError(`${place}: row ${at + 2} has more fields than the first row`)
    }
    const fields = row.map((value, column) => [names[column] ?? '', value] as const)
    return Object.fromEntries(fields.filter(([, value]) => value !== ''))
  })
}

const FIELD = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/y

function rowsOf(text: string, place: string): readonly (readonly string[])[] {
  const rows: string[][] = []
  let row: string[] = []
  FIELD.lastIndex = 0
  while (FIELD.lastIndex < text.length) {
    const found = FIELD.exec(text)
    if (found === null) throw new ControlError(`${place}: row ${rows.length + 1} is not valid CSV`)
    const [, quoted, plain = '', end] = found
    row.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'))
    if (end === ',') {
      if (FIELD.lastIndex === text.length) row.push('')
      else continue
    }
    rows.push(row)
    row = []
  }
  return rows
}
