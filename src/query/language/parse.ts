// A query acceleration statement: SELECT … FROM BlobStorage [WHERE …] [LIMIT …].
// https://learn.microsoft.com/azure/storage/blobs/query-acceleration-sql-reference
import { parseExpression } from './parse-expression.ts'
import { syntaxError } from '../query-error.ts'
import { createTokenCursor } from './token-cursor.ts'
import type {
  AggregateName,
  Expression,
  Path,
  PathStep,
  Select,
  SelectedColumn,
  Statement,
} from './expression.ts'
import type { TokenCursor } from './token-cursor.ts'

/** "The maximum number of specific columns that you can use in the SELECT expression is 49." */
const COLUMN_COUNT_MAX = 49

/** "The split_size must be at least 10 MB (10485760)." */
const SPLIT_SIZE_BYTES_MIN = 10 * 1024 * 1024

const AGGREGATES: Readonly<Record<string, AggregateName>> = {
  COUNT: 'COUNT',
  AVG: 'AVG',
  AVERAGE: 'AVG',
  SUM: 'SUM',
  MIN: 'MIN',
  MAX: 'MAX',
}

export function parseStatement(expression: string): Statement {
  const cursor = createTokenCursor(expression)
  cursor.expect('SELECT')
  const select = parseSelect(cursor)
  cursor.expect('FROM')
  const from = parseFrom(cursor)
  const alias = parseAlias(cursor)
  const where = cursor.take('WHERE') ? parseExpression(cursor) : undefined
  const limit = cursor.take('LIMIT') ? parseCount(cursor) : undefined
  cursor.take(';')
  if (cursor.peek().kind !== 'end') throw syntaxError(`Unexpected '${cursor.peek().text}'.`)
  if (select.kind === 'split' && where !== undefined) {
    throw syntaxError('sys.split does not allow WHERE.')
  }
  return { select, from, alias, where, limit }
}

function parseSelect(cursor: TokenCursor): Select {
  if (cursor.take('*')) return { kind: 'all' }
  if (cursor.peek().word === 'SYS' && cursor.peek(1).word === '.') return parseSplit(cursor)
  const aggregate = parseAggregate(cursor)
  if (aggregate !== undefined) return aggregate
  const columns: SelectedColumn[] = []
  do {
    columns.push(parseColumn(cursor, columns.length + 1))
    if (columns.length > COLUMN_COUNT_MAX) throw syntaxError('SELECT has more than 49 columns.')
  } while (cursor.take(','))
  return { kind: 'columns', columns }
}

function parseColumn(cursor: TokenCursor, ordinal: number): SelectedColumn {
  const expression = parseExpression(cursor)
  const name = parseName(cursor)
  return { expression, name: name ?? columnName(expression) ?? `_${ordinal}` }
}

/** A column is named after the last step of its path, unless that is an index. */
function columnName(expression: Expression): string | undefined {
  const last = expression.kind === 'column' ? expression.path.at(-1) : undefined
  return last !== undefined && 'name' in last ? last.name : undefined
}

/** [AS] name. */
function parseName(cursor: TokenCursor): string | undefined {
  const hasAs = cursor.take('AS')
  const { kind, text, word } = cursor.peek()
  if ((kind === 'name' && word !== 'FROM') || kind === 'quoted') {
    cursor.next()
    return text
  }
  if (hasAs) throw syntaxError('Expected a name after AS.')
  return undefined
}

/** "Either one or more projection expressions or a single aggregate expression." */
function parseAggregate(cursor: TokenCursor): Select | undefined {
  const { word } = cursor.peek()
  const aggregate = Object.hasOwn(AGGREGATES, word) ? AGGREGATES[word] : undefined
  if (aggregate === undefined || cursor.peek(1).word !== '(') return undefined
  cursor.next()
  cursor.next()
  const everyRow = aggregate === 'COUNT' && cursor.take('*')
  const operand = everyRow ? undefined : parseExpression(cursor)
  cursor.expect(')')
  return { kind: 'aggregate', aggregate, operand, name: parseName(cursor) ?? '_1' }
}

function parseSplit(cursor: TokenCursor): Select {
  for (const word of ['SYS', '.', 'SPLIT', '(']) cursor.expect(word)
  const sizeBytes = parseCount(cursor)
  cursor.expect(')')
  if (sizeBytes < SPLIT_SIZE_BYTES_MIN) throw syntaxError('split_size is less than 10485760.')
  return { kind: 'split', sizeBytes }
}

function parseCount(cursor: TokenCursor): number {
  const { kind, text } = cursor.next()
  const count = Number(text)
  if (kind !== 'number' || !/^\d+$/.test(text) || !Number.isSafeInteger(count)) {
    throw syntaxError(`'${text}' is not a count.`)
  }
  return count
}

/** "BlobStorage and BlobStorage[*] both refer to the whole object." */
function parseFrom(cursor: TokenCursor): Path {
  cursor.expect('BLOBSTORAGE')
  const [first, ...path] = cursor.pathSteps()
  if (first === undefined) return []
  return isEvery(first) ? path : [first, ...path]
}

const isEvery = (step: PathStep) => 'every' in step

function parseAlias(cursor: TokenCursor): string | undefined {
  const hasAs = cursor.take('AS')
  const { kind, text, word } = cursor.peek()
  const isAlias = (kind === 'name' && word !== 'WHERE' && word !== 'LIMIT') || kind === 'quoted'
  if (isAlias) {
    cursor.next()
    return text
  }
  if (hasAs) throw syntaxError('Expected a name after AS.')
  return undefined
}
