// Query Blob Contents: a SQL expression over the bytes of a blob, answered as an Avro stream. prepareQuery
// does all that can fail before the first byte; what goes wrong after it is a record in the stream.
import { encodeAvroHeader } from './avro.ts'
import { createAnswer } from './answer.ts'
import { createDelimitedInput } from './csv.ts'
import { checkInputFormat, checkOutputFormat } from './format.ts'
import { createJsonInput } from './json-lines.ts'
import { createOutput } from './output.ts'
import { parseStatement } from './parse.ts'
import { createPlan } from './plan.ts'
import { QueryError, syntaxError } from './query-error.ts'
import type { Answer } from './answer.ts'
import type { DelimitedFormat, InputFormat, JsonFormat, OutputFormat } from './format.ts'
import type { Statement } from './expression.ts'
import type { Batch, Input, RowPlace } from './input.ts'
import type { Plan } from './plan.ts'

export type QueryRequest = {
  readonly expression: string
  readonly input: InputFormat
  readonly output: OutputFormat
}

export type QuerySource = {
  readonly chunks: AsyncIterable<Uint8Array>
  readonly totalBytes: number
  /** Sixteen bytes by chance. */
  readonly syncMarker: Uint8Array
}

export type PreparedQuery = { run(source: QuerySource): AsyncGenerator<Uint8Array> }

/** The service tells of its progress every 4 MiB. */
const PROGRESS_BYTES = 4 * 1024 * 1024

/** Throws a QueryError when the expression or a format can't be run. `nowMs` is what UTCNOW answers. */
export function prepareQuery(request: QueryRequest, nowMs: number): PreparedQuery {
  const input = checkInputFormat(request.input)
  const output = checkOutputFormat(request.output)
  const statement = parseStatement(request.expression)
  checkStatement(statement, input)
  // Inputs and plans have a state, so each run gets its own; the first is made to be sure that it can be.
  const start =
    input.type === 'json'
      ? starter(statement, () => createJsonInput(input, statement.from, statement.alias))
      : starter(statement, () => createDelimitedInput(input, statement.alias))
  start(output, nowMs)
  return { run: (source) => start(output, nowMs)(source) }
}

function checkStatement(statement: Statement, input: DelimitedFormat | JsonFormat): void {
  if (input.type === 'json' && statement.select.kind === 'split') {
    throw syntaxError('sys.split is for delimited text.')
  }
  if (input.type === 'delimited' && statement.from.length > 0) {
    throw syntaxError('Delimited text has no path in FROM.')
  }
}

function starter<Row extends RowPlace>(statement: Statement, createInput: () => Input<Row>) {
  return (output: DelimitedFormat | JsonFormat, nowMs: number) => {
    const input = createInput()
    const plan = createPlan(statement, input, createOutput(output), nowMs)
    return (source: QuerySource) => answerQuery(input, plan, source)
  }
}

async function* answerQuery<Row extends RowPlace>(
  input: Input<Row>,
  plan: Plan<Row>,
  { chunks, totalBytes, syncMarker }: QuerySource,
): AsyncGenerator<Uint8Array> {
  const answer = createAnswer(totalBytes, syncMarker)
  yield encodeAvroHeader(syncMarker)
  let failed = false
  let reportAtBytes = PROGRESS_BYTES
  for await (const batch of input.read(chunks)) {
    failed = yield* answerBatch(batch, plan, answer)
    answer.scanned(batch.scannedBytes)
    if (failed || plan.done()) break
    if (batch.scannedBytes >= reportAtBytes) {
      answer.progress()
      reportAtBytes = batch.scannedBytes + PROGRESS_BYTES
    }
    yield* answer.take()
  }
  if (!failed) answer.add(plan.finish())
  answer.end()
  yield* answer.take()
}

/** Whether the query has failed and must go no further. */
function* answerBatch<Row extends RowPlace>(
  { rows, failure }: Batch<Row>,
  plan: Plan<Row>,
  answer: Answer,
): Generator<Uint8Array, boolean> {
  for (const row of rows) {
    if (plan.done()) return false
    try {
      answer.add(plan.accept(row))
    } catch (error) {
      if (!(error instanceof QueryError)) throw error
      answer.error(error, row.position)
      if (error.fatal) return true
    }
    // A short row may become a long one: what is ready goes out before the next.
    if (answer.isFull()) yield* answer.take()
  }
  if (failure === undefined) return false
  answer.error(failure, 0)
  return true
}
