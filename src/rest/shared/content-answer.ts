// The bytes of a blob or a file as an answer: Get Blob and Get File.
import type { Answer, Request } from '../../http/door/operation.ts'
import { decodeRangeHash, type ByteRange } from '../../http/protocol/range.ts'
import {
  encodeStructuredBody,
  isStructuredBodyAsked,
  STRUCTURED_BODY,
  structuredBodyLength,
} from '../../http/protocol/structured-body.ts'
import { crc64Of, md5Of } from './body-hashes.ts'
import { collect, once } from './upload.ts'

/** Bytes that are at hand, or a stream of them. */
export type ReadBody = { readonly body: Uint8Array } | Required<Pick<Answer, 'stream' | 'recycle'>>

export type Content = {
  /** What was asked for; undefined for all of it. */
  readonly range: ByteRange | undefined
  readonly lengthBytes: number
  readonly body: ReadBody
}

export async function contentAnswer(
  { headers: asked }: Request,
  headers: readonly string[],
  { range, lengthBytes, body }: Content,
): Promise<Answer> {
  const status = range === undefined ? 200 : 206
  const hashed = decodeRangeHash(asked, range)
  if (isStructuredBodyAsked(asked)) {
    const { from, to } = range ?? { from: 0, to: lengthBytes }
    return { status, ...structured(headers, to - from, body) }
  }
  if (hashed === undefined) return { status, headers, ...body }
  // At most 4 MiB, of which a hash may be asked for.
  const bytes = await collect(streamOf(body))
  const hash =
    hashed === 'md5' ? ['Content-MD5', md5Of(bytes)] : ['x-ms-content-crc64', crc64Of(bytes)]
  return { status, headers: [...headers, ...hash], body: bytes }
}

/** The length that is sent is the message's; the content's own stands beside it. */
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
