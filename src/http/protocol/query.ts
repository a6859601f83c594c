// The request's URL, decoded once. Names of query parameters don't heed case; the values of a repeated
// one are sorted and joined with commas, as Shared Key signs them. A path is decoded exactly: percent
// signs that don't decode to UTF-8 are errors, never replaced.
import { remembering } from '../../memory/remember.ts'
import { StorageError } from '../../storage/shared/error.ts'

const QUERY_LENGTH_MAX = 64 * 1024
/** More than any operation has, with those of a SAS. */
const FIELDS_MAX = 256
const NO_QUERY: ReadonlyMap<string, string> = new Map()

/** `raw` is what follows the question mark. */
export function parseQuery(raw: string): ReadonlyMap<string, string> {
  return raw === '' ? NO_QUERY : parseRemembered(raw)
}

const parseRemembered = remembering(parse)

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
 * A path without its first slash as what it addresses: [] the service, ['c'] a container, ['c', 'a/b']
 * what is in it. Everything behind the second slash is one name, encoded slashes or not.
 */
export function decodeSegments(rawPath: string): readonly string[] {
  if (rawPath === '') return []
  const slash = rawPath.indexOf('/')
  if (slash < 0) return [decodePath(rawPath)]
  const first = decodePath(rawPath.slice(0, slash))
  // `/c/?restype=container` is the container.
  return slash === rawPath.length - 1 ? [first] : [first, decodePath(rawPath.slice(slash + 1))]
}

/**
 * Tables have their keys inside the path: `T(PartitionKey='a',RowKey='b')` is the table and what stands in
 * parentheses, where a slash is a character like others. `T` and `T()` are the same.
 */
export function decodeTableSegments(rawPath: string): readonly string[] {
  const path = decodePath(rawPath.endsWith('/') ? rawPath.slice(0, -1) : rawPath)
  if (path === '') return []
  const open = path.indexOf('(')
  if (open < 0) return [path]
  const keys = path.slice(open)
  return keys === '()' ? [path.slice(0, open)] : [path.slice(0, open), keys]
}

export function decodePath(text: string): string {
  return decodePercent(text, 'InvalidUri')
}

function decodePercent(text: string, code: 'InvalidUri' | 'RequestUrlFailedToParse'): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    throw new StorageError(code)
  }
}
