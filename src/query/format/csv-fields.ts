// The fields of one record of delimited text that has quotes or escapes in it.
import type { DelimitedFormat } from './format.ts'

export function parseFields(record: string, format: DelimitedFormat): readonly string[] {
  const fields: string[] = []
  let at = 0
  for (;;) {
    const { text, next } = parseField(record, at, format)
    fields.push(text)
    if (next === undefined) return fields
    at = next
  }
}

/** `next` is where the next field begins; undefined after the last. */
type Field = { readonly text: string; readonly next: number | undefined }

function parseField(record: string, from: number, format: DelimitedFormat): Field {
  const { columnSeparator, escapeChar } = format
  let { text, at } = parseQuoted(record, from, format)
  while (at < record.length) {
    if (record.startsWith(columnSeparator, at)) return { text, next: at + columnSeparator.length }
    const escaped = escapedAt(record, at, escapeChar)
    text += escaped ?? record[at] ?? ''
    at += escaped === undefined ? 1 : escapeChar.length + escaped.length
  }
  return { text, next: undefined }
}

/** What is between quotes, if the field begins with one; what follows the closing quote is taken as it is. */
function parseQuoted(record: string, from: number, format: DelimitedFormat) {
  const { fieldQuote, escapeChar } = format
  if (fieldQuote === '' || !record.startsWith(fieldQuote, from)) return { text: '', at: from }
  let text = ''
  let at = from + fieldQuote.length
  while (at < record.length) {
    const escaped = escapedAt(record, at, escapeChar)
    if (escaped !== undefined) {
      text += escaped
      at += escapeChar.length + escaped.length
    } else if (!record.startsWith(fieldQuote, at)) {
      text += record[at] ?? ''
      at += 1
    } else {
      at += fieldQuote.length
      if (!record.startsWith(fieldQuote, at)) break
      text += fieldQuote
      at += fieldQuote.length
    }
  }
  return { text, at }
}

/** The character that an escape stands before, or undefined when there is no escape. */
function escapedAt(record: string, at: number, escapeChar: string): string | undefined {
  if (escapeChar === '' || !record.startsWith(escapeChar, at)) return undefined
  const character = record.codePointAt(at + escapeChar.length)
  return character === undefined ? undefined : String.fromCodePoint(character)
}
