// Decodes the URL of a request. Names of query parameters are case-insensitive; the values of a repeated one are
// sorted and joined with commas, as Shared Key signs them. Percent-encoding that is not valid UTF-8 is an
// error and is never replaced.
import { memoize } from '../../memory/memoize.ts'
import { StorageError } from '../../storage/shared/error.ts'

const QUERY_LENGTH_MAX = 64 * 1024
/** More than any operation has, including those of a SAS. */
const FIELDS_MAX = 256
const NO_QUERY: ReadonlyMap<string, string> = new Map()

/** `raw` is what follows the question mark. */
export function parseQuery(raw: string): ReadonlyMap<string, string> {
  return raw === '' ? NO_QUERY : parseMemoized(raw)
}

const parseMemoized = memoize(parse)

function parse(raw: string): ReadonlyMap<string, string> {
  if (raw.length > QUERY_LENGTH_MAX) throw new StorageError('RequestUrlFailedToParse')
  const values = new Map<string, string>()
  let repeated: Map<string, string[]> | undefined
  const fields = raw.split('&', FIELDS_MAX + 1)
  if (fields.length > FIELDS_MAX) throw new StorageError('RequestUrlFailedToParse')
  for (const field of fields) {
    if (field === '') continue
    const equals = field.indexOf('=')
    const name = decodeField(equals < 0 ? field : field.slice(0, equals)).toLowerCase()
    const value = equals < 0 ? '' : decodeField(field.slice(equals + 1))
    const before = values.get(name)
    if (before === undefined) {
      values.set(name, value)
      continue
    }
    repeated ??= new Map()
    const list = repeated.get(name) ?? [before]
    list.push(value)
    repeated.set(name, list)
  }
  if (repeated !== undefined) {
    for (const [name, list] of repeated) values.set(name, list.sort().join(','))
  }
  return values
}

function decodeField(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text
  return decodePercent(spaced, 'RequestUrlFailedToParse')
}

/**
 * Splits a path without its first slash: [] is the service, ['c'] a container, ['c', 'a/b'] an object in it.
 * Everything after the container is one name, whether its slashes are encoded or not.
 */
export function decodeSegments(rawPath: string): readonly string[] {
  if (rawPath === '') return []
  const slash = rawPath.indexOf('/')
  if (slash < 0) return [decodePercent(rawPath)]
  const first = decodePercent(rawPath.slice(0, slash))
  // `/c/?restype=container` is the container.
  return slash === rawPath.length - 1 ? [first] : [first, decodePercent(rawPath.slice(slash + 1))]
}

/**
 * The path of a table holds keys: `T(PartitionKey='a',RowKey='b')` is the table and the part in parentheses, where
 * a slash is an ordinary character. `T` and `T()` are the same.
 */
export function decodeTableSegments(rawPath: string): readonly string[] {
  const path = decodePercent(rawPath.endsWith('/') ? rawPath.slice(0, -1) : rawPath)
  if (path === '') return []
  const open = path.indexOf('(')
  if (open < 0) return [path]
  const keys = path.slice(open)
  return keys === '()' ? [path.slice(0, open)] : [path.slice(0, open), keys]
}

export function decodePercent(
  text: string,
  code: 'InvalidUri' | 'RequestUrlFailedToParse' = 'InvalidUri',
): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    throw new StorageError(code)
  }
}
