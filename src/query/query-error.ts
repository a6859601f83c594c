// What can go wrong with a query. An expression that can't be run is refused before the first byte (the
// service: 400 ErrorProcessingQueryExpression); what is found while reading is an `error` record in the
// stream, and its name is the code. A fatal one ends the query, any other only loses its row.

/** Each code, whether it is fatal, and its description where it has a fixed one. */
export const QUERY_ERRORS = {
  ErrorProcessingQueryExpression: { fatal: true, description: 'Syntax error!' },
  InvalidXmlNodeValue: { fatal: true, description: 'The format is not supported.' },
  ParseError: { fatal: true, description: 'The data is not in the expected format.' },
  RecordTooLarge: { fatal: true, description: 'A record is larger than the allowed maximum.' },
  // The service's code and message for whatever takes too long.
  OperationTimedOut: {
    fatal: true,
    description: 'Operation could not be completed within the permitted time.',
  },
  InvalidColumnName: { fatal: true, description: 'Invalid column name.' },
  // Recorded by the tests of Azure's SDKs for JavaScript, Java and Python.
  InvalidColumnOrdinal: { fatal: false, description: 'Invalid column ordinal.' },
  InvalidTypeConversion: { fatal: false, description: 'Invalid type conversion.' },
  ArithmeticOverflow: { fatal: false, description: 'Arithmetic overflow.' },
  DivideByZero: { fatal: false, description: 'Divide by zero.' },
} as const

export type QueryErrorCode = keyof typeof QUERY_ERRORS

export class QueryError extends Error {
  readonly code: QueryErrorCode
  readonly fatal: boolean
  /** The offset in the blob, where the thrower knows it better than the row it was thrown for. */
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
