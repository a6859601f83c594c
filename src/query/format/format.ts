// How the blob is written and how the answer shall be: <InputSerialization> and <OutputSerialization> of
// Query Blob Contents, decoded. Parquet and Arrow are named so that they can be refused by name.
import { QueryError, syntaxError } from '../query-error.ts'

export type DelimitedFormat = {
  readonly type: 'delimited'
  readonly columnSeparator: string
  readonly recordSeparator: string
  /** Empty: fields are never quoted. */
  readonly fieldQuote: string
  /** Empty: nothing is escaped. */
  readonly escapeChar: string
  readonly hasHeaders: boolean
}

export type JsonFormat = { readonly type: 'json'; readonly recordSeparator: string }
export type InputFormat = DelimitedFormat | JsonFormat | { readonly type: 'parquet' }
export type OutputFormat = DelimitedFormat | JsonFormat | { readonly type: 'arrow' }

/** What the service takes for an absent <InputSerialization> or <OutputSerialization>. */
export const DELIMITED_DEFAULT: DelimitedFormat = {
  type: 'delimited',
  columnSeparator: ',',
  recordSeparator: '\n',
  fieldQuote: '"',
  escapeChar: '',
  hasHeaders: false,
}

export function checkInputFormat(format: InputFormat): DelimitedFormat | JsonFormat {
  if (format.type === 'parquet') throw unsupported('Parquet input')
  return withSeparators(format)
}

export function checkOutputFormat(format: OutputFormat): DelimitedFormat | JsonFormat {
  if (format.type === 'arrow') throw unsupported('Arrow output')
  return withSeparators(format)
}

function unsupported(what: string): QueryError {
  return new QueryError('InvalidXmlNodeValue', `${what} is not supported.`)
}

// An empty separator means the usual one, which the recordings of Azure's SDKs show for JSON.
function withSeparators(format: DelimitedFormat | JsonFormat): DelimitedFormat | JsonFormat {
  const recordSeparator = format.recordSeparator === '' ? '\n' : format.recordSeparator
  if (format.type === 'json') return { ...format, recordSeparator }
  const columnSeparator = format.columnSeparator === '' ? ',' : format.columnSeparator
  // Azure's SDK for Java notes the service's words, also for a line break as column separator whatever
  // ends the records.
  if (columnSeparator === recordSeparator || /^[\r\n]+$/.test(columnSeparator)) {
    throw syntaxError('Field delimiter and record delimiter must be different characters.')
  }
  // A quote that escapes itself is what a doubled quote is anyway.
  const escapeChar = format.escapeChar === format.fieldQuote ? '' : format.escapeChar
  return { ...format, recordSeparator, columnSeparator, escapeChar }
}
