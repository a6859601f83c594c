// Encodes the answer as an Avro object container file (Avro 1.8, "Object Container Files"). Its records are a union of
// the four messages of Query Blob Contents. Each record is a block of its own, so that the reader can decode it as
// soon as it arrives.
import assert from 'node:assert/strict'

export const SYNC_MARKER_BYTES = 16

const NAMESPACE = 'com.microsoft.azure.storage.queryBlobContents'

const field = (name: string, type: string) => ({ name, type })
const record = (name: string, ...fields: readonly object[]) => ({
  type: 'record',
  name: `${NAMESPACE}.${name}`,
  fields,
})

const SCHEMA = JSON.stringify([
  record('resultData', field('data', 'bytes')),
  record(
    'error',
    field('fatal', 'boolean'),
    field('name', 'string'),
    field('description', 'string'),
    field('position', 'long'),
  ),
  record('progress', field('bytesScanned', 'long'), field('totalBytes', 'long')),
  record('end', field('totalBytes', 'long')),
])

/** The index of each message in the union. */
const [RESULT_DATA, ERROR, PROGRESS, END] = [0, 1, 2, 3]

type QueryFailure = {
  readonly fatal: boolean
  readonly name: string
  readonly description: string
  readonly position: number
}

export function encodeAvroHeader(syncMarker: Uint8Array): Buffer {
  assert(syncMarker.length === SYNC_MARKER_BYTES)
  const metadata = [text('avro.schema'), text(SCHEMA), text('avro.codec'), text('null')]
  return Buffer.concat([Buffer.from('Obj\u0001'), long(2), ...metadata, long(0), syncMarker])
}

export function encodeResultBlock(result: Uint8Array, syncMarker: Uint8Array): Buffer {
  return block([long(RESULT_DATA), long(result.length), result], syncMarker)
}

export function encodeErrorBlock(failure: QueryFailure, syncMarker: Uint8Array): Buffer {
  const fatal = Buffer.of(failure.fatal ? 1 : 0)
  const texts = [text(failure.name), text(failure.description)]
  return block([long(ERROR), fatal, ...texts, long(failure.position)], syncMarker)
}

export function encodeProgressBlock(
  progress: { readonly bytesScanned: number; readonly totalBytes: number },
  syncMarker: Uint8Array,
): Buffer {
  return block([long(PROGRESS), long(progress.bytesScanned), long(progress.totalBytes)], syncMarker)
}

export function encodeEndBlock(totalBytes: number, syncMarker: Uint8Array): Buffer {
  return block([long(END), long(totalBytes)], syncMarker)
}

/** One record: the count, the length, the record, the marker. */
function block(parts: readonly Uint8Array[], syncMarker: Uint8Array): Buffer {
  const lengthBytes = parts.reduce((sum, part) => sum + part.length, 0)
  return Buffer.concat([long(1), long(lengthBytes), ...parts, syncMarker])
}

// Zigzag, then seven bits per byte. Divides instead of shifting, since shifts have 32 bits and blobs are larger.
function long(value: number): Buffer {
  assert(Number.isSafeInteger(value) && value >= 0)
  const bytes: number[] = []
  let rest = value * 2
  while (rest >= 128) {
    bytes.push((rest % 128) + 128)
    rest = Math.floor(rest / 128)
  }
  bytes.push(rest)
  return Buffer.from(bytes)
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([long(bytes.length), bytes])
}
