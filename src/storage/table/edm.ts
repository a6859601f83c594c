// Property values: the eight types of the Table service, as plain data that can be stored as JSON. Each value
// has exactly one form, so equal values are equal texts ("Understanding the Table service data model").
export type EdmValue =
  | { readonly type: 'Edm.String'; readonly value: string }
  | { readonly type: 'Edm.Boolean'; readonly value: boolean }
  | { readonly type: 'Edm.Int32'; readonly value: number }
  /** Decimal digits, since numbers in JSON are exact only up to 2^53. */
  | { readonly type: 'Edm.Int64'; readonly value: string }
  /** JSON has no NaN or infinity; these three words are the service's. */
  | { readonly type: 'Edm.Double'; readonly value: number | DoubleWord }
  /** In UTC with seven digits, `2026-11-15T19:46:33.1657319Z`, so that texts sort by time. */
  | { readonly type: 'Edm.DateTime'; readonly value: string }
  /** In lower case: these texts sort like the unsigned fields that .NET compares. */
  | { readonly type: 'Edm.Guid'; readonly value: string }
  /** Base64, padded. */
  | { readonly type: 'Edm.Binary'; readonly value: string }

export type EdmType = EdmValue['type']

export type DoubleWord = 'NaN' | 'Infinity' | '-Infinity'

/** By name. Use `setProperty` to add one, since `__proto__` is a valid name. */
export type EdmProperties = Readonly<Record<string, EdmValue>>

/** An assignment is faster, but to `__proto__` it would set the prototype. */
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
 * Compares a value with the constant of a filter. Returns less than, exactly or more than 0; NaN if a Double is
 * NaN; undefined if the types can't be compared. Only an Int32 constant is widened, to Int64 or Double: the
 * service finds the Int64 64 with `eq 64`, but not the Int32 64 with `eq 64L` (AzureStorageExplorer#5346,
 * #6866).
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

/** The size that the limit of 64 KiB per value applies to. Strings are UTF-16. */
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

/** The size that the limit of 1 MiB per entity applies to ("How to calculate the capacity of a table entity"). */
export function entitySizeBytes(entity: {
  readonly partitionKey: string
  readonly rowKey: string
  readonly properties: EdmProperties
}): number {
  let sizeBytes = 4 + (entity.partitionKey.length + entity.rowKey.length) * 2
  for (const [name, edm] of Object.entries(entity.properties)) {
    // Values of variable length include their length.
    const prefixBytes = edm.type === 'Edm.String' || edm.type === 'Edm.Binary' ? 4 : 0
    sizeBytes += 8 + name.length * 2 + prefixBytes + edmLengthBytes(edm)
  }
  return sizeBytes
}
