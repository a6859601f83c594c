// Query, get and write entities: decode once, call storage, encode.
import { isInKeyRange } from '../../auth/identity.ts'
import type { Answer } from '../../http/door/operation.ts'
import { StorageError } from '../../storage/shared/error.ts'
import { getEntity, writeEntity } from '../../storage/table/entity.ts'
import { queryEntities } from '../../storage/table/query.ts'
import { entityKeys, tableAddress } from './address.ts'
import { encodeEntities, encodeCachedEntity } from './payload-encode.ts'
import { decodeFormat, jsonHeaders } from './payload-format.ts'
import {
  checkQueryOptions,
  decodeContinuation,
  decodeFilter,
  decodeSelect,
  decodeTop,
  encodeContinuation,
} from './query-option.ts'
import { keyRangeOf, type TableCall } from './service.ts'
import { checkWritable, decodeWrite, TABLE_BYTES_MAX, writeAnswer } from './write.ts'

export async function runQueryEntities(call: TableCall): Promise<Answer> {
  const { request, identity, service } = call
  checkQueryOptions(request)
  const address = tableAddress(request)
  const level = decodeFormat(request)
  const select = decodeSelect(request)
  const partitionKey = decodeContinuation(request, 'NextPartitionKey')
  const rowKey = decodeContinuation(request, 'NextRowKey')
  const query = {
    ...decodeFilter(request, 'entity'),
    countMax: decodeTop(request),
    keyRange: keyRangeOf(identity),
    start: partitionKey === undefined ? undefined : { partitionKey, rowKey },
  }
  const { entities, next } = await service.kv.read((tx) => queryEntities(tx, address, query))
  const headers = [...jsonHeaders(level)]
  if (next !== undefined) {
    headers.push(
      'x-ms-continuation-NextPartitionKey', encodeContinuation(next.partitionKey),
      'x-ms-continuation-NextRowKey', encodeContinuation(next.rowKey),
    ) // prettier-ignore
  }
  const context = { endpoint: request.endpoint, ...address, level, select }
  return { status: 200, headers, body: encodeEntities(context, entities) }
}

export async function runGetEntity({ request, identity, service }: TableCall): Promise<Answer> {
  checkQueryOptions(request)
  const address = tableAddress(request)
  const keys = entityKeys(request)
  const level = decodeFormat(request)
  const select = decodeSelect(request)
  const entity = await service.kv.read((tx) => getEntity(tx, address, keys))
  const range = keyRangeOf(identity)
  // This is a query for one entity, and queries see only entities within the range of the SAS.
  if (range !== undefined && !isInKeyRange(range, keys.partitionKey, keys.rowKey)) {
    throw new StorageError('ResourceNotFound')
  }
  const context = { endpoint: request.endpoint, ...address, level, select }
  const { etag, text } = encodeCachedEntity(context, entity)
  return { status: 200, headers: [...jsonHeaders(level), 'ETag', etag], body: text }
}

/** Insert, update, merge, delete and the two upserts. */
export async function runWriteEntity({ request, identity, service }: TableCall): Promise<Answer> {
  const address = tableAddress(request)
  const write = decodeWrite(request, await request.body.read(TABLE_BYTES_MAX))
  checkWritable(identity, write)
  const moment = service.moment()
  const entity = await service.kv.write((tx) => writeEntity(tx, address, write, moment))
  return writeAnswer(request, write, entity)
}
