// The record of an entity. PartitionKey and RowKey are in the record's key; the record is one flat JSON list:
// the stamp, then the name, the letter of the type and the value of each property. Compared with the properties
// as JSON objects it takes two thirds of the space and half the time to read (422 instead of 652 bytes, 1.9
// instead of 3.7 µs, measured with eight properties).
import { decodeKey, encodeKey } from '../../kv/key.ts'
import { derived } from '../../kv/derived.ts'
import type { Key } from '../../kv/kv.ts'
import { decodeRecord, encodeSharedRecord, type StoredRecord } from '../../kv/record.ts'
import { setProperty, type EdmProperties, type EdmType, type EdmValue } from './edm.ts'
import { entityKeyParts } from './keys.ts'

export type EntityKeys = { readonly partitionKey: string; readonly rowKey: string }

/** The part of an entity that can change. */
type EntityState = {
  /** Its ETag and its Timestamp are made from it. */
  readonly stamp: number
  /** Without PartitionKey, RowKey and Timestamp. */
  readonly properties: EdmProperties
}

export type Entity = EntityKeys & EntityState

/** Existing stores contain these letters, so their meaning must never change. */
const LETTERS: Readonly<Record<EdmType, string>> = {
  'Edm.String': 'S',
  'Edm.Boolean': 'B',
  'Edm.Int32': 'I',
  'Edm.Int64': 'L',
  'Edm.Double': 'F',
  'Edm.DateTime': 'D',
  'Edm.Guid': 'G',
  'Edm.Binary': 'X',
}

const TYPES = new Map(Object.entries(LETTERS).map(([type, letter]) => [letter, type]))

type Scalar = string | number | boolean

export function encodeState({ stamp, properties }: EntityState): StoredRecord {
  const list: Scalar[] = [stamp]
  for (const [name, { type, value }] of Object.entries(properties)) {
    list.push(name, LETTERS[type], value)
  }
  return encodeSharedRecord(list)
}

export function decodeEntityRecord(
  { partitionKey, rowKey }: EntityKeys,
  value: StoredRecord,
): Entity {
  const list = decodeRecord<readonly Scalar[]>(value)
  const properties = derived(value, 'properties', () => parseProperties(list))
  return { partitionKey, rowKey, stamp: Number(list[0]), properties }
}

function parseProperties(list: readonly Scalar[]): EdmProperties {
  const properties: Record<string, EdmValue> = {}
  for (let at = 1; at < list.length; at += 3) {
    const name = String(list[at])
    const edm = { type: TYPES.get(String(list[at + 1])), value: list[at + 2] } as EdmValue
    setProperty(properties, name, edm)
  }
  return properties
}

/** The part before the PartitionKey has the same length in all tables. */
const HEAD_BYTES = encodeKey(...entityKeyParts(0)).length
const PLAIN = /^[ -~]*$/

/** Queries decode thousands of keys, so ASCII, which almost all keys are, has a fast path (0.14 instead of 1 µs). */
export function decodeEntityKey(key: Key): EntityKeys {
  const bytes = Buffer.isBuffer(key) ? key : Buffer.from(key)
  // After the head: the tag of a string, PartitionKey, 0, the tag of a string, RowKey, 0 (kv/key.ts).
  const latin1 = bytes.toString('latin1', HEAD_BYTES + 1, bytes.length - 1)
  const end = latin1.indexOf('\0')
  const [partitionKey, rowKey] = [latin1.slice(0, end), latin1.slice(end + 2)]
  if (PLAIN.test(partitionKey) && PLAIN.test(rowKey)) return { partitionKey, rowKey }
  const parts = decodeKey(key)
  return { partitionKey: String(parts[2]), rowKey: String(parts[3]) }
}
