// Header fields in the text of a head: of a request, or of a part of a batch. The text is Latin-1.
import { detached, setBounded } from '../../memory/memoize.ts'

/** Inherits nothing: a field may be called `constructor`. */
export class Fields {
  [name: string]: string | undefined
}
Object.setPrototypeOf(Fields.prototype, null)
Reflect.deleteProperty(Fields.prototype, 'constructor')

/** Cache of checked, lower-case names: clients send the same ones with every request. */
const lowerNames = new Map<string, string>()
const LOWER_NAMES_MAX = 500
/** Longer names are not cached: nobody sends them twice. */
const LOWER_NAME_LENGTH_MAX = 64
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** The name in lower case; undefined if it is not valid (RFC 9110, 5.1). */
export function fieldName(rawName: string): string | undefined {
  const known = lowerNames.get(rawName)
  if (known !== undefined) return known
  if (!TOKEN.test(rawName)) return undefined
  const own = detached(rawName)
  const name = own.toLowerCase()
  if (own.length <= LOWER_NAME_LENGTH_MAX) setBounded(lowerNames, own, name, LOWER_NAMES_MAX)
  return name
}

const NOT_IN_VALUE = /[^\t\x20-\x7e\x80-\xff]/
const TAB = 0x09
const BLANK = 0x20

/** A value may hold any byte except control characters (RFC 9110, 5.5). */
export function isFieldValue(text: string): boolean {
  return !NOT_IN_VALUE.test(text)
}

/** The value between `from` and `to`, trimmed; undefined if it is not valid. */
export function fieldValue(text: string, from: number, to: number): string | undefined {
  const value = trimBlanks(text, from, to)
  return isFieldValue(value) ? value : undefined
}

/** Not `trim`: in Latin-1 the last byte of a UTF-8 `à` is a no-break space. */
export function trimBlanks(text: string, from: number, to: number): string {
  while (from < to && isBlank(text.charCodeAt(from))) from += 1
  while (to > from && isBlank(text.charCodeAt(to - 1))) to -= 1
  return text.slice(from, to)
}

function isBlank(code: number): boolean {
  return code === BLANK || code === TAB
}
