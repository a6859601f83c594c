// Delimited text: rows of fields, all of them strings. Records are found in the bytes and only then decoded, so no
// multi-byte character is ever split. Nearly every record has neither quotes nor escapes; it is found by searching
// for its separator and split at the column separator.
import { QueryError, syntaxError } from '../query-error.ts'
import { readBatches, withoutAlias } from './input.ts'
import { parseCsvFields } from './csv-fields.ts'
import type { DelimitedFormat } from './format.ts'
import type { Evaluate } from '../language/evaluate.ts'
import type { Path } from '../language/expression.ts'
import type { Input, OutputRow, RowPlace, SplitRows } from './input.ts'

type DelimitedRow = RowPlace & { readonly fields: readonly string[] }

export function createDelimitedInput(
  format: DelimitedFormat,
  alias: string | undefined,
): Input<DelimitedRow> {
  let headers: readonly string[] | undefined
  const namesOf = columnNames(() => headers)
  const split = (bytes: Buffer, offset: number, last: boolean): SplitRows<DelimitedRow> => {
    const found = splitRecords(bytes, offset, last, format)
    if (!format.hasHeaders || headers !== undefined || found.rows.length === 0) return found
    headers = found.rows[0]?.fields
    return { ...found, rows: found.rows.slice(1) }
  }
  return {
    read: (source) => readBatches(source, split),
    column: (path) => delimitedColumn(withoutAlias(path, alias), format, () => headers),
    all: ({ fields }): OutputRow => ({ names: namesOf(fields.length), values: fields }),
    names: () => headers,
  }
}

/** The names of the first `count` columns: those of the header, then _n. Rows of the same length share a list. */
function columnNames(headers: () => readonly string[] | undefined) {
  const cache = new Map<number, readonly string[]>()
  return (count: number): readonly string[] => {
    const names =
      cache.get(count) ?? Array.from({ length: count }, (_, at) => headers()?.[at] ?? `_${at + 1}`)
    cache.set(count, names)
    return names
  }
}

function delimitedColumn(
  path: Path,
  format: DelimitedFormat,
  headers: () => readonly string[] | undefined,
): Evaluate<DelimitedRow> {
  const [step, more] = path
  if (step === undefined || more !== undefined || !('name' in step)) {
    throw syntaxError('Delimited text has no nested columns.')
  }
  const ordinal = step.quoted ? null : /^_(\d{1,9})$/.exec(step.name)
  if (ordinal !== null) return columnAt(Number(ordinal[1]) - 1)
  if (!format.hasHeaders) throw syntaxError(`Column '${step.name}' needs a header row.`)
  let column: Evaluate<DelimitedRow> | undefined
  return (row) => {
    column ??= columnAt(headerIndex(headers() ?? [], step.name, step.quoted))
    return column(row)
  }
}

function columnAt(index: number): Evaluate<DelimitedRow> {
  if (index < 0) throw syntaxError('The first column is _1.')
  return ({ fields }) => {
    const value = fields[index]
    if (value === undefined) throw new QueryError('InvalidColumnOrdinal')
    return value
  }
}

/** "Unquoted field names are case-insensitive." */
function headerIndex(headers: readonly string[], name: string, quoted: boolean): number {
  const exact = headers.indexOf(name)
  const wanted = name.toLowerCase()
  const index =
    exact < 0 && !quoted ? headers.findIndex((header) => header.toLowerCase() === wanted) : exact
  if (index < 0) throw new QueryError('InvalidColumnName', `There is no column '${name}'.`)
  return index
}

/** The end of a record's text, and the start of the next record. */
type RecordEnd = { readonly end: number; readonly next: number; readonly plain: boolean }

/** The separators, quote and escape as bytes; an empty one is never found. */
type Marks = {
  readonly column: Buffer
  readonly record: Buffer
  readonly quote: Buffer
  readonly escape: Buffer
}

function splitRecords(
  bytes: Buffer,
  offset: number,
  last: boolean,
  format: DelimitedFormat,
): SplitRows<DelimitedRow> {
  const marks = marksOf(format)
  const nextQuote = finder(bytes, marks.quote)
  const nextEscape = finder(bytes, marks.escape)
  const rows: DelimitedRow[] = []
  let at = 0
  while (at < bytes.length) {
    const plainEnd = plainRecordEnd(bytes, at, marks, last)
    const upTo = plainEnd?.end ?? bytes.length
    const isPlain = nextQuote(at) >= upTo && nextEscape(at) >= upTo
    const found = isPlain ? plainEnd : quotedRecordEnd(bytes, at, marks, last)
    if (found === 'unterminated') return { rows, usedBytes: at, failure: unterminated(offset + at) }
    if (found === undefined) break
    const text = bytes.toString('utf8', at, withoutReturn(bytes, at, found.end, format))
    const fields = found.plain ? text.split(format.columnSeparator) : parseCsvFields(text, format)
    rows.push({ fields, position: offset + at, endPosition: offset + found.next })
    at = found.next
  }
  return { rows, usedBytes: at }
}

function marksOf(format: DelimitedFormat): Marks {
  return {
    column: Buffer.from(format.columnSeparator),
    record: Buffer.from(format.recordSeparator),
    quote: Buffer.from(format.fieldQuote),
    escape: Buffer.from(format.escapeChar),
  }
}

/** Finds the next mark; searches again only after the last one found was passed. */
function finder(bytes: Buffer, mark: Buffer): (from: number) => number {
  let found = -1
  return (from) => {
    if (mark.length === 0) return Infinity
    if (found < from) {
      const index = bytes.indexOf(mark, from)
      found = index < 0 ? Infinity : index
    }
    return found
  }
}

// A carriage return before the line feed is part of the separator: in the recordings of Azure's SDK for Python, CRLF
// files read with '\n' give rows without it.
function withoutReturn(bytes: Buffer, start: number, end: number, format: DelimitedFormat): number {
  const isReturn = format.recordSeparator === '\n' && end > start && bytes[end - 1] === 13
  return isReturn ? end - 1 : end
}

function plainRecordEnd(
  bytes: Buffer,
  from: number,
  { record }: Marks,
  last: boolean,
): RecordEnd | undefined {
  const end = bytes.indexOf(record, from)
  if (end >= 0) return { end, next: end + record.length, plain: true }
  return last ? { end: bytes.length, next: bytes.length, plain: true } : undefined
}

/** Ignores separators inside quotes and after an escape. A quote counts only at the start of a field. */
function quotedRecordEnd(
  bytes: Buffer,
  from: number,
  marks: Marks,
  last: boolean,
): RecordEnd | 'unterminated' | undefined {
  let fieldBegins = true
  let at = from
  while (at < bytes.length) {
    if (fieldBegins && isAt(bytes, at, marks.quote)) {
      at = quoteEnd(bytes, at, marks.quote, marks.escape)
      if (at < 0) return last ? 'unterminated' : undefined
      fieldBegins = false
    } else if (isAt(bytes, at, marks.escape)) {
      at += marks.escape.length + 1
      fieldBegins = false
    } else if (isAt(bytes, at, marks.record)) {
      return { end: at, next: at + marks.record.length, plain: false }
    } else {
      fieldBegins = isAt(bytes, at, marks.column)
      at += fieldBegins ? marks.column.length : 1
    }
  }
  return last ? { end: bytes.length, next: bytes.length, plain: false } : undefined
}

function isAt(bytes: Buffer, at: number, mark: Buffer): boolean {
  if (mark.length === 0 || bytes[at] !== mark[0]) return false
  return mark.length === 1 || bytes.subarray(at, at + mark.length).equals(mark)
}

/** The position after the closing quote, or -1 if there is none. */
function quoteEnd(bytes: Buffer, from: number, quote: Buffer, escape: Buffer): number {
  let at = from + quote.length
  while (at < bytes.length) {
    if (isAt(bytes, at, escape)) at += escape.length + 1
    else if (!isAt(bytes, at, quote)) at += 1
    else if (isAt(bytes, at + quote.length, quote)) at += quote.length * 2
    else return at + quote.length
  }
  return -1
}

function unterminated(position: number): QueryError {
  return new QueryError('ParseError', 'A quoted field has no closing quote.', position)
}
