// Decodes the JSON of an entity. The type of a property comes from an annotation (`"A@odata.type": "Edm.Int64"`) or is
// inferred from the value
// (https://learn.microsoft.com/rest/api/storageservices/payload-format-for-table-service-operations).
import { StorageError } from '../../storage/shared/error.ts'
import { parseDouble, parseEdm, parseInt32 } from '../../storage/table/edm-text.ts'
import {
  isEdmType,
  setProperty,
  type EdmProperties,
  type EdmType,
  type EdmValue,
} from '../../storage/table/edm.ts'
import { parseJsonMembers, type JsonMembers, type JsonScalar } from './payload-json.ts'

type EntityPayload = {
  readonly partitionKey: string | undefined
  readonly rowKey: string | undefined
  /** Without the three system properties and without nulls. */
  readonly properties: EdmProperties
}

export function decodeEntity(body: Uint8Array): EntityPayload {
  const members = parseJsonMembers(body)
  const types = annotatedTypes(members)
  const properties: Record<string, EdmValue> = {}
  for (const [name, scalar] of members) {
    if (scalar.kind === 'null' || SYSTEM.has(name) || isAnnotation(name)) continue
    setProperty(properties, name, decodeValue(scalar, types.get(name)))
  }
  return {
    partitionKey: decodeKey(members, 'PartitionKey'),
    rowKey: decodeKey(members, 'RowKey'),
    properties,
  }
}

/** The name in the body of Create Table. */
export function decodeTableName(body: Uint8Array): string {
  const scalar = parseJsonMembers(body).get('TableName')
  if (scalar === undefined || scalar.kind === 'null') throw new StorageError('PropertiesNeedValue')
  if (scalar.kind !== 'string') throw new StorageError('InvalidInput')
  return scalar.text
}

/** A Timestamp that a client sends is ignored: the service sets it. */
const SYSTEM: ReadonlySet<string> = new Set(['PartitionKey', 'RowKey', 'Timestamp'])

/** `odata.etag`, `A@odata.type`. */
function isAnnotation(name: string): boolean {
  return name.startsWith('odata.') || name.includes('@odata.')
}

function decodeKey(members: JsonMembers, name: string): string | undefined {
  const scalar = members.get(name)
  if (scalar === undefined || scalar.kind === 'null') return undefined
  if (scalar.kind !== 'string') throw new StorageError('InvalidInput')
  return scalar.text
}

const TYPE_ANNOTATION = '@odata.type'

/** Ignores annotations of properties without a value. */
function annotatedTypes(members: JsonMembers): ReadonlyMap<string, EdmType> {
  const types = new Map<string, EdmType>()
  for (const [annotation, scalar] of members) {
    if (scalar.kind === 'null' || !annotation.endsWith(TYPE_ANNOTATION)) continue
    const name = annotation.slice(0, -TYPE_ANNOTATION.length)
    const annotated = members.get(name)
    if (annotated === undefined || annotated.kind === 'null') continue
    if (SYSTEM.has(name) || isAnnotation(name)) continue
    if (scalar.kind !== 'string' || !isEdmType(scalar.text)) throw new StorageError('InvalidInput')
    types.set(name, scalar.text)
  }
  return types
}

function decodeValue(scalar: Exclude<JsonScalar, { kind: 'null' }>, type: EdmType | undefined) {
  const value = type === undefined ? inferred(scalar) : typed(scalar, type)
  if (value === undefined) throw new StorageError('InvalidInput')
  return value
}

/** As in OData's own reader, a whole number that does not fit an Int32 is a Double. */
function inferred(scalar: Exclude<JsonScalar, { kind: 'null' }>): EdmValue | undefined {
  switch (scalar.kind) {
    case 'string':
      return { type: 'Edm.String', value: scalar.text }
    case 'boolean':
      return { type: 'Edm.Boolean', value: scalar.value }
    case 'number':
      return parseInt32(scalar.text) ?? parseDouble(scalar.text)
  }
}

/** A string may have any type, a number one of the three numeric types, and true and false are Boolean. */
function typed(scalar: Exclude<JsonScalar, { kind: 'null' }>, type: EdmType): EdmValue | undefined {
  switch (scalar.kind) {
    case 'string':
      return parseEdm(type, scalar.text)
    case 'boolean':
      return type === 'Edm.Boolean' ? { type, value: scalar.value } : undefined
    case 'number':
      return NUMBERS.has(type) ? parseEdm(type, scalar.text) : undefined
  }
}

const NUMBERS: ReadonlySet<EdmType> = new Set(['Edm.Int32', 'Edm.Int64', 'Edm.Double'])
