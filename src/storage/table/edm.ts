// What a property of an entity holds: one of the eight types that the Table service has, as plain data
// that survives JSON, so that an entity's record is the entity. Each value has one form only, hence
// equal values are equal texts ("Understanding the Table service data model").
export type EdmValue =
  | { readonly type: 'Edm.String'; readonly value: string }
  | { readonly type: 'Edm.Boolean'; readonly value: boolean }
  | { readonly type: 'Edm.Int32'; readonly value: number }
  /** Decimal digits: JSON's numbers end at 2^53. */
  | { readonly type: 'Edm.Int64'; readonly value: string }
  /** JSON has no word for what is no number; these three are the service's own. */
  | { readonly type: 'Edm.Double'; readonly value: number | DoubleWord }
  /** In UTC with seven digits, `2026-11-15T19:46:33.1657319Z`, so that texts sort like times. */
  | { readonly type: 'Edm.DateTime'; readonly value: string }
  /** Lower case. .NET compares the fields as unsigned numbers, which is the order of these texts. */
  | { readonly type: 'Edm.Guid'; readonly value: string }
  /** Base64, padded. */
  | { readonly type: 'Edm.Binary'; readonly value: string }

export type EdmType = EdmValue['type']

export type DoubleWord = 'NaN' | 'Infinity' | '-Infinity'

/** By the names that an entity gave them. Made by `setProperty`, since `__proto__` is a name like others. */
export type EdmProperties = Readonly<Record<string, EdmValue>>

/** An assignment to `__proto__` would be something else; all others are faster with one. */
export function setProperty(
  properties: Record<string, EdmValue>,
  name: string,
  value: EdmValue,
): void {
  if (name !== '__proto__') {
    properties[name] = value
    return
  }
  const own = { value, enumerable: true, writable: true, configurable: true }
  Object.defineProperty(properties, name, own)
}

const EDM_TYPES: Readonly<Record<EdmType, true>> = {
  'Edm.String': true,
  'Edm.Boolean': true,
  'Edm.Int32': true,
  'Edm.Int64': true,
  'Edm.Double': true,
  'Edm.DateTime': true,
  'Edm.Guid': true,
  'Edm.Binary': true,
}

export function isEdmType(text: string): text is EdmType {
  return Object.hasOwn(EDM_TYPES, text)
}

/**
 * Below, at or above 0 as the value is less than, equal to or greater than the constant of a filter; NaN
 * where a Double is not a number; undefined where the types can't be compared. An Int32 constant is
 * widened to an Int64 or a Double value, and nothing else is: the service finds the Int64 64 with
 * `eq 64`, but not the Int32 64 with `eq 64L` (AzureStorageExplorer#5346, #6866).
 */
export function compareEdm(value: EdmValue, constant: EdmValue): number | undefined {
  if (value.type !== constant.type) {
    if (constant.type !== 'Edm.Int32') return undefined
    if (value.type === 'Edm.Int64') return order(BigInt(value.value), BigInt(constant.value))
    if (value.type === 'Edm.Double') return order(Number(value.value), constant.value)
    return undefined
  }
  switch (value.type) {
    case 'Edm.Int64':
      return order(BigInt(value.value), BigInt(constant.value))
    case 'Edm.Double':
      return order(Number(value.value), Number(constant.value))
    case 'Edm.Binary':
      return Buffer.compare(bytesOf(value.value), bytesOf(String(constant.value)))
    default:
      return order(value.value, constant.value)
  }
}

function order<T extends string | number | bigint | boolean>(a: T, b: T): number {
  if (a < b) return -1
  if (a > b) return 1
  return a === b ? 0 : Number.NaN
}

function bytesOf(base64: string): Buffer {
  return Buffer.from(base64, 'base64')
}

/** What the limit of 64 KiB on a value counts: strings are UTF-16. */
export function edmLengthBytes(edm: EdmValue): number {
  switch (edm.type) {
    case 'Edm.String':
      return edm.value.length * 2
    case 'Edm.Binary':
      return Buffer.byteLength(edm.value, 'base64')
    default:
      return FIXED_LENGTH_BYTES[edm.type]
  }
}

const FIXED_LENGTH_BYTES: Readonly<Record<Exclude<EdmType, 'Edm.String' | 'Edm.Binary'>, number>> =
  {
    'Edm.Boolean': 1,
    'Edm.Int32': 4,
    'Edm.Int64': 8,
    'Edm.Double': 8,
    'Edm.DateTime': 8,
    'Edm.Guid': 16,
  }

/** What the limit of 1 MiB on an entity counts ("How to calculate the capacity of a table entity"). */
export function entitySizeBytes(entity: {
  readonly partitionKey: string
  readonly rowKey: string
  readonly properties: EdmProperties
}): number {
  let sizeBytes = 4 + (entity.partitionKey.length + entity.rowKey.length) * 2
  for (const [name, edm] of Object.entries(entity.properties)) {
    // What has no fixed length is stored with its length.
    const prefixBytes = edm.type === 'Edm.String' || edm.type === 'Edm.Binary' ? 4 : 0
    sizeBytes += 8 + name.length * 2 + prefixBytes + edmLengthBytes(edm)
  }
  return sizeBytes
}
