// What a request to the Table service addresses. The path is [], [name] or [name, keys in parentheses]; the name is
// that of a table, `Tables` or `$batch`.
import type { Level, Request } from '../../http/door/operation.ts'
import { StorageError } from '../../storage/shared/error.ts'
import { checkTableName } from '../../storage/shared/name.ts'
import type { EntityKeys } from '../../storage/table/entity.ts'
import type { TableAddress } from '../../storage/table/table.ts'

type Addressed = Pick<Request, 'account' | 'path'>

/** `Tables`, a table's entities and `$batch` are containers; `Tables('t')` and an entity are objects. */
export function tableLevel({ path }: Addressed): Level {
  const [name, keys] = path
  if (name === undefined) return 'service'
  // Service documents, such as $metadata.
  if (name.startsWith('$') && name !== '$batch') throw new StorageError('NotImplemented')
  return keys === undefined ? 'container' : 'object'
}

/** Whether the request addresses the list of tables, or a table as an item of it. */
export function isTables({ path }: Addressed): boolean {
  return path[0]?.toLowerCase() === 'tables'
}

export function isBatch({ path }: Addressed): boolean {
  return path[0] === '$batch'
}

/** The table whose entities the request addresses. */
export function tableAddress({ account, path }: Addressed): TableAddress {
  const table = path[0] ?? ''
  // Recorded for `POST /mytable/Tables`: a longer path is answered as a missing table.
  if (table.includes('/')) throw new StorageError('TableNotFound')
  checkTableName(table)
  return { account, table }
}

// A quote within quotes is doubled.
const TEXT = "'((?:[^']|'')*)'"
const TABLE_NAME = new RegExp(`^\\((?:TableName=)?${TEXT}\\)$`)
const ENTITY = new RegExp(
  `^\\(\\s*(PartitionKey|RowKey)\\s*=\\s*${TEXT}\\s*,\\s*(PartitionKey|RowKey)\\s*=\\s*${TEXT}\\s*\\)$`,
)

/** The table that `Tables('name')` names. */
export function namedTable({ account, path }: Addressed): TableAddress {
  const match = TABLE_NAME.exec(path[1] ?? '')
  if (match === null) throw syntaxError()
  const table = unquoted(match[1])
  checkTableName(table)
  return { account, table }
}

/** Accepts the keys in any order. */
export function entityKeys({ path }: Addressed): EntityKeys {
  const match = ENTITY.exec(path[1] ?? '')
  if (match === null) throw syntaxError()
  const [, first, firstText, second, secondText] = match
  if (first === second) throw syntaxError()
  const [a, b] = [unquoted(firstText), unquoted(secondText)]
  return first === 'PartitionKey' ? { partitionKey: a, rowKey: b } : { partitionKey: b, rowKey: a }
}

function unquoted(text = ''): string {
  return text.includes("'") ? text.replaceAll("''", "'") : text
}

function syntaxError(): StorageError {
  return new StorageError('InvalidInput', {}, 'Bad Request - Error in query syntax.')
}

/** `T(PartitionKey='a',RowKey='b')`, in ASCII: the end of editLink, id and Location. */
export function entityPath(table: string, { partitionKey, rowKey }: EntityKeys): string {
  return `${table}(PartitionKey='${quoted(partitionKey)}',RowKey='${quoted(rowKey)}')`
}

export function tablePath(table: string): string {
  return `Tables('${table}')`
}

/** Most keys need no escaping. */
const UNRESERVED = /^[\w.~-]*$/

/** Replaces lone surrogates, which UTF-8 can't represent. */
function quoted(key: string): string {
  if (UNRESERVED.test(key)) return key
  return encodeURIComponent(key.replaceAll(/\p{Cs}/gu, '\ufffd')).replaceAll("'", "''")
}
