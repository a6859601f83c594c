// Entity group transactions: a batch is either one changeset, which is written all or nothing, or a single query
// (https://learn.microsoft.com/rest/api/storageservices/performing-entity-group-transactions).
// A malformed batch is refused; an error in one of its parts is reported inside the answer.
import { randomUUID } from 'node:crypto'
import { authorize } from '../../auth/authorize.ts'
import { storageErrorOf, wireCode } from '../../http/door/error.ts'
import { optionalHeader } from '../../http/protocol/header.ts'
import {
  encodeHttpResponsePart,
  encodeMultipart,
  parseMultipart,
  parseMultipartBoundary,
  type MultipartPart,
  type MultipartSource,
} from '../../http/protocol/multipart.ts'
import type { Answer, OperationTable } from '../../http/door/operation.ts'
import { Turn } from '../../kv/turn.ts'
import { reasonOf } from '../../http/protocol/response-head.ts'
import { encodeErrorJson, odataErrorHeaders } from './table-error.ts'
import { StorageError } from '../../storage/shared/error.ts'
import type { EntityWrite } from '../../storage/table/entity.ts'
import { TransactionError, writeEntities } from '../../storage/table/transaction.ts'
import { heldError } from '../shared/held-name.ts'
import { tableAddress } from './address.ts'
import { decodePart, type BatchPart } from './batch-part.ts'
import { TABLE_HEADERS } from './payload-format.ts'
import { requestedTable, sasTableOf, type TableCall, type TableService } from './service.ts'
import { checkWritable, decodeWrite, TABLE_BYTES_MAX, writeAnswer } from './write.ts'

type Operations = OperationTable<TableService>

/** Its name in the API table. */
const BATCH = 'Entity Group Transaction'

export async function runEntityGroupTransaction(
  call: TableCall,
  table: Operations,
): Promise<Answer> {
  const boundary = parseMultipartBoundary(optionalHeader(call.request.headers, 'content-type'))
  const body = await call.request.body.read(TABLE_BYTES_MAX)
  const [part, ...others] = parseMultipart(body, boundary)
  if (part === undefined || others.length > 0) throw invalidBatch('It must have one part.')
  const answer = isChangeset(part)
    ? await runChangeset(call, table, part)
    : await runQuery(call, table, part)
  const answerBoundary = `batchresponse_${randomUUID()}`
  const headers = [...TABLE_HEADERS, 'Content-Type', `multipart/mixed; boundary=${answerBoundary}`]
  return { status: 202, headers, body: encodeMultipart(answerBoundary, [answer]) }
}

function isChangeset({ headers }: MultipartPart): boolean {
  return /^multipart\/mixed\b/i.test(optionalHeader(headers, 'content-type') ?? '')
}

async function runQuery(
  call: TableCall,
  table: Operations,
  source: MultipartPart,
): Promise<MultipartSource> {
  const part = decodePart(call.request, source)
  if (part.request.method !== 'GET') {
    throw invalidBatch('What changes entities must be in a changeset.')
  }
  try {
    const operation = await authorizedOperation(call, table, part)
    return encodePart(part, await operation.run({ ...call, request: part.request }))
  } catch (error) {
    return encodePart(part, await errorAnswer(call, part, error))
  }
}

async function runChangeset(
  call: TableCall,
  table: Operations,
  source: MultipartPart,
): Promise<MultipartSource> {
  const boundary = parseMultipartBoundary(optionalHeader(source.headers, 'content-type'))
  const parts = parseMultipart(source.body, boundary).map((part) => decodePart(call.request, part))
  const answers = await runParts(call, table, parts)
  const answerBoundary = `changesetresponse_${randomUUID()}`
  return {
    headers: ['Content-Type', `multipart/mixed; boundary=${answerBoundary}`],
    body: [encodeMultipart(answerBoundary, answers)],
  }
}

/** The answers of all parts, or only of the one that failed. */
async function runParts(
  call: TableCall,
  table: Operations,
  parts: readonly BatchPart[],
): Promise<readonly MultipartSource[]> {
  const [first] = parts
  if (first === undefined) throw invalidBatch('A changeset must not be empty.')
  try {
    const writes = await decodeWrites(call, table, parts)
    const address = tableAddress(first.request)
    const moment = call.service.moment()
    const entities = await call.service.kv.write((tx) => writeEntities(tx, address, writes, moment))
    return parts.flatMap((part, at) => {
      const write = writes[at]
      if (write === undefined) return []
      const answer = writeAnswer(part.request, write, entities[at])
      return [encodePart(part, answer, write.kind === 'insert' ? '3.0;' : '1.0;')]
    })
  } catch (error) {
    const failed = error instanceof TransactionError ? parts[error.failedAt] : undefined
    const part = failed ?? first
    return [encodePart(part, await errorAnswer(call, part, error))]
  }
}

async function decodeWrites(
  call: TableCall,
  table: Operations,
  parts: readonly BatchPart[],
): Promise<EntityWrite[]> {
  const writes: EntityWrite[] = []
  const name = parts[0]?.request.path[0]?.toLowerCase()
  const turn = new Turn()
  for (const [at, part] of parts.entries()) {
    if (turn.isOver()) await turn.next()
    try {
      const operation = await authorizedOperation(call, table, part)
      if (!operation.writes) throw invalidBatch('A query can not be in a changeset.')
      // An entity group is within one partition of one table.
      if (part.request.path[0]?.toLowerCase() !== name) {
        throw new StorageError('CommandsInBatchActOnDifferentPartitions')
      }
      const write = decodeWrite(part.request, part.body)
      checkWritable(call.identity, write)
      writes.push(write)
    } catch (error) {
      throw error instanceof StorageError ? new TransactionError(at, error) : error
    }
  }
  return writes
}

/** The batch authenticates the caller; each part is authorized by itself. */
async function authorizedOperation(
  { identity, service }: TableCall,
  table: Operations,
  { request }: BatchPart,
) {
  const operation = table.find(request)
  // A batch can contain neither tables nor other batches.
  if (operation.permission.resourceType !== 'o') throw invalidBatch('It is for entities.')
  const { table: name } = tableAddress(request)
  await authorize(identity, operation.permission, request, service.world())
  const sasTable = sasTableOf(identity)
  if (sasTable !== undefined && sasTable !== name.toLowerCase()) {
    throw new StorageError('AuthorizationFailure')
  }
  return operation
}

/** `part` addresses the table. */
async function errorAnswer(call: TableCall, part: BatchPart, error: unknown): Promise<Answer> {
  const { request, service } = call
  const inner = { ...call, request: part.request }
  const known = storageErrorOf(await heldError(inner, requestedTable, error))
  if (known === undefined) throw error
  const { status } = known
  const errorCode = wireCode(known.code)
  service.reportRefusal?.({ operation: BATCH, status, errorCode })
  call.watch?.refuse({ status, errorCode })
  const body = encodeErrorJson(known, request.requestId, service.world().wallNowMs)
  const headers = odataErrorHeaders(known, part.request.method)
  return { status, headers, body }
}

const PART_HEADERS = ['Content-Type', 'application/http', 'Content-Transfer-Encoding', 'binary']

/** Only parts of batches have DataServiceVersion; its position among the headers is the service's. */
function encodePart(
  { contentId }: BatchPart,
  { status, headers, body }: Answer,
  dataServiceVersion = '3.0;',
): MultipartSource {
  const at = headers.findIndex((name, index) => index % 2 === 0 && !BEFORE_VERSION.has(name))
  const before = headers.slice(0, at < 0 ? headers.length : at)
  const all = [
    ...(contentId === undefined ? [] : ['Content-ID', contentId]),
    ...before,
    'DataServiceVersion', dataServiceVersion,
    ...headers.slice(before.length),
  ] // prettier-ignore
  return {
    headers: PART_HEADERS,
    body: encodeHttpResponsePart(status, reasonOf(status), all, body),
  }
}

const BEFORE_VERSION: ReadonlySet<string> = new Set([
  'X-Content-Type-Options',
  'Cache-Control',
  'Preference-Applied',
])

function invalidBatch(reason: string): StorageError {
  return new StorageError('InvalidInput', {}, `The batch is not valid. ${reason}`)
}
