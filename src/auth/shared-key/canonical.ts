// The canonical headers and resource of Shared Key
// (https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key). Clients disagree on the order
// of headers and on the form of their values, so a request has several canonical forms.
import { headerText, type AuthRequest } from '../request.ts'

/** From this version on, headers without a value are signed too. */
const EMPTY_VALUES_VERSION = '2016-05-31'

/** As documented: in ordinal order, with the values as received. Clients use other orders and forms too. */
export function canonicalHeaders(
  request: AuthRequest,
  names: readonly string[] = storageHeaderNames(request),
  form?: (value: string) => string,
): string {
  const keepEmpty = request.version >= EMPTY_VALUES_VERSION
  let text = ''
  for (const name of names) {
    const received = headerText(request, name)
    const value = form === undefined ? received : form(received)
    if (value !== '' || keepEmpty) text += name + ':' + value + '\n'
  }
  return text
}

/** The other forms in which clients sign the same headers: at most five. */
export function otherCanonicalHeaders(request: AuthRequest): ReadonlySet<string> {
  const ordinal = storageHeaderNames(request)
  const orders = [ordinal, sortedByCulture(ordinal)]
  const forms = [undefined, folded, asUtf8]
  const texts = new Set(
    orders.flatMap((names) => forms.map((form) => canonicalHeaders(request, names, form))),
  )
  texts.delete(canonicalHeaders(request, ordinal))
  return texts
}

function storageHeaderNames(request: AuthRequest): string[] {
  const names: string[] = []
  for (const name of Object.keys(request.headers)) if (name.startsWith('x-ms-')) names.push(name)
  return names.sort()
}

function folded(value: string): string {
  return value.replaceAll(/\s+/g, ' ').trim()
}

/** Node reads header bytes as Latin-1; a client that sent UTF-8 also signed UTF-8. */
function asUtf8(value: string): string {
  return Buffer.from(value, 'latin1').toString('utf8')
}

// The service sorts like .NET's en-US culture: punctuation, then digits, then letters. Hyphens and apostrophes
// count only between names that are otherwise equal: the name with the earlier one sorts later.
const WEIGHTS = '!#$%&*.^_`|~+0123456789abcdefghijklmnopqrstuvwxyz'

function sortedByCulture(names: readonly string[]): string[] {
  const keyed = names.map((name): [key: string, name: string] => [cultureKey(name), name])
  return keyed.sort(([a], [b]) => (a < b ? -1 : Number(a > b))).map(([, name]) => name)
}

/** The sort key of a name: sorting keys by code units sorts names in culture order. */
export function cultureKey(name: string): string {
  let weights = ''
  let hyphens = ''
  for (const character of name) {
    const isIgnored = character === '-' || character === "'"
    hyphens += isIgnored ? '1' : '0'
    if (!isIgnored) weights += String.fromCharCode(WEIGHTS.indexOf(character) + 2)
  }
  return `${weights}\0${hyphens.replace(/0+$/, '')}\0${name}`
}

/** With every query parameter, sorted by name. */
export function canonicalResource(request: AuthRequest, path: string): string {
  let text = '/' + request.account + path
  if (request.query.size === 0) return text
  for (const name of [...request.query.keys()].sort()) {
    text += '\n' + name + ':' + request.query.get(name)
  }
  return text
}

/** For Shared Key Lite, and always for tables: `comp` is the only query parameter in it. */
export function canonicalResourceLite(request: AuthRequest, path: string): string {
  const comp = request.query.get('comp')
  const text = '/' + request.account + path
  return comp === undefined ? text : text + '?comp=' + comp
}

/**
 * The path that clients sign. It is the path they send, so that in path style the account appears twice. On the
 * secondary endpoint some clients sign it as sent and some without '-secondary'.
 */
export function signedPaths(request: AuthRequest): string[] {
  const sent = request.rawPath === '' ? '/' : request.rawPath
  const secondary = '/' + request.account + '-secondary'
  if (!request.pathStyle || !sent.startsWith(secondary)) return [sent]
  return [sent, '/' + request.account + sent.slice(secondary.length)]
}
