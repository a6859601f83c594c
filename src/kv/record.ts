// A record: a JSON object and, behind it, raw bytes (a small body that lives in its record). The object comes
// first, so that a list reads it without touching the bytes.
//
//   u32 little-endian   length of the JSON
//   JSON, UTF-8
//   bytes to the end
//
// A record that is read often is shared by all its readers (cache.ts), with its JSON parsed once and with what
// `derived` attached to it.

const NO_BYTES = new Uint8Array(0)

export class StoredRecord {
  /** As the engine stores it; of a record that is not whole, only its fields. */
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
    if (!this.isWhole) throw new Error('this record was read without its bytes')
    return this.value.subarray(fieldsEnd(this.value), this.value.length)
  }
}

export function encodeRecord(fields: object, bytes: Uint8Array = NO_BYTES): StoredRecord {
  return new StoredRecord(encodeValue(fields, bytes))
}

/** Readers get `fields` itself instead of parsing it again, so it must be exactly what its JSON parses to. */
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

/** Where the fields of a value end and its bytes begin; the end of a value that is no record. */
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
