// JSON records: a sequence of values. Values are delimited by their own syntax, and separators between them are skipped
// like whitespace. The record separator can't be relied on: the tests of Azure's SDK for Python query a file without
// separators, those for Java query records of many lines.
import { parseJson, unexpectedToken } from './json.ts'
import { readBatches, withoutAlias } from './input.ts'
import { QueryError, syntaxError } from '../query-error.ts'
import { isJsonArray, isJsonObject, toJson } from '../language/value.ts'
import type { Budget } from '../run/budget.ts'
import type { Evaluate } from '../language/evaluate.ts'
import type { Path, PathStep } from '../language/expression.ts'
import type { JsonFormat } from './format.ts'
import type { Input, OutputRow, RowPlace, SplitRows } from './input.ts'
import type { SqlValue } from '../language/value.ts'

type JsonRow = RowPlace & {
  readonly value: SqlValue
  /** The text in the blob, if the row is a whole record. */
  readonly text: string | undefined
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const SCALAR = new Set(
  Buffer.from('+-.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'),
)

export function createJsonInput(
  format: JsonFormat,
  from: Path,
  alias: string | undefined,
): Input<JsonRow> {
  const separator = Buffer.from(format.recordSeparator)
  return {
    read: (source) =>
      readBatches(source, (bytes, offset, last) =>
        splitValues(bytes, offset, last, { separator, from }),
      ),
    column: (path, budget) => jsonColumn(withoutAlias(path, alias), budget),
    all: selectAll,
    names: () => undefined,
  }
}

// Only objects have columns; any other value is an empty row.
function selectAll({ value, text }: JsonRow): OutputRow {
  const fields = isJsonObject(value) ? value : new Map<string, SqlValue>()
  return { names: [...fields.keys()], values: [...fields.values()], json: text ?? toJson(value) }
}

function jsonColumn(path: Path, budget: Budget): Evaluate<JsonRow> {
  if (path.some((step) => 'every' in step)) throw syntaxError('[*] is only allowed in FROM.')
  return ({ value, position, endPosition }) => {
    let found = value
    for (const step of path) {
      // Worst case: names are compared one by one.
      budget.spend(isJsonObject(found) ? found.size : 1)
      found = stepInto(found, step)
    }
    // An operator that needs a string serializes the object.
    if (typeof found === 'object' && found !== null) budget.spend(endPosition - position)
    return found
  }
}

function stepInto(value: SqlValue, step: PathStep): SqlValue {
  if ('index' in step) return isJsonArray(value) ? value[step.index] : undefined
  if (!('name' in step) || !isJsonObject(value)) return undefined
  if (step.quoted || value.has(step.name)) return value.get(step.name)
  const wanted = step.name.toLowerCase()
  for (const [name, field] of value) if (name.toLowerCase() === wanted) return field
  return undefined
}

/** The rows that FROM selects in a record: none if the record lacks the path. */
function rowsOf(record: SqlValue, from: Path): readonly SqlValue[] {
  return from.reduce<readonly SqlValue[]>(
    (values, step) =>
      values.flatMap((value) => {
        if ('every' in step) return isJsonArray(value) ? value : []
        const inner = stepInto(value, step)
        return inner === undefined ? [] : [inner]
      }),
    [record],
  )
}

type Rules = { readonly separator: Buffer; readonly from: Path }

function splitValues(
  bytes: Buffer,
  offset: number,
  last: boolean,
  { separator, from }: Rules,
): SplitRows<JsonRow> {
  const rows: JsonRow[] = []
  let [at, start] = [0, 0]
  try {
    for (;;) {
      const begin = skipBetween(bytes, at, separator)
      // An error directly after a value, without a separator, has the position of that value, as in the service.
      if (begin > at) start = begin
      at = begin
      if (at >= bytes.length) return { rows, usedBytes: at }
      const end = valueEnd(bytes, at, last)
      if (end === undefined) return { rows, usedBytes: at }
      if (end === at) throw unexpectedAt(bytes, at, start)
      start = at
      pushRows(rows, bytes.toString('utf8', at, end), from, [offset + at, offset + end])
      at = end
    }
  } catch (error) {
    if (!(error instanceof QueryError)) throw error
    const failure = new QueryError(error.code, error.message, offset + start)
    return { rows, usedBytes: at, failure }
  }
}

function pushRows(
  rows: JsonRow[],
  text: string,
  from: Path,
  [position, endPosition]: readonly [number, number],
): void {
  const record = parseJson(text)
  if (from.length === 0) {
    rows.push({ value: record, text, position, endPosition })
    return
  }
  for (const value of rowsOf(record, from)) {
    rows.push({ value, text: undefined, position, endPosition })
  }
}

function skipBetween(bytes: Buffer, from: number, separator: Buffer): number {
  for (let at = from; ;) {
    const byte = bytes[at]
    if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) at += 1
    else if (byte === separator[0] && isAt(bytes, at, separator)) at += separator.length
    else return at
  }
}

function isAt(bytes: Buffer, at: number, mark: Buffer): boolean {
  return bytes.subarray(at, at + mark.length).equals(mark)
}

/** The end of the value that starts at `from`. Undefined if the value is incomplete, `from` if there is none. */
function valueEnd(bytes: Buffer, from: number, last: boolean): number | undefined {
  const first = bytes[from]
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return bracketsEnd(bytes, from, last)
  if (first === QUOTE) return stringEnd(bytes, from) ?? endOfBytes(bytes, last)
  let at = from
  while (SCALAR.has(bytes[at] ?? 0)) at += 1
  return at < bytes.length || last ? at : undefined
}

/** At the end of the blob an incomplete value is passed to the parser, which reports what is missing. */
const endOfBytes = (bytes: Buffer, last: boolean) => (last ? bytes.length : undefined)

function bracketsEnd(bytes: Buffer, from: number, last: boolean): number | undefined {
  let depth = 0
  for (let at = from; at < bytes.length; at += 1) {
    const byte = bytes[at]
    if (byte === QUOTE) at = (stringEnd(bytes, at) ?? bytes.length) - 1
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth += 1
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth -= 1
      if (depth === 0) return at + 1
    }
  }
  return endOfBytes(bytes, last)
}

function stringEnd(bytes: Buffer, from: number): number | undefined {
  for (let at = from + 1; at < bytes.length; at += 1) {
    if (bytes[at] === QUOTE) return at + 1
    if (bytes[at] === BACKSLASH) at += 1
  }
  return undefined
}

function unexpectedAt(bytes: Buffer, at: number, start: number): QueryError {
  const [token = ''] = bytes.toString('utf8', at, at + 4)
  return new QueryError('ParseError', unexpectedToken(token, at - start, "'{', or '['"))
}
