// Test helpers: run a query over a text and decode its answer. The decoder is independent of the encoder: it takes the
// schema from the Avro file.
import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { Budget, QUERY_LIMITS, type QueryLimits } from './budget.ts'
import { DELIMITED_DEFAULT } from '../format/format.ts'
import { prepareQuery } from './query.ts'
import type { DelimitedFormat, InputFormat, JsonFormat, OutputFormat } from '../format/format.ts'

export const QUERY_NOW_MS = Date.UTC(2026, 0, 15, 12)
export const SYNC_MARKER = Buffer.from('0123456789abcdef')
export const CSV: DelimitedFormat = DELIMITED_DEFAULT
export const CSV_WITH_HEADERS: DelimitedFormat = { ...CSV, hasHeaders: true }
export const JSON_LINES: JsonFormat = { type: 'json', recordSeparator: '\n' }

export type Formats = { readonly input?: InputFormat; readonly output?: OutputFormat }
type AvroValue = number | boolean | string | Buffer
type AvroMessage = {
  readonly kind: string
  readonly fields: Readonly<Record<string, AvroValue>>
}

type Reply = {
  readonly text: string
  readonly errors: readonly AvroMessage['fields'][]
  readonly messages: readonly AvroMessage[]
}

export async function* blobChunks(blob: Uint8Array, lengthBytes = 64 * 1024) {
  for (let at = 0; at < blob.length; at += lengthBytes) yield blob.subarray(at, at + lengthBytes)
}

/** Its clock never advances. */
export const budgetOf = (limits: QueryLimits): Budget => new Budget(limits, () => 0)

export async function ask(
  expression: string,
  blob: string | Uint8Array,
  formats: Formats = {},
  chunkBytes?: number,
  limits: QueryLimits = QUERY_LIMITS,
): Promise<Reply> {
  const { input = CSV, output = CSV } = formats
  const bytes = Buffer.from(blob)
  const query = prepareQuery({ expression, input, output }, QUERY_NOW_MS, budgetOf(limits))
  const stream = query.run({
    chunks: blobChunks(bytes, chunkBytes),
    totalBytes: bytes.length,
    syncMarker: SYNC_MARKER,
    giveWay: setImmediate,
  })
  const parts: Uint8Array[] = []
  for await (const part of stream) parts.push(part)
  return replyOf(decodeAvro(Buffer.concat(parts)))
}

export function replyOf(messages: readonly AvroMessage[]): Reply {
  const of = (kind: string) => messages.filter((message) => message.kind === kind)
  const results = of('resultData').map(({ fields }) => fields['data'])
  return {
    text: Buffer.concat(results.filter((result) => Buffer.isBuffer(result))).toString(),
    errors: of('error').map(({ fields }) => fields),
    messages,
  }
}

type Schema = { readonly name: string; readonly fields: readonly { name: string; type: string }[] }
type AvroReader = { readonly bytes: Buffer; at: number }

/** Avro 1.8, "Object Container Files". */
export function decodeAvro(bytes: Buffer): readonly AvroMessage[] {
  const reader = { bytes, at: 4 }
  assert.equal(bytes.toString('latin1', 0, 4), 'Obj\u0001')
  const metadata = new Map<string, string>()
  for (let count = long(reader); count > 0; count = long(reader)) {
    for (; count > 0; count -= 1) metadata.set(take(reader).toString(), take(reader).toString())
  }
  assert.equal(metadata.get('avro.codec'), 'null')
  const schemas = JSON.parse(metadata.get('avro.schema') ?? '') as readonly Schema[]
  const marker = raw(reader, 16)
  const messages: AvroMessage[] = []
  while (reader.at < bytes.length) {
    const [count, lengthBytes] = [long(reader), long(reader)]
    const end = reader.at + lengthBytes
    for (let at = 0; at < count; at += 1) messages.push(decodeMessage(reader, schemas))
    assert.equal(reader.at, end)
    assert.deepEqual(raw(reader, 16), marker)
  }
  return messages
}

function decodeMessage(reader: AvroReader, schemas: readonly Schema[]): AvroMessage {
  const schema = schemas[long(reader)]
  assert(schema !== undefined)
  const fields: Record<string, AvroValue> = {}
  for (const { name, type } of schema.fields) fields[name] = decodeValue(reader, type)
  const prefix = 'com.microsoft.azure.storage.queryBlobContents.'
  assert(schema.name.startsWith(prefix))
  return { kind: schema.name.slice(prefix.length), fields }
}

function decodeValue(reader: AvroReader, type: string): AvroValue {
  if (type === 'long') return long(reader)
  if (type === 'boolean') return raw(reader, 1)[0] === 1
  return type === 'string' ? take(reader).toString() : take(reader)
}

function long(reader: AvroReader): number {
  let value = 0n
  for (let shift = 0n; ; shift += 7n) {
    const byte = reader.bytes[reader.at] ?? 0
    reader.at += 1
    value |= BigInt(byte & 0x7f) << shift
    if (byte < 128) return Number(value & 1n ? -(value >> 1n) - 1n : value >> 1n)
  }
}

const take = (reader: AvroReader) => raw(reader, long(reader))

function raw(reader: AvroReader, lengthBytes: number): Buffer {
  reader.at += lengthBytes
  assert(reader.at <= reader.bytes.length)
  return reader.bytes.subarray(reader.at - lengthBytes, reader.at)
}
