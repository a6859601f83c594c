// What a request to the Table service addresses. The path is [] or [name] or [name, keys in parentheses],
// where the name is a table's, `Tables` or `$batch`.
import type { Level, Request } from '../../http/door/operation.ts'
import { StorageError } from '../../storage/shared/error.ts'
import { checkTableName } from '../../storage/shared/name.ts'
import type { EntityKeys } from '../../storage/table/entity.ts'
import type { TableAddress } from '../../storage/table/table.ts'

type Addressed = Pick<Request, 'account' | 'path'>

/** `Tables`, a table's entities and `$batch` are containers; `Tables('t')` and an entity are objects. */
export function levelOf({ path }: Addressed): Level {
  const [name, keys] = path
  if (name === undefined) return 'service'
  // The documents that describe the service, such as $metadata.
  if (name.startsWith('$') && name !== '$batch') throw new StorageError('NotImplemented')
  return keys === undefined ? 'container' : 'object'
}

/** All of the account's tables, or one of them: what tables are themselves kept in. */
export function isTables({ path }: Addressed): boolean {
  return path[0]?.toLowerCase() === 'tables'
}

export function isBatch({ path }: Addressed): boolean {
  return path[0] === '$batch'
}

/** The table that holds the entity, or the entities, that the request is about. */
export function tableAddress({ account, path }: Addressed): TableAddress {
  const table = path[0] ?? ''
  // Recorded answers to `POST /mytable/Tables`: a longer path names a table that is never there.
  if (table.includes('/')) throw new StorageError('TableNotFound')
  checkTableName(table)
  return { account, table }
}

// A quote inside of quotes is doubled.
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

/** The keys come in any order. */
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

/** `T(PartitionKey='a',RowKey='b')`, in ASCII: what editLink, id and Location end in. */
export function entityPath(table: string, { partitionKey, rowKey }: EntityKeys): string {
  return `${table}(PartitionKey='${quoted(partitionKey)}',RowKey='${quoted(rowKey)}')`
}

export function tablePath(table: string): string {
  return `Tables('${table}')`
}

/** What most keys are: it stands for itself. */
const UNRESERVED = /^[\w.~-]*$/

/** Half a surrogate pair has no UTF-8. */
function quoted(key: string): string {
  if (UNRESERVED.test(key)) return key
  return encodeURIComponent(key.replaceAll(/\p{Cs}/gu, '\ufffd')).replaceAll("'", "''")
}
