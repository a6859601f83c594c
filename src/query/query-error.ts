// Errors of a query. An expression that can't be run is rejected before the first byte (the service: 400
// ErrorProcessingQueryExpression). An error found while reading becomes an `error` record in the stream, named
// after its code. A fatal error ends the query; any other only drops its row.

/** Each code, whether it is fatal, and its default description. */
const QUERY_ERRORS = {
  ErrorProcessingQueryExpression: { fatal: true, description: 'Syntax error!' },
  InvalidXmlNodeValue: { fatal: true, description: 'The format is not supported.' },
  ParseError: { fatal: true, description: 'The data is not in the expected format.' },
  RecordTooLarge: { fatal: true, description: 'A record is larger than the allowed maximum.' },
  // The service's code and message for any operation that takes too long.
  OperationTimedOut: {
    fatal: true,
    description: 'Operation could not be completed within the permitted time.',
  },
  InvalidColumnName: { fatal: true, description: 'Invalid column name.' },
  // From the recorded tests of Azure's SDKs for JavaScript, Java and Python.
  InvalidColumnOrdinal: { fatal: false, description: 'Invalid column ordinal.' },
  InvalidTypeConversion: { fatal: false, description: 'Invalid type conversion.' },
  ArithmeticOverflow: { fatal: false, description: 'Arithmetic overflow.' },
  DivideByZero: { fatal: false, description: 'Divide by zero.' },
} as const

export type QueryErrorCode = keyof typeof QUERY_ERRORS

export class QueryError extends Error {
  readonly code: QueryErrorCode
  readonly fatal: boolean
  /** The offset in the blob, if the error is not at the start of the current row. */
  readonly position: number | undefined

  constructor(code: QueryErrorCode, description?: string, position?: number) {
    super(description ?? QUERY_ERRORS[code].description)
    this.name = 'QueryError'
    this.code = code
    this.fatal = QUERY_ERRORS[code].fatal
    this.position = position
  }
}

export function syntaxError(why: string): QueryError {
  return new QueryError('ErrorProcessingQueryExpression', `Syntax error! ${why}`)
}
