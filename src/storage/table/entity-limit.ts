// Limits on entities, their keys and their properties ("Understanding the Table service data model"). The
// messages are those that the service sends, which differ from its list of error codes.
import { StorageError, type ErrorCode } from '../shared/error.ts'
import { edmLengthBytes, entitySizeBytes, type EdmProperties } from './edm.ts'
import type { EntityKeys } from './entity-record.ts'
import { ENTITY_KEY_LENGTH_MAX } from './key-range.ts'

/** Besides PartitionKey, RowKey and Timestamp. */
const PROPERTY_COUNT_MAX = 252
const PROPERTY_NAME_LENGTH_MAX = 255
const PROPERTY_SIZE_BYTES_MAX = 64 * 1024
const ENTITY_SIZE_BYTES_MAX = 1024 * 1024

const MESSAGES = {
  EntityTooLarge: 'The entity is larger than the maximum allowed size (1MB).',
  PropertyNameTooLong: 'The property name exceeds the maximum allowed length (255).',
  PropertyValueTooLarge:
    'The property value exceeds the maximum allowed size (64KB). If the property value is a string, it is UTF-16 encoded and the maximum number of characters should be 32K or less.',
  TooManyProperties:
    'The entity contains more properties than allowed. Each entity can include up to 252 properties to store data. Each entity also has 3 system properties.',
} as const satisfies Partial<Record<ErrorCode, string>>

const KEY_FORBIDDEN = /[/\\#?\p{Cc}]/u
/** C# identifiers. Almost all names pass the first, faster test. */
const PLAIN_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
const NAME = /^[\p{L}\p{Nl}_][\p{L}\p{Nl}\p{Mn}\p{Mc}\p{Nd}\p{Pc}\p{Cf}]*$/u

/** For writes that may create the entity. For others, an entity with invalid keys simply doesn't exist. */
export function checkEntityKeys({ partitionKey, rowKey }: EntityKeys): void {
  checkKey('PartitionKey', partitionKey)
  checkKey('RowKey', rowKey)
}

function checkKey(name: 'PartitionKey' | 'RowKey', key: string): void {
  // The service has a code KeyValueTooLarge, but doesn't use it.
  if (key.length > ENTITY_KEY_LENGTH_MAX) throw exceeded('PropertyValueTooLarge')
  if (!KEY_FORBIDDEN.test(key)) return
  const message = `The '${name}' parameter of value '${key}' is out of range.`
  throw new StorageError('OutOfRangeInput', {}, message)
}

/** The size of the entity is checked before those of its values: 1 MiB in one property is EntityTooLarge. */
export function checkProperties(keys: EntityKeys, properties: EdmProperties): void {
  for (const name of Object.keys(properties)) checkName(name)
  checkEntitySize(keys, properties)
  for (const edm of Object.values(properties)) {
    if (edmLengthBytes(edm) > PROPERTY_SIZE_BYTES_MAX) throw exceeded('PropertyValueTooLarge')
  }
}

/** A merge can exceed these limits even if neither of its parts does. */
export function checkEntitySize(keys: EntityKeys, properties: EdmProperties): void {
  if (Object.keys(properties).length > PROPERTY_COUNT_MAX) throw exceeded('TooManyProperties')
  const sizeBytes = entitySizeBytes({ ...keys, properties })
  if (sizeBytes > ENTITY_SIZE_BYTES_MAX) throw exceeded('EntityTooLarge')
}

function checkName(name: string): void {
  if (name.length > PROPERTY_NAME_LENGTH_MAX) throw exceeded('PropertyNameTooLong')
  if (!PLAIN_NAME.test(name) && !NAME.test(name)) throw new StorageError('PropertyNameInvalid')
}

function exceeded(code: keyof typeof MESSAGES): StorageError {
  return new StorageError(code, {}, MESSAGES[code])
}
