// Parses the fields of a record of delimited text that contains quotes or escapes.
import type { DelimitedFormat } from './format.ts'

export function parseCsvFields(record: string, format: DelimitedFormat): readonly string[] {
  const fields: string[] = []
  let at = 0
  for (;;) {
    const { text, next } = parseField(record, at, format)
    fields.push(text)
    if (next === undefined) return fields
    at = next
  }
}

/** `next` is the start of the next field; undefined after the last. */
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

/** The quoted part of the field, if it starts with a quote. The rest of the field is plain text. */
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

/** The escaped character, or undefined if there is no escape here. */
function escapedAt(record: string, at: number, escapeChar: string): string | undefined {
  if (escapeChar === '' || !record.startsWith(escapeChar, at)) return undefined
  const character = record.codePointAt(at + escapeChar.length)
  return character === undefined ? undefined : String.fromCodePoint(character)
}
