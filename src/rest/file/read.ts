// Get File: the bytes of a file, or of a part of it, on one snapshot of the store.
import { metadataHeaders, optionalGuid } from '../../http/header.ts'
import { leaseHeaders } from '../../http/lease-header.ts'
import type { Answer } from '../../http/operation.ts'
import { contentRange, decodeRange, decodeRangeHash, type ByteRange } from '../../http/range.ts'
import {
  encodeStructuredBody,
  isStructuredBodyAsked,
  STRUCTURED_BODY,
  structuredBodyLength,
} from '../../http/structured-body.ts'
import { readSmallPieces } from '../../extent/small.ts'
import { checkLeaseForRead } from '../../storage/lease.ts'
import { locate, requireNode, type FileNode } from '../../storage/file/node.ts'
import { readRange } from '../../storage/file/range.ts'
import { checkOpens } from '../../storage/file/rest-access.ts'
import { copyHeaders, withOverrides } from '../blob/answer.ts'
import { streamOf, type ReadBody } from '../blob/read.ts'
import { collect, crc64Of, INLINE_BYTES_MAX, md5Of } from '../blob/upload.ts'
import { smbHeaders, validators } from './answer.ts'
import { afterBreaks } from './breaks.ts'
import { refuseConditions } from './file-header.ts'
import { fileAddressAt, type FileCall } from './service.ts'

type ReadFile = {
  readonly node: FileNode
  readonly range: ByteRange | undefined
  readonly body: ReadBody
}

export async function runGetFile(call: FileCall): Promise<Answer> {
  const { request, service } = call
  refuseConditions(request)
  const { node, range, body } = await afterBreaks(service, request, () => readFile(call))
  const part = range ?? { from: 0, to: node.lengthBytes }
  const shown = contentHeaders(node, part, range !== undefined, service.moment().nowMs)
  const headers = withOverrides(shown, call.identity)
  const status = range === undefined ? 200 : 206
  const hashed = decodeRangeHash(request.headers, range)
  if (isStructuredBodyAsked(request.headers)) return structured(status, headers, part, body)
  if (hashed === undefined) return { status, headers, ...body }
  // At most 4 MiB, of which a hash may be asked for.
  const bytes = await collect(streamOf(body))
  if (hashed === 'md5') headers.push('Content-MD5', md5Of(bytes))
  else headers.push('x-ms-content-crc64', crc64Of(bytes))
  return { status, headers, body: bytes }
}

function readFile({ request, service }: FileCall): Promise<ReadFile> {
  const address = fileAddressAt(request)
  const leaseId = optionalGuid(request.headers, 'x-ms-lease-id')
  const { nowMs } = service.moment()
  const { extents, recycle } = service
  return service.kv.read(function* (tx): Generator<unknown, ReadFile, unknown> {
    const { share, node } = requireNode(yield* locate(tx, address), 'file')
    const range = decodeRange(request.headers, request.version, node.lengthBytes)
    const part = range ?? { from: 0, to: node.lengthBytes }
    if (address.snapshot === undefined) {
      yield* checkOpens(tx, share.id, node, 'Get File', part)
      checkLeaseForRead(node.lease, leaseId, nowMs, 'file')
    }
    const pieces = yield* readRange(tx, node, part)
    // A few bytes are at hand now; to come back for them would be a second read of the store.
    const isShort = part.to - part.from <= INLINE_BYTES_MAX
    const bytes = isShort ? yield* readSmallPieces(tx, pieces) : undefined
    if (bytes !== undefined) return { node, range, body: { body: bytes } }
    return { node, range, body: { stream: () => extents.read(pieces), recycle } }
  })
}

/** Get File, and Get File Properties but for its own; `isRanged` when only `part` was asked for. */
export function contentHeaders(
  node: FileNode,
  part: ByteRange,
  isRanged: boolean,
  nowMs: number,
): string[] {
  const { headers: stored = {}, copy } = node
  const headers = [
    'Content-Length', String(part.to - part.from),
    'Content-Type', stored.contentType ?? 'application/octet-stream',
    'Accept-Ranges', 'bytes',
    'x-ms-type', 'File',
    'x-ms-server-encrypted', 'false',
    ...validators(node),
    ...smbHeaders(node),
    ...leaseHeaders(node.lease, nowMs),
  ] // prettier-ignore
  if (stored.contentMd5 !== undefined) {
    headers.push(isRanged ? 'x-ms-content-md5' : 'Content-MD5', stored.contentMd5)
  }
  if (isRanged) headers.push('Content-Range', contentRange(part, node.lengthBytes))
  const { contentEncoding, contentLanguage, contentDisposition, cacheControl } = stored
  if (contentEncoding !== undefined) headers.push('Content-Encoding', contentEncoding)
  if (contentLanguage !== undefined) headers.push('Content-Language', contentLanguage)
  if (contentDisposition !== undefined) headers.push('Content-Disposition', contentDisposition)
  if (cacheControl !== undefined) headers.push('Cache-Control', cacheControl)
  headers.push(...metadataHeaders(node.metadata))
  if (copy !== undefined) headers.push(...copyHeaders(copy))
  return headers
}

/** The length that is sent is the message's; the content's own stands beside it. */
function structured(status: number, headers: string[], part: ByteRange, body: ReadBody): Answer {
  const contentBytes = part.to - part.from
  headers[headers.indexOf('Content-Length') + 1] = String(structuredBodyLength(contentBytes))
  headers.push('x-ms-structured-body', STRUCTURED_BODY)
  headers.push('x-ms-structured-content-length', String(contentBytes))
  const stream = () => encodeStructuredBody(streamOf(body), contentBytes)
  return { status, headers, stream }
}
