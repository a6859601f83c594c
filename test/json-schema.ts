// JSON Schema for tests: whether a value fits, and values that fit or nearly do.
import fc from 'fast-check'
import type { JsonSchema } from '../src/start/admin/api/schema.ts'

/** Written from the specification of JSON Schema alone. */
export function fits(json: JsonSchema, value: unknown): boolean {
  const { anyOf, type, enum: choices, const: only } = json
  if (anyOf !== undefined && !anyOf.some((each) => fits(each, value))) return false
  if (choices !== undefined && !choices.some((each) => each === value)) return false
  if (only !== undefined && value !== only) return false
  switch (type) {
    case undefined:
      return true
    case 'string':
      return (
        typeof value === 'string' &&
        [...value].length >= (json.minLength ?? 0) &&
        [...value].length <= (json.maxLength ?? Infinity)
      )
    case 'boolean':
      return typeof value === 'boolean'
    case 'integer':
    case 'number':
      return (
        typeof value === 'number' &&
        (type === 'number' || Number.isInteger(value)) &&
        value >= (json.minimum ?? -Infinity) &&
        value <= (json.maximum ?? Infinity)
      )
    case 'array':
      return (
        Array.isArray(value) &&
        value.length <= (json.maxItems ?? Infinity) &&
        value.every((each) => fits(json.items ?? {}, each))
      )
    default:
      return fitsObject(json, value)
  }
}

function fitsObject(
  { properties = {}, required = [], additionalProperties = true }: JsonSchema,
  value: unknown,
): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const entries = Object.entries(value)
  const isKnown = (name: string) => Object.hasOwn(properties, name)
  return (
    required.every((name) => Object.hasOwn(value, name)) &&
    entries.every(([name, each]) => {
      if (isKnown(name)) return fits(properties[name] ?? {}, each)
      if (typeof additionalProperties === 'object') return fits(additionalProperties, each)
      return additionalProperties
    })
  )
}

/** Values that are near the schema: fields of it, with right and wrong values. */
export function near(json: JsonSchema): fc.Arbitrary<unknown> {
  const right = fc.oneof(...[json, ...(json.anyOf ?? [])].map(rightOf))
  return fc.oneof({ weight: 5, arbitrary: right }, { weight: 1, arbitrary: fc.jsonValue() })
}

function rightOf(json: JsonSchema): fc.Arbitrary<unknown> {
  const { type, enum: choices, minimum = -10, maximum = 1_000, properties = {} } = json
  if (choices !== undefined) return fc.constantFrom(...choices)
  if (type === 'string') return fc.constantFrom('', 'PT1S', 'Put Blob', '😀', 'x'.repeat(4_097))
  if (type === 'boolean') return fc.boolean()
  if (type === 'integer') return fc.integer({ min: minimum - 1, max: Math.min(maximum, 1_000) + 1 })
  if (type === 'number') return fc.double({ min: minimum - 1, max: maximum + 1, noNaN: true })
  if (type === 'array') return fc.array(near(json.items ?? {}), { maxLength: 4 })
  if (type !== 'object') return fc.constant(undefined)
  const fields = Object.entries(properties).map(([name, each]) => [name, near(each)] as const)
  return fc.record(Object.fromEntries([...fields, ['other', fc.jsonValue()]]), {
    requiredKeys: [],
    noNullPrototype: true,
  })
}
