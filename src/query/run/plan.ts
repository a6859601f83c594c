// A statement compiled for one run: takes rows and returns the text of the result.
import { createAggregate } from '../language/aggregate.ts'
import { compile, isTrue } from '../language/evaluate.ts'
import type { Evaluate, Scope } from '../language/evaluate.ts'
import type { SelectedColumn, Statement } from '../language/expression.ts'
import type { Input, OutputRow, RowPlace } from '../format/input.ts'
import type { Output } from '../format/output.ts'

export type Plan<Row> = {
  /** Throws a QueryError if the row can't be evaluated. */
  accept(row: Row): string
  /** The text after the last row. */
  finish(): string
  /** No further row can change the answer. */
  done(): boolean
}

/** What SELECT outputs: for each row that WHERE keeps (`row`), and after the last one (`rest`). */
type Projection<Row> = {
  readonly names: () => readonly string[] | undefined
  readonly row: (row: Row) => OutputRow | undefined
  readonly rest: () => OutputRow | undefined
}

export function createPlan<Row extends RowPlace>(
  statement: Statement,
  input: Input<Row>,
  output: Output,
  { nowMs, budget }: Pick<Scope<Row>, 'nowMs' | 'budget'>,
): Plan<Row> {
  const scope: Scope<Row> = { column: input.column, nowMs, budget }
  const where = statement.where && compile(statement.where, scope)
  const projection = createProjection(statement, input, scope)
  let left = statement.limit ?? Infinity
  let hasHeader = false
  const write = (row: OutputRow | undefined): string => {
    if (row === undefined || left <= 0) return ''
    const header = hasHeader ? '' : output.header(row.names)
    hasHeader = true
    left -= 1
    return header + output.row(row)
  }
  return {
    accept: (row) => (where === undefined || isTrue(where(row)) ? write(projection.row(row)) : ''),
    finish() {
      const text = write(projection.rest())
      return hasHeader ? text : output.header(projection.names() ?? [])
    },
    done: () => left <= 0,
  }
}

function createProjection<Row extends RowPlace>(
  { select }: Statement,
  input: Input<Row>,
  scope: Scope<Row>,
): Projection<Row> {
  switch (select.kind) {
    case 'all':
      return { names: input.names, row: input.all, rest: () => undefined }
    case 'columns':
      return selectColumns(select.columns, scope)
    case 'split':
      return split(select.sizeBytes)
    case 'aggregate': {
      const { add, result } = createAggregate(select.aggregate)
      // COUNT(*) counts a constant that is never NULL.
      const operand = select.operand ? compile(select.operand, scope) : () => true
      const names = [select.name]
      return {
        names: () => names,
        row: (row) => void add(operand(row)),
        rest: () => ({ names, values: [result()] }),
      }
    }
  }
}

function selectColumns<Row>(
  columns: readonly SelectedColumn[],
  scope: Scope<Row>,
): Projection<Row> {
  const names = columns.map(({ name }) => name)
  const parts: readonly Evaluate<Row>[] = columns.map(({ expression }) =>
    compile(expression, scope),
  )
  return {
    names: () => names,
    row: (row) => ({ names, values: parts.map((part) => part(row)) }),
    rest: () => undefined,
  }
}

/** sys.split: the sizes of batches of whole records. A batch ends once it reaches the requested size. */
function split<Row extends RowPlace>(sizeBytes: number): Projection<Row> {
  const names = ['_1']
  let [start, end] = [0, 0]
  const batch = () => {
    const size = end - start
    start = end
    return { names, values: [BigInt(size)] }
  }
  return {
    names: () => names,
    row(row) {
      end = row.endPosition
      return end - start >= sizeBytes ? batch() : undefined
    },
    rest: () => (end > start ? batch() : undefined),
  }
}
