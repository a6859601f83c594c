// The formats of the blob and of the result: <InputSerialization> and <OutputSerialization> of Query Blob Contents,
// decoded. Parquet and Arrow are only here to be rejected as unsupported.
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

/** The service's default for <InputSerialization> and <OutputSerialization>. */
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

// An empty separator means the default one: for JSON, the recordings of Azure's SDKs show it.
function withSeparators(format: DelimitedFormat | JsonFormat): DelimitedFormat | JsonFormat {
  const recordSeparator = format.recordSeparator === '' ? '\n' : format.recordSeparator
  if (format.type === 'json') return { ...format, recordSeparator }
  const columnSeparator = format.columnSeparator === '' ? ',' : format.columnSeparator
  // The service's message, quoted in Azure's SDK for Java. It also applies to a line break as column separator,
  // whatever the record separator is.
  if (columnSeparator === recordSeparator || /^[\r\n]+$/.test(columnSeparator)) {
    throw syntaxError('Field delimiter and record delimiter must be different characters.')
  }
  // A doubled quote is an escaped quote anyway.
  const escapeChar = format.escapeChar === format.fieldQuote ? '' : format.escapeChar
  return { ...format, recordSeparator, columnSeparator, escapeChar }
}
