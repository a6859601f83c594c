// Decodes what people pass in as rules. Whatever is wrong is refused with the name of its field, so that a typing mistake is
// never ignored. Used for values from programs and for JSON alike.
import { FieldError } from '../field-error.ts'

export type Fields = {
  /** undefined: left out. */
  get(name: string): unknown
  /** The full name of a field, for errors. */
  nameOf(name: string): string
  has(name: string): boolean
}

/** An object with no other fields than `known`. */
export function decodeFields(value: unknown, field: string, known: readonly string[]): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new FieldError(field, field === '' ? 'a rule must be an object' : 'must be an object')
  }
  const nameOf = (name: string): string => (field === '' ? name : `${field}.${name}`)
  const found = new Map<string, unknown>(Object.entries(value))
  for (const name of found.keys()) {
    if (!known.includes(name)) {
      throw new FieldError(nameOf(shownText(name)), `is unknown; known: ${known.join(', ')}`)
    }
  }
  return {
    get: (name) => found.get(name),
    has: (name) => found.get(name) !== undefined,
    nameOf,
  }
}

export const TEXT_LENGTH_MAX = 4_096

export function optionalText(fields: Fields, name: string): string | undefined {
  const value = fields.get(name)
  if (value === undefined) return undefined
  if (typeof value !== 'string' || value === '' || value.length > TEXT_LENGTH_MAX) {
    const problem = `must be text of 1 to ${TEXT_LENGTH_MAX} characters`
    throw new FieldError(fields.nameOf(name), problem)
  }
  return value
}

export function optionalChoice<T extends string>(
  fields: Fields,
  name: string,
  choices: readonly T[],
): T | undefined {
  const value = fields.get(name)
  if (value === undefined) return undefined
  const choice = choices.find((each) => each === value)
  if (choice !== undefined) return choice
  throw new FieldError(fields.nameOf(name), `must be one of: ${choices.join(', ')}`)
}

export type CountBounds = { readonly min: number; readonly max: number }

export function optionalCount(
  fields: Fields,
  name: string,
  { min, max }: CountBounds,
): number | undefined {
  const value = fields.get(name)
  if (value === undefined) return undefined
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) {
    return value
  }
  throw new FieldError(fields.nameOf(name), `must be a whole number from ${min} to ${max}`)
}

export function shownText(text: string): string {
  return text.slice(0, 64).replace(/[^\x20-\x7e]/g, '?')
}
