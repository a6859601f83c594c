// Decoders of JSON that know their own JSON Schema, so that the description of the API (openapi.ts) and what it accepts can't
// differ. A wrong value is a FieldError with the name of the field.
import { FieldError } from '../../../control/field-error.ts'

/** The part of JSON Schema 2020-12 that is used here. */
export type JsonSchema = {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean'
  readonly description?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | JsonSchema
  readonly items?: JsonSchema
  readonly enum?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly maxItems?: number
  readonly anyOf?: readonly JsonSchema[]
  readonly const?: boolean
}

export type Schema<T> = {
  readonly json: JsonSchema
  readonly isOptional?: boolean
  /** Completes "must be". */
  readonly expected: string
  decode(value: unknown, field: string): T
}

export type OptionalSchema<T> = Schema<T> & { readonly isOptional: true }

export type Decoded<S> = S extends Schema<infer T> ? T : never

type Fields = Readonly<Record<string, Schema<unknown>>>

type OptionalNames<F extends Fields> = {
  [K in keyof F]: F[K] extends OptionalSchema<unknown> ? K : never
}[keyof F]

export type DecodedFields<F extends Fields> = {
  readonly [K in Exclude<keyof F, OptionalNames<F>>]: Decoded<F[K]>
} & { readonly [K in OptionalNames<F>]?: Decoded<F[K]> }

const TEXT_MAX = 4_096

export function optional<T>(schema: Schema<T>, description?: string): OptionalSchema<T> {
  return { ...about(schema, description), isOptional: true }
}

export function about<T>(schema: Schema<T>, description: string | undefined): Schema<T> {
  if (description === undefined) return schema
  return { ...schema, json: { ...schema.json, description } }
}

function simple<T>(
  json: JsonSchema,
  expected: string,
  is: (value: unknown) => value is T,
): Schema<T> {
  const decode = (value: unknown, field: string): T => {
    if (is(value)) return value
    throw wrong(field, `must be ${expected}, not ${shown(value)}`)
  }
  return { json, expected, decode }
}

/** What the client sent, short. Lists and objects may be nested so deeply that they can't be written. */
function shown(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object' && value !== null) return 'an object'
  const text = JSON.stringify(value) ?? 'missing'
  return text.length > 60 ? `${text.slice(0, 57)}…` : text
}

export const text = simple<string>(
  { type: 'string', minLength: 1, maxLength: TEXT_MAX },
  `a text of 1 to ${TEXT_MAX} characters`,
  (value): value is string =>
    typeof value === 'string' && value !== '' && [...value].length <= TEXT_MAX,
)

export const anyText = simple<string>(
  { type: 'string' },
  'a text',
  (value) => typeof value === 'string',
)

export const flag = simple<boolean>(
  { type: 'boolean' },
  'true or false',
  (value) => typeof value === 'boolean',
)

export const yes = simple<true>({ type: 'boolean', const: true }, 'true', (value) => value === true)

export function integer(
  minimum: number,
  maximum: number = Number.MAX_SAFE_INTEGER,
): Schema<number> {
  const upTo =
    maximum === Number.MAX_SAFE_INTEGER ? `of at least ${minimum}` : `from ${minimum} to ${maximum}`
  return simple<number>(
    { type: 'integer', minimum, maximum },
    `a whole number ${upTo}`,
    (value): value is number =>
      typeof value === 'number' && Number.isInteger(value) && value >= minimum && value <= maximum,
  )
}

export function number(minimum: number, maximum?: number): Schema<number> {
  return simple<number>(
    { type: 'number', minimum, ...(maximum !== undefined && { maximum }) },
    maximum === undefined
      ? `a number of at least ${minimum}`
      : `a number from ${minimum} to ${maximum}`,
    (value): value is number =>
      typeof value === 'number' &&
      Number.isFinite(value) &&
      value >= minimum &&
      value <= (maximum ?? Infinity),
  )
}

export function choice<const T extends string>(choices: readonly T[]): Schema<T> {
  return simple<T>(
    { type: 'string', enum: choices },
    `one of ${choices.join(', ')}`,
    (value): value is T => choices.some((each) => each === value),
  )
}

export function list<T>(of: Schema<T>, countMax?: number): Schema<readonly T[]> {
  const expected = `a list${countMax === undefined ? '' : ` of at most ${countMax} values`}`
  const decode = (value: unknown, field: string): readonly T[] => {
    if (!Array.isArray(value) || value.length > (countMax ?? Infinity))
      throw wrong(field, `must be ${expected}`)
    return value.map((each, at) => of.decode(each, `${field}[${at}]`))
  }
  const json: JsonSchema = {
    type: 'array',
    items: of.json,
    ...(countMax !== undefined && { maxItems: countMax }),
  }
  return { json, expected, decode }
}

/** Values by names that clients choose. */
export function mapOf<T>(of: Schema<T>): Schema<Readonly<Record<string, T>>> {
  const decode = (value: unknown, field: string): Readonly<Record<string, T>> =>
    Object.fromEntries(
      Object.entries(objectOf(value, field)).map(([name, each]) => [
        name,
        of.decode(each, below(field, name)),
      ]),
    )
  return { json: { type: 'object', additionalProperties: of.json }, expected: 'an object', decode }
}

type RecordRules = {
  /** More fields are ignored: answers may get more. */
  readonly isOpen?: boolean
}

export function record<const F extends Fields>(
  fields: F,
  { isOpen = false }: RecordRules = {},
): Schema<DecodedFields<F>> {
  const names = Object.keys(fields)
  const required = names.filter((name) => fields[name]?.isOptional !== true)
  const decode = (value: unknown, field: string): DecodedFields<F> => {
    const given = objectOf(value, field)
    for (const name of Object.keys(given)) {
      if (!isOpen && !Object.hasOwn(fields, name))
        throw new FieldError(
          below(field, name),
          `is not a field; expected ${names.join(', ') || 'none'}`,
        )
    }
    const decoded: Record<string, unknown> = {}
    for (const [name, schema] of Object.entries(fields)) {
      if (Object.hasOwn(given, name)) decoded[name] = schema.decode(given[name], below(field, name))
      else if (schema.isOptional !== true) throw new FieldError(below(field, name), 'is missing')
    }
    return decoded as DecodedFields<F>
  }
  const json: JsonSchema = {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, fields[name]?.json ?? {}])),
    ...(required.length > 0 && { required }),
    ...(!isOpen && { additionalProperties: false }),
  }
  return { json, expected: 'an object', decode }
}

/** A record of an answer. */
export function answer<const F extends Fields>(fields: F): Schema<DecodedFields<F>> {
  return record(fields, { isOpen: true })
}

/** Objects that differ in their fields: the one that has the fields that are given is meant. */
export function either<const S extends readonly Schema<unknown>[]>(
  ...choices: S
): Schema<Decoded<S[number]>> {
  const decode = (value: unknown, field: string): Decoded<S[number]> => {
    const errors: FieldError[] = []
    for (const each of choices) {
      try {
        return each.decode(value, field) as Decoded<S[number]>
      } catch (error) {
        if (!(error instanceof FieldError)) throw error
        errors.push(error)
      }
    }
    throw nearest(choices, field, value, errors) ?? mustBe(choices, field, value)
  }
  return { json: { anyOf: choices.map(({ json }) => json) }, expected: expectedOf(choices), decode }
}

/** The error of the object that has the first given field. A field that no object has is named itself. */
function nearest(
  choices: readonly Schema<unknown>[],
  field: string,
  value: unknown,
  errors: readonly FieldError[],
): FieldError | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const [first] = Object.keys(value)
  if (first === undefined) return undefined
  const at = choices.findIndex(({ json }) => Object.hasOwn(json.properties ?? {}, first))
  const isKnown = at >= 0
  return isKnown
    ? errors[at]
    : new FieldError(
        below(field, first.slice(0, 100)),
        `is not a field; expected ${expectedOf(choices)}`,
      )
}

function mustBe(choices: readonly Schema<unknown>[], field: string, value: unknown): FieldError {
  return wrong(field, `must be ${expectedOf(choices)}, not ${shown(value)}`)
}

function expectedOf(choices: readonly Schema<unknown>[]): string {
  const each = choices.map(({ json, expected }) => {
    const names = Object.keys(json.properties ?? {})
    return names.length === 0 ? expected : `{ "${names.join('", "')}" }`
  })
  return each.join(' or ')
}

/** Without a field, it is the value as a whole. */
function wrong(field: string, reason: string): FieldError {
  return new FieldError(field, field === '' ? `the value ${reason}` : reason)
}

function objectOf(value: unknown, field: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Readonly<Record<string, unknown>>
  throw wrong(field, `must be an object, not ${shown(value)}`)
}

function below(field: string, name: string): string {
  return field === '' ? name.slice(0, 100) : `${field}.${name.slice(0, 100)}`
}

/** A field of a query is a text; numbers and switches are decoded from it first. */
export function decodeParameter<T>(schema: Schema<T>, value: string, field: string): T {
  return schema.decode(fromText(schema.json, value), field)
}

function fromText({ type }: JsonSchema, value: string): unknown {
  if ((type === 'integer' || type === 'number') && /^-?\d+(\.\d+)?$/.test(value))
    return Number(value)
  if (type === 'boolean' && /^(true|false)$/.test(value)) return value === 'true'
  return value
}
