// The options of a query, and continuation tokens. A token is opaque to clients; ours holds the key at which the next
// page begins, including lone surrogates.
import type { Request } from '../../http/door/operation.ts'
import { StorageError } from '../../storage/shared/error.ts'
import { parseFilter, type FilterSubject } from '../../storage/table/filter-parse.ts'
import type { FilterExpression } from '../../storage/table/filter.ts'

type WithQuery = Pick<Request, 'query'>

const PAGE_COUNT_MAX = 1_000
const SELECT_COUNT_MAX = 255

const KNOWN: ReadonlySet<string> = new Set(['$filter', '$top', '$select', '$format'])
/** Options of OData that the service does not implement. */
const NOT_IMPLEMENTED: ReadonlySet<string> = new Set([
  '$orderby',
  '$skip',
  '$skiptoken',
  '$expand',
  '$count',
  '$inlinecount',
])

export function checkQueryOptions({ query }: WithQuery): void {
  for (const name of query.keys()) {
    if (!name.startsWith('$') || KNOWN.has(name)) continue
    throw new StorageError(NOT_IMPLEMENTED.has(name) ? 'NotImplemented' : 'InvalidInput')
  }
}

export function decodeTop({ query }: WithQuery): number {
  const text = query.get('$top')
  if (text === undefined) return PAGE_COUNT_MAX
  const count = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (count < 1 || count > PAGE_COUNT_MAX) throw new StorageError('InvalidInput')
  return count
}

/** Returns undefined for all properties. */
export function decodeSelect({ query }: WithQuery): readonly string[] | undefined {
  const text = query.get('$select')
  if (!text) return undefined
  const names = new Set(text.split(',').map((name) => name.trim()))
  if (names.has('*')) return undefined
  if (names.has('') || names.size > SELECT_COUNT_MAX) throw new StorageError('InvalidInput')
  return [...names]
}

export function decodeFilter(
  { query }: WithQuery,
  subject: FilterSubject,
): { readonly filter?: FilterExpression } {
  const text = query.get('$filter')
  return text === undefined ? {} : { filter: parseFilter(text, subject) }
}

const TOKEN_LENGTH_MAX = 8 * 1024

/** The service's format: a version, the length, and the token itself. */
export function encodeContinuation(key: string): string {
  const text = Buffer.from(key, 'utf16le').toString('base64url')
  return `1!${text.length}!${text}`
}

export function decodeContinuation({ query }: WithQuery, name: string): string | undefined {
  const token = query.get(name.toLowerCase())
  if (!token) return undefined
  const [, length, text = ''] = /^1!(\d{1,4})!([\w-]*)$/.exec(token) ?? []
  const key = Buffer.from(text, 'base64url').toString('utf16le')
  const isOurs = Number(length) === text.length && encodeContinuation(key) === token
  if (token.length > TOKEN_LENGTH_MAX || !isOurs) throw new StorageError('InvalidInput')
  return key
}
