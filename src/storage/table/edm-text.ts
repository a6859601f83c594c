// Property values as text: in JSON strings, and in literals of a $filter. Parsers return undefined for a text
// that isn't of the type; the caller throws the error.
import { DATE_TIME_MIN, formatDateTime, parseDateTime } from './edm-date-time.ts'
import type { DoubleWord, EdmType, EdmValue } from './edm.ts'

const INT32_MIN = -(2 ** 31)
const INT32_MAX = 2 ** 31 - 1
const INT64_END = 2n ** 63n
const DIGITS_MAX = 40

// At module level: a literal inside a function would be created with every call.
const INTEGER = /^-?\d+$/
const DOUBLE = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const GUID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i
const BASE64 = /^[\dA-Za-z+/]*={0,2}$/

/** The value of a property that was sent as text, such as `"5"` with `"A@odata.type": "Edm.Int64"`. */
export function parseEdm(type: EdmType, text: string): EdmValue | undefined {
  switch (type) {
    case 'Edm.String':
      return { type, value: text }
    case 'Edm.Boolean':
      return text === 'true' || text === 'false' ? { type, value: text === 'true' } : undefined
    case 'Edm.Int32':
      return parseInt32(text)
    case 'Edm.Int64':
      return parseInt64(text)
    case 'Edm.Double':
      return parseDouble(text)
    case 'Edm.DateTime':
      return parseStoredDateTime(text)
    case 'Edm.Guid':
      return parseGuid(text)
    case 'Edm.Binary':
      return parseBase64(text)
  }
}

export function parseInt32(text: string): EdmValue | undefined {
  if (text.length > DIGITS_MAX || !INTEGER.test(text)) return undefined
  const number = Number(text)
  if (number < INT32_MIN || number > INT32_MAX) return undefined
  return { type: 'Edm.Int32', value: number === 0 ? 0 : number }
}

export function parseInt64(text: string): EdmValue | undefined {
  if (text.length > DIGITS_MAX || !INTEGER.test(text)) return undefined
  const number = BigInt(text)
  if (number < -INT64_END || number >= INT64_END) return undefined
  return { type: 'Edm.Int64', value: String(number) }
}

/** XML Schema writes INF, JSON readers write Infinity; the service accepts both. */
const DOUBLE_WORDS: ReadonlyMap<string, DoubleWord> = new Map([
  ['NaN', 'NaN'],
  ['INF', 'Infinity'],
  ['-INF', '-Infinity'],
  ['Infinity', 'Infinity'],
  ['-Infinity', '-Infinity'],
])

export function parseDouble(text: string): EdmValue | undefined {
  const word = DOUBLE_WORDS.get(text)
  if (word !== undefined) return { type: 'Edm.Double', value: word }
  if (!DOUBLE.test(text)) return undefined
  return edmDouble(Number(text))
}

/** Undefined if the number is too large: numbers with digits in JSON or a filter must be finite. */
function edmDouble(number: number): EdmValue | undefined {
  if (!Number.isFinite(number)) return undefined
  // JSON would lose the sign of -0, so the stored record would differ.
  return { type: 'Edm.Double', value: number === 0 ? 0 : number }
}

function parseStoredDateTime(text: string): EdmValue | undefined {
  const value = parseDateTime(text)
  if (value === undefined || value < DATE_TIME_MIN) return undefined
  return { type: 'Edm.DateTime', value }
}

export function parseGuid(text: string): EdmValue | undefined {
  if (!GUID.test(text)) return undefined
  return { type: 'Edm.Guid', value: text.toLowerCase() }
}

function parseBase64(text: string): EdmValue | undefined {
  if (text.length % 4 !== 0 || !BASE64.test(text)) return undefined
  return { type: 'Edm.Binary', value: Buffer.from(text, 'base64').toString('base64') }
}

/** The digits of X'0aff' in a $filter. */
export function parseHexadecimal(text: string): EdmValue | undefined {
  if (text.length % 2 !== 0 || !/^[\da-fA-F]*$/.test(text)) return undefined
  return { type: 'Edm.Binary', value: Buffer.from(text, 'hex').toString('base64') }
}

/** As in JSON, without quotes. */
export function formatEdm(edm: EdmValue): string {
  switch (edm.type) {
    case 'Edm.Double':
      return formatDouble(edm.value)
    case 'Edm.DateTime':
      return formatDateTime(edm.value)
    default:
      return String(edm.value)
  }
}

/** Always with a point or an exponent: `5` would be an Int32. */
export function formatDouble(value: number | DoubleWord): string {
  const text = String(value)
  return INTEGER.test(text) ? `${text}.0` : text
}
