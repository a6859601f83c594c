// Submit Batch: up to 256 requests to delete blobs or to set their tier. Each part is a request of its own, with its
// own credentials and answer. A malformed batch is refused before any of its parts runs.
import { randomUUID } from 'node:crypto'
import { authenticate } from '../../auth/authenticate.ts'
import { authorize } from '../../auth/authorize.ts'
import type { Body } from '../../http/protocol/body.ts'
import { encodeErrorXml, errorHeaders, storageErrorOf, wireCode } from '../../http/door/error.ts'
import { serviceError } from '../../http/door/error-answer.ts'
import { answerAt } from '../../http/door/header-versions.ts'
import { optionalHeader } from '../../http/protocol/header.ts'
import {
  encodeHttpResponsePart,
  encodeMultipart,
  parseHttpRequestPart,
  parseMultipart,
  parseMultipartBoundary,
  type HttpRequestPart,
  type MultipartSource,
} from '../../http/protocol/multipart.ts'
import { reasonOf } from '../../http/protocol/response-head.ts'
import type { Answer, Operation, OperationTable, Request } from '../../http/door/operation.ts'
import { parseQuery } from '../../http/protocol/query.ts'
import { resolvePath } from '../../http/door/resource-path.ts'
import { StorageError } from '../../storage/shared/error.ts'
import { partHeadText } from './batch-part-head.ts'
import type { BlobCall, BlobService } from './service.ts'

export const BATCH_BYTES_MAX = 4 * 1024 * 1024
const PART_COUNT_MAX = 256
/** Parts that run concurrently: enough for their writes to share a sync. */
const PARTS_AT_ONCE = 32

type Part = {
  readonly contentId: string | undefined
  readonly request: Request
  readonly operation: Operation<BlobService>
}

export async function runSubmitBatch(
  call: BlobCall,
  table: OperationTable<BlobService>,
): Promise<Answer> {
  const { request } = call
  const boundary = parseMultipartBoundary(optionalHeader(request.headers, 'content-type'))
  const body = await request.body.read(BATCH_BYTES_MAX)
  const parts = decodeParts(request, parseMultipart(body, boundary, PART_COUNT_MAX + 1), table)
  const answers: MultipartSource[] = []
  for (let at = 0; at < parts.length; at += PARTS_AT_ONCE) {
    const some = parts.slice(at, at + PARTS_AT_ONCE)
    answers.push(...(await Promise.all(some.map((part) => runPart(call, part)))))
  }
  const answerBoundary = `batchresponse_${randomUUID()}`
  const headers = ['Content-Type', `multipart/mixed; boundary=${answerBoundary}`]
  return { status: 202, headers, body: encodeMultipart(answerBoundary, answers) }
}

function decodeParts(
  outer: Request,
  parts: ReturnType<typeof parseMultipart>,
  table: OperationTable<BlobService>,
): Part[] {
  if (parts.length === 0) throw new StorageError('InvalidInput')
  if (parts.length > PART_COUNT_MAX) throw new StorageError('ExceedsMaxBatchRequestCount')
  const decoded = parts.map(({ headers, body }): Part => {
    const request = partRequest(outer, parseHttpRequestPart(body))
    const operation = operationOf(table, request)
    return { contentId: optionalHeader(headers, 'content-id'), request, operation }
  })
  if (new Set(decoded.map(({ operation }) => operation.name)).size > 1) {
    throw new StorageError('AllBatchSubRequestsShouldBeSameApi')
  }
  const [container] = outer.path
  const isElsewhere = decoded.some(({ request }) => request.path[0] !== container)
  if (container !== undefined && isElsewhere) {
    throw new StorageError(
      'InvalidInput',
      {},
      'A part addresses a different container than the batch.',
    )
  }
  return decoded
}

function operationOf(table: OperationTable<BlobService>, request: Request) {
  try {
    return table.find(request)
  } catch {
    throw new StorageError('InvalidInput', {}, 'A part is neither Delete Blob nor Set Blob Tier.')
  }
}

/**
 * A part uses the account of the batch, whether or not its path contains it: the Python client omits it in path style
 * (Azurite#1809), and the .NET client omits the first slash.
 */
function partRequest(outer: Request, part: HttpRequestPart): Request {
  const url = part.url.startsWith('/') ? part.url : `/${part.url}`
  const question = url.indexOf('?')
  const rawPath = question < 0 ? url : url.slice(0, question)
  const query = parseQuery(question < 0 ? '' : url.slice(question + 1))
  const account = `/${outer.account}/`
  const isWhole = outer.pathStyle && rawPath.startsWith(account)
  const headers = part.headers as Request['headers']
  const resource = rawPath.slice(isWhole ? account.length : 1)
  return {
    ...outer,
    method: part.method,
    headers,
    rawHeaders: part.rawHeaders,
    rawPath,
    path: resolvePath('blob', resource, { query, headers, version: outer.version }),
    query,
    requestId: randomUUID(),
    body: NO_BODY,
  }
}

/** Neither Delete Blob nor Set Blob Tier has a body. */
const NO_BODY: Body = {
  lengthBytes: 0,
  read: () => Promise.resolve(Buffer.alloc(0)),
  async *stream() {},
}

async function runPart(call: BlobCall, part: Part): Promise<MultipartSource> {
  const { request, contentId, operation } = part
  const watch = call.watch?.part()
  const service = watch === undefined ? call.service : watch.over(call.service)
  const answer = await answerOf({ ...call, service }, part)
  const { status, errorCode } = answer
  const notes = watch?.takeNotes() ?? []
  const { path, requestId } = request
  const headText = call.watch && partHeadText(call.request, request)
  call.watch?.endPart({
    operation: operation.name,
    path,
    ...(headText !== undefined && { headText }),
    requestId,
    status,
    errorCode,
    notes,
  })
  const { reason = reasonOf(answer.status) } = answer
  const headers = [...answer.headers, 'x-ms-request-id', request.requestId]
  headers.push('x-ms-version', request.version)
  const clientId = optionalHeader(request.headers, 'x-ms-client-request-id')
  if (clientId !== undefined) headers.push('x-ms-client-request-id', clientId)
  const body = typeof answer.body === 'string' ? Buffer.from(answer.body) : answer.body
  if (body !== undefined) headers.push('Content-Length', String(body.length))
  const partHeaders = ['Content-Type', 'application/http']
  if (contentId !== undefined) partHeaders.push('Content-ID', contentId)
  return {
    headers: partHeaders,
    body: encodeHttpResponsePart(answer.status, reason, headers, body),
  }
}

/** The status line of a failed part contains the error's message. */
type PartAnswer = Answer & { readonly reason?: string; readonly errorCode?: string }

async function answerOf({ service }: BlobCall, { request, operation }: Part): Promise<PartAnswer> {
  const world = service.world()
  try {
    const identity = await authenticate(request, world)
    await authorize(identity, operation.permission, request, world)
    const answer = await operation.run({ request, identity, service })
    return answerAt(answer, operation.name, request.version)
  } catch (error) {
    const known = storageErrorOf(error)
    if (known === undefined) throw error
    const sent = serviceError(known, { service: 'blob', operation: operation.name, request })
    const { status } = sent
    const errorCode = wireCode(sent.code)
    service.reportRefusal?.({ operation: operation.name, status, errorCode })
    const headers = Object.entries(errorHeaders(sent)).flat()
    headers.push('Content-Type', 'application/xml')
    const body = encodeErrorXml(sent, request.requestId, world.wallNowMs)
    return {
      status,
      headers,
      body,
      errorCode,
      reason: sent.message.replaceAll(/[^\x20-\x7e]/g, '?'),
    }
  }
}
