// The canonical headers and resource of Shared Key
// (https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key). Clients disagree
// on two points of it, the order of headers and the spaces in their values, so both are parameters.
import type { AuthRequest } from './request.ts'

export type HeaderOrder = 'ordinal' | 'culture'

/** How a value goes into the string: as received, with spaces folded, or with its bytes as UTF-8. */
export type HeaderValues = 'received' | 'folded' | 'utf8'

/** From this version on, headers without a value are signed too. */
const EMPTY_VALUES_VERSION = '2016-05-31'

export function canonicalHeaders(
  request: AuthRequest,
  order: HeaderOrder,
  values: HeaderValues,
): string {
  const names = storageHeaderNames(request)
  if (order === 'culture') names.sort(compareByCulture)
  const keepEmpty = request.version >= EMPTY_VALUES_VERSION
  let text = ''
  for (const name of names) {
    const value = headerValue(request, name, values)
    if (value !== '' || keepEmpty) text += name + ':' + value + '\n'
  }
  return text
}

function storageHeaderNames(request: AuthRequest): string[] {
  const names: string[] = []
  for (const name of Object.keys(request.headers)) if (name.startsWith('x-ms-')) names.push(name)
  return names.sort()
}

function headerValue(request: AuthRequest, name: string, values: HeaderValues): string {
  const header = request.headers[name]
  if (header === undefined) return ''
  const value = typeof header === 'string' ? header : header.join(',')
  if (values === 'folded') return value.replaceAll(/\s+/g, ' ').trim()
  // Node reads header bytes as Latin-1; a client that sent UTF-8 also signed UTF-8.
  if (values === 'utf8') return Buffer.from(value, 'latin1').toString('utf8')
  return value
}

/** The ways to write the headers that differ from ordinal order and values as received. */
export function headerVariations(request: AuthRequest): [HeaderOrder, HeaderValues][] {
  const plain = storageHeaderNames(request)
  const culture = [...plain].sort(compareByCulture)
  const isReordered = plain.some((name, index) => culture[index] !== name)
  const orders: HeaderOrder[] = isReordered ? ['ordinal', 'culture'] : ['ordinal']
  const texts = plain.map((name) => headerValue(request, name, 'received'))
  const values: HeaderValues[] = ['received']
  if (texts.some((text) => /\s\s|\t/.test(text))) values.push('folded')
  if (texts.some((text) => /[^\0-\x7f]/.test(text))) values.push('utf8')
  return orders.flatMap((order) =>
    values.map((value): [HeaderOrder, HeaderValues] => [order, value]),
  )
}

// The service sorts like .NET's en-US culture: punctuation, then digits, then letters; hyphens and
// apostrophes count only between names that are otherwise the same, and then an earlier one is later.
const WEIGHTS = '!#$%&*.^_`|~+0123456789abcdefghijklmnopqrstuvwxyz'

export function compareByCulture(left: string, right: string): number {
  let i = 0
  let j = 0
  for (;;) {
    while (isIgnored(left[i])) i++
    while (isIgnored(right[j])) j++
    const leftWeight = weight(left[i++])
    const rightWeight = weight(right[j++])
    if (leftWeight !== rightWeight) return leftWeight - rightWeight
    if (leftWeight === -1) return compareHyphens(left, right)
  }
}

function weight(character: string | undefined): number {
  return character === undefined ? -1 : WEIGHTS.indexOf(character) + 1
}

function isIgnored(character: string | undefined): boolean {
  return character === '-' || character === "'"
}

function compareHyphens(left: string, right: string): number {
  for (let i = 0; i < left.length || i < right.length; i++) {
    const difference = Number(isIgnored(left[i])) - Number(isIgnored(right[i]))
    if (difference !== 0) return difference
  }
  return left < right ? -1 : Number(left > right)
}

/** Every query parameter, by name. */
export function canonicalResource(request: AuthRequest, path: string): string {
  let text = '/' + request.account + path
  if (request.query.size === 0) return text
  for (const name of [...request.query.keys()].sort()) {
    text += '\n' + name + ':' + request.query.get(name)
  }
  return text
}

/** For Shared Key Lite, and for tables always: of the query only `comp`. */
export function canonicalResourceLite(request: AuthRequest, path: string): string {
  const comp = request.query.get('comp')
  const text = '/' + request.account + path
  return comp === undefined ? text : text + '?comp=' + comp
}

/**
 * The path as signed: as sent, so that in path style the account appears twice. On the secondary
 * endpoint some clients sign it as sent and some without '-secondary'.
 */
export function signedPaths(request: AuthRequest): string[] {
  const sent = request.rawPath === '' ? '/' : request.rawPath
  const secondary = '/' + request.account + '-secondary'
  if (!request.pathStyle || !sent.startsWith(secondary)) return [sent]
  return [sent, '/' + request.account + sent.slice(secondary.length)]
}
