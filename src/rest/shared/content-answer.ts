// Answers Get Blob and Get File with the bytes of a blob or a file.
import type { Answer, Request } from '../../http/door/operation.ts'
import type { ByteRange } from '../../extent/content/interval-map.ts'
import { crc64Of, md5Of } from '../../extent/hash/hash.ts'
import { decodeRangeHash } from '../../http/protocol/range.ts'
import {
  encodeStructuredBody,
  wantsStructuredBody,
  STRUCTURED_BODY,
  structuredBodyLength,
} from '../../http/protocol/structured-body.ts'
import { collect, once } from './upload.ts'

/** Bytes in memory, or a stream of them. */
export type ReadBody = { readonly body: Uint8Array } | Required<Pick<Answer, 'stream' | 'recycle'>>

type ContentBody = {
  /** The requested range; undefined: everything. */
  readonly range: ByteRange | undefined
  readonly lengthBytes: number
  readonly body: ReadBody
}

export async function contentAnswer(
  { headers: requestHeaders }: Request,
  headers: readonly string[],
  { range, lengthBytes, body }: ContentBody,
): Promise<Answer> {
  const status = range === undefined ? 200 : 206
  const hashed = decodeRangeHash(requestHeaders, range)
  if (wantsStructuredBody(requestHeaders)) {
    const { from, to } = range ?? { from: 0, to: lengthBytes }
    return { status, ...structured(headers, to - from, body) }
  }
  if (hashed === undefined) return { status, headers, ...body }
  // A hash is available for ranges of up to 4 MiB only, so this fits in memory.
  const bytes = await collect(streamOf(body))
  const hash =
    hashed === 'md5' ? ['Content-MD5', md5Of(bytes)] : ['x-ms-content-crc64', crc64Of(bytes)]
  return { status, headers: [...headers, ...hash], body: bytes }
}

/** Content-Length is that of the message; the content's own length has a header of its own. */
function structured(
  given: readonly string[],
  contentBytes: number,
  body: ReadBody,
): Pick<Answer, 'headers' | 'stream'> {
  const headers = [...given]
  headers[headers.indexOf('Content-Length') + 1] = String(structuredBodyLength(contentBytes))
  headers.push('x-ms-structured-body', STRUCTURED_BODY)
  headers.push('x-ms-structured-content-length', String(contentBytes))
  return { headers, stream: () => encodeStructuredBody(streamOf(body), contentBytes) }
}

export function streamOf(body: ReadBody): AsyncIterable<Uint8Array> {
  return 'body' in body ? once(body.body) : body.stream()
}
