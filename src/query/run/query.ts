// Query Blob Contents: runs a SQL expression over the bytes of a blob and answers with an Avro stream. prepareQuery
// does everything that can fail before the first byte; later errors are records in the stream.
import { encodeAvroHeader } from '../format/avro.ts'
import type { Budget } from './budget.ts'
import { createQueryAnswer } from '../format/answer.ts'
import { createDelimitedInput } from '../format/csv.ts'
import { checkInputFormat, checkOutputFormat } from '../format/format.ts'
import { createJsonInput } from '../format/json-lines.ts'
import { createOutput } from '../format/output.ts'
import { parseStatement } from '../language/parse.ts'
import { createPlan } from './plan.ts'
import { QueryError, syntaxError } from '../query-error.ts'
import type { QueryAnswer } from '../format/answer.ts'
import type { DelimitedFormat, InputFormat, JsonFormat, OutputFormat } from '../format/format.ts'
import type { Statement } from '../language/expression.ts'
import type { Input, RowPlace } from '../format/input.ts'
import type { Plan } from './plan.ts'

export type QueryRequest = {
  readonly expression: string
  readonly input: InputFormat
  readonly output: OutputFormat
}

export type QuerySource = {
  readonly chunks: AsyncIterable<Uint8Array>
  readonly totalBytes: number
  /** Sixteen random bytes. */
  readonly syncMarker: Uint8Array
  /** Yields to other queries; called every few milliseconds of work. */
  giveWay(): Promise<void>
}

type PreparedQuery = { run(source: QuerySource): AsyncGenerator<Uint8Array> }

/** The service reports progress every 4 MiB. */
const PROGRESS_BYTES = 4 * 1024 * 1024

/** Throws a QueryError if the expression or a format is invalid. `nowMs` is the value of UTCNOW. */
export function prepareQuery(request: QueryRequest, nowMs: number, budget: Budget): PreparedQuery {
  const input = checkInputFormat(request.input)
  const output = createOutput(checkOutputFormat(request.output))
  const statement = parseStatement(request.expression)
  checkStatement(statement, input)
  if (input.type === 'json') {
    const rows = createJsonInput(input, statement.from, statement.alias)
    const plan = createPlan(statement, rows, output, { nowMs, budget })
    return { run: (source) => answerQuery(rows, plan, budget, source) }
  }
  const rows = createDelimitedInput(input, statement.alias)
  const plan = createPlan(statement, rows, output, { nowMs, budget })
  return { run: (source) => answerQuery(rows, plan, budget, source) }
}

function checkStatement(statement: Statement, input: DelimitedFormat | JsonFormat): void {
  if (input.type === 'json' && statement.select.kind === 'split') {
    throw syntaxError('sys.split is only for delimited text.')
  }
  if (input.type === 'delimited' && statement.from.length > 0) {
    throw syntaxError('Delimited text has no path in FROM.')
  }
}

type Running<Row> = {
  readonly plan: Plan<Row>
  readonly budget: Budget
  readonly answer: QueryAnswer
}

async function* answerQuery<Row extends RowPlace>(
  input: Input<Row>,
  plan: Plan<Row>,
  budget: Budget,
  { chunks, totalBytes, syncMarker, giveWay }: QuerySource,
): AsyncGenerator<Uint8Array> {
  const answer = createQueryAnswer(totalBytes, syncMarker)
  const running = { plan, budget, answer }
  yield encodeAvroHeader(syncMarker)
  let state: RowsState = 'ended'
  let reportAtBytes = PROGRESS_BYTES
  for await (const { rows, scannedBytes, failure } of input.read(chunks)) {
    budget.scanned(scannedBytes)
    const left = rows.values()
    for (;;) {
      state = answerRows(left, failure, running)
      if (state !== 'paused') break
      yield* takeReady(running)
      await giveWay()
    }
    answer.scanned(scannedBytes)
    if (state === 'failed' || plan.done()) break
    if (scannedBytes >= reportAtBytes) {
      answer.progress()
      reportAtBytes = scannedBytes + PROGRESS_BYTES
    }
    yield* takeReady(running)
  }
  if (state !== 'failed') answer.add(plan.finish())
  answer.end()
  yield* answer.take()
}

/** The blocks to send. If there has been no output for a while, they include a progress record. */
function takeReady<Row>({ answer, budget }: Running<Row>): readonly Uint8Array[] {
  if (budget.isSilent()) answer.progress()
  const ready = answer.take()
  if (ready.length > 0) budget.spoke()
  return ready
}

/** 'paused': rows are left, but output should be sent first, or other queries should run. */
type RowsState = 'ended' | 'failed' | 'paused'

function answerRows<Row extends RowPlace>(
  rows: IterableIterator<Row>,
  failure: QueryError | undefined,
  { plan, budget, answer }: Running<Row>,
): RowsState {
  for (const row of rows) {
    if (plan.done()) return 'ended'
    try {
      budget.beginRow(row.endPosition - row.position)
      answer.add(plan.accept(row))
    } catch (error) {
      if (!(error instanceof QueryError)) throw error
      answer.error(error, row.position)
      if (error.fatal) return 'failed'
    }
    if (answer.isFull() || budget.isTurnOver()) return 'paused'
  }
  if (failure === undefined) return 'ended'
  answer.error(failure, 0)
  return 'failed'
}
