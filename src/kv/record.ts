// A record: a JSON object followed by raw bytes (a small body that is stored in its record). The object comes
// first, so that lists read it without the bytes.
//
//   u32 little-endian   length of the JSON
//   JSON, UTF-8
//   bytes to the end
//
// The readers of a cached record share it (cache.ts): its JSON is parsed once, and `derived` attaches values to it.

const NO_BYTES = new Uint8Array(0)

export class StoredRecord {
  /** The stored bytes; only the fields if the record is not whole. */
  readonly value: Uint8Array
  readonly isWhole: boolean
  #fields: unknown

  constructor(value: Uint8Array, fields?: unknown, isWhole = true) {
    this.value = value
    this.#fields = fields
    this.isWhole = isWhole
  }

  get isParsed(): boolean {
    return this.#fields !== undefined
  }

  get fields(): unknown {
    return (this.#fields ??= parseFields(this.value))
  }

  /** The same record in other memory. */
  withValue(value: Uint8Array): StoredRecord {
    return new StoredRecord(value, this.#fields, this.isWhole)
  }

  get bytes(): Uint8Array {
    if (!this.isWhole) throw new Error('The record was read without its bytes.')
    return this.value.subarray(fieldsEnd(this.value), this.value.length)
  }
}

export function encodeRecord(fields: object, bytes: Uint8Array = NO_BYTES): StoredRecord {
  return new StoredRecord(encodeValue(fields, bytes))
}

/** Readers get `fields` itself instead of parsed JSON, so it must equal what its JSON parses to. */
export function encodeSharedRecord(fields: object, bytes: Uint8Array = NO_BYTES): StoredRecord {
  return new StoredRecord(encodeValue(fields, bytes), fields)
}

function encodeValue(fields: object, bytes: Uint8Array): Uint8Array {
  const json = JSON.stringify(fields)
  const jsonBytes = Buffer.byteLength(json)
  const value = Buffer.allocUnsafe(4 + jsonBytes + bytes.length)
  value.writeUInt32LE(jsonBytes, 0)
  // Latin-1 copies ASCII as it is, which is faster.
  value.write(json, 4, jsonBytes === json.length ? 'latin1' : 'utf8')
  value.set(bytes, 4 + jsonBytes)
  return value
}

/** The caller names the type that it wrote under this key; `lazuli fsck` checks what is there. */
export function decodeRecord<T>(record: StoredRecord): T {
  return record.fields as T
}

export function recordBytes(record: StoredRecord): Uint8Array {
  return record.bytes
}

/** The offset at which the bytes of a record begin; the length of a value that is not a record. */
export function fieldsEnd(value: Uint8Array): number {
  if (value.length < 4) return value.length
  return Math.min(4 + asBuffer(value).readUInt32LE(0), value.length)
}

export function parseFields(value: Uint8Array): unknown {
  return JSON.parse(asBuffer(value).toString('utf8', 4, fieldsEnd(value)))
}

function asBuffer(value: Uint8Array): Buffer {
  if (Buffer.isBuffer(value)) return value
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
}
