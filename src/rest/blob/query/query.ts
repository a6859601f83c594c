// Query Blob Contents: SQL over the bytes of a block blob. An invalid request gets an ordinary error; once the answer
// has begun, errors are records in it.
import { randomBytes } from 'node:crypto'
import type { Answer } from '../../../http/door/operation.ts'
import { SYNC_MARKER_BYTES } from '../../../query/format/avro.ts'
import { QueryError } from '../../../query/query-error.ts'
import type { QueryThreads } from '../../../query/run/query-threads.ts'
import type { QueryRequest } from '../../../query/run/query.ts'
import { requireType } from '../../../storage/blob/guard.ts'
import { StorageError } from '../../../storage/shared/error.ts'
import { streamOf } from '../../shared/content-answer.ts'
import { blobHeaders } from '../answer.ts'
import { QUERY_BYTES_MAX } from '../length-limit.ts'
import { decodeQueryRequest } from './query-xml.ts'
import { bodyOf, readBytes } from '../read.ts'
import type { BlobCall } from '../service.ts'

export async function runQueryBlobContents(call: BlobCall): Promise<Answer> {
  const { request, service } = call
  const { nowMs } = service.moment()
  const query = decodeQueryRequest(await request.body.read(QUERY_BYTES_MAX))
  await check(service.queryThreads, query)
  const read = await readBytes(call)
  const { blob } = read.target.stored
  requireType(blob, 'BlockBlob')
  const part = read.range ?? { from: 0, to: blob.lengthBytes }
  const isRanged = read.range !== undefined
  const headers = withoutBody(blobHeaders(blob, { part, isRanged, isById: read.isById }, nowMs))
  const body = bodyOf(service, read)
  const syncMarker = randomBytes(SYNC_MARKER_BYTES)
  const totalBytes = part.to - part.from
  const disconnect = new AbortController()
  const stream = () => {
    const source = { chunks: streamOf(body), totalBytes, syncMarker }
    return service.queryThreads.run({ ...query, nowMs }, source, disconnect.signal)
  }
  return { status: isRanged ? 206 : 200, headers, stream, onGone: () => disconnect.abort() }
}

async function check(queryThreads: QueryThreads, query: QueryRequest): Promise<void> {
  if (queryThreads.isFull) throw new StorageError('ServerBusy')
  try {
    await queryThreads.check(query)
  } catch (error) {
    if (!(error instanceof QueryError)) throw error
    if (error.code === 'InvalidXmlNodeValue' || error.code === 'ErrorProcessingQueryExpression') {
      throw new StorageError(error.code, {}, error.message)
    }
    throw error
  }
}

/** Removes length, type and hash, which are the blob's, not the answer's; the answer's length is not known yet. */
function withoutBody(headers: readonly string[]): string[] {
  const kept = ['Content-Type', 'avro/binary']
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const [name = '', value = ''] = [headers[at], headers[at + 1]]
    if (!CONTENT_HEADERS.has(name)) kept.push(name, value)
  }
  return kept
}

const CONTENT_HEADERS: ReadonlySet<string> = new Set([
  'Content-Length',
  'Content-Type',
  'Content-Encoding',
  'Content-Range',
  'Content-MD5',
  'x-ms-blob-content-md5',
])
