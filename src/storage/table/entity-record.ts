// How an entity is kept: its keys are in the key, and the record is one flat list of JSON, the stamp and
// then name, letter of the type and value of each property. That is two thirds of the properties' own JSON
// and read in half its time (measured: 422 bytes against 652, 1.9 µs against 3.7 µs, eight properties).
import { decodeKey, encodeKey } from '../../kv/key.ts'
import { derived } from '../../kv/derived.ts'
import type { Key } from '../../kv/kv.ts'
import { decodeRecord, encodeSharedRecord, type StoredRecord } from '../../kv/record.ts'
import { setProperty, type EdmProperties, type EdmType, type EdmValue } from './edm.ts'
import { entityKeyParts } from './keys.ts'

export type EntityKeys = { readonly partitionKey: string; readonly rowKey: string }

/** What can change of an entity. */
export type EntityState = {
  /** Its ETag and its Timestamp are made from it. */
  readonly stamp: number
  /** Without PartitionKey, RowKey and Timestamp. */
  readonly properties: EdmProperties
}

export type Entity = EntityKeys & EntityState

/** They are in stores: a letter is never given another meaning. */
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

export function decodeEntity({ partitionKey, rowKey }: EntityKeys, value: StoredRecord): Entity {
  return { partitionKey, rowKey, ...decodeState(value) }
}

export function decodeState(value: StoredRecord): EntityState {
  const list = decodeRecord<readonly Scalar[]>(value)
  const properties = derived(value, 'properties', () => parseProperties(list))
  return { stamp: Number(list[0]), properties }
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

/** Before the PartitionKey of a key there is the same number of bytes in all tables. */
const HEAD_BYTES = encodeKey(...entityKeyParts(0)).length
const PLAIN = /^[ -~]*$/

/** A query reads thousands: ASCII, which almost all keys are, has a shorter way (0.14 µs against 1 µs). */
export function decodeEntityKey(key: Key): EntityKeys {
  const bytes = Buffer.isBuffer(key) ? key : Buffer.from(key)
  // Behind the head: a byte that says string, PartitionKey, 0, the byte again, RowKey, 0 (kv/key.ts).
  const latin1 = bytes.toString('latin1', HEAD_BYTES + 1, bytes.length - 1)
  const end = latin1.indexOf('\0')
  const [partitionKey, rowKey] = [latin1.slice(0, end), latin1.slice(end + 2)]
  if (PLAIN.test(partitionKey) && PLAIN.test(rowKey)) return { partitionKey, rowKey }
  const parts = decodeKey(key)
  return { partitionKey: String(parts[2]), rowKey: String(parts[3]) }
}
