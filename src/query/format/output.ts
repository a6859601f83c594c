// Formats the rows of the result as delimited text or JSON.
import { toJson, toText } from '../language/value.ts'
import type { DelimitedFormat, JsonFormat } from './format.ts'
import type { OutputRow } from './input.ts'

export type Output = {
  /** The header row; empty if the format has none. */
  header(names: readonly string[]): string
  row(row: OutputRow): string
}

export function createOutput(format: DelimitedFormat | JsonFormat): Output {
  return format.type === 'json' ? createJsonOutput(format) : createDelimitedOutput(format)
}

function createDelimitedOutput(format: DelimitedFormat): Output {
  const { columnSeparator, recordSeparator, hasHeaders } = format
  const field = fieldWriter(format)
  const line = (texts: readonly string[]) =>
    texts.map(field).join(columnSeparator) + recordSeparator
  return {
    header: (names) => (hasHeaders ? line(names) : ''),
    row: ({ values }) => line(values.map(toText)),
  }
}

/** Quotes a field only if it would otherwise be read back differently; escapes it if the format has no quotes. */
function fieldWriter(format: DelimitedFormat): (text: string) => string {
  const { columnSeparator, recordSeparator, fieldQuote, escapeChar } = format
  // The first character of a separator is special on its own, since the rest of it might follow the field.
  const separators = [columnSeparator, recordSeparator].map(([first = '']) => first)
  const returns = recordSeparator === '\n' ? ['\r'] : []
  const special = [...separators, ...returns, fieldQuote, escapeChar].filter((mark) => mark !== '')
  const write = fieldQuote === '' ? escaper(special, escapeChar) : quoter(fieldQuote, escapeChar)
  const pattern = new RegExp(anyOf(special))
  return (text) => (pattern.test(text) ? write(text) : text)
}

function quoter(quote: string, escape: string): (text: string) => string {
  if (escape === '') return (text) => quote + text.replaceAll(quote, () => quote + quote) + quote
  const escaped = escaper([escape, quote], escape)
  return (text) => quote + escaped(text) + quote
}

function escaper(special: readonly string[], escape: string): (text: string) => string {
  if (escape === '') return (text) => text
  const pattern = new RegExp(anyOf(special), 'g')
  return (text) => text.replaceAll(pattern, (mark) => escape + mark)
}

function anyOf(marks: readonly string[]): string {
  const literal = (mark: string) => mark.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`)
  return marks.map(literal).join('|')
}

function createJsonOutput({ recordSeparator }: JsonFormat): Output {
  return {
    header: () => '',
    row: (row) => (row.json ?? jsonObject(row)) + recordSeparator,
  }
}

/** MISSING fields are omitted; NULL fields are null. */
function jsonObject({ names, values }: OutputRow): string {
  const fields: string[] = []
  for (const [at, value] of values.entries()) {
    if (value !== undefined)
      fields.push(`${JSON.stringify(names[at] ?? `_${at + 1}`)}:${toJson(value)}`)
  }
  return `{${fields.join(',')}}`
}
