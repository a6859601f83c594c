// Decodes and answers the six writes of an entity, alone or as parts of a batch.
import type { Identity } from '../../auth/identity.ts'
import { isInKeyRange } from '../../auth/identity.ts'
import { optionalHeader } from '../../http/protocol/header.ts'
import type { Answer, Request } from '../../http/door/operation.ts'
import { StorageError } from '../../storage/shared/error.ts'
import { entityETag, type Entity, type EntityWrite } from '../../storage/table/entity.ts'
import { entityKeys, entityPath, tableAddress } from './address.ts'
import { decodeEntity } from './payload-decode.ts'
import { encodeEntity } from './payload-encode.ts'
import {
  checkJsonBody,
  decodeFormat,
  decodePrefer,
  jsonHeaders,
  TABLE_HEADERS,
} from './payload-format.ts'
import { keyRangeOf } from './service.ts'

/** The longest body of an entity or a batch. */
export const TABLE_BYTES_MAX = 4 * 1024 * 1024

const TUNNELLED: ReadonlySet<string> = new Set(['MERGE', 'PATCH', 'PUT', 'DELETE'])

/** POST with X-HTTP-Method is for clients and proxies that support no other methods. */
export function effectiveMethod({ method, headers }: Request): string {
  const tunnelled = optionalHeader(headers, 'x-http-method')?.toUpperCase()
  if (tunnelled === undefined) return method
  if (method !== 'POST') throw new StorageError('XMethodNotUsingPost')
  if (tunnelled.includes(',')) throw new StorageError('XMethodIncorrectCount')
  if (!TUNNELLED.has(tunnelled)) throw new StorageError('XMethodIncorrectValue')
  return tunnelled
}

/** An update without If-Match is an upsert. */
export function hasIfMatch({ headers }: Request): boolean {
  return optionalHeader(headers, 'if-match') !== undefined
}

type WriteKind = EntityWrite['kind']

//                                 with If-Match  without
// prettier-ignore
const KINDS: Readonly<Record<string, readonly [WriteKind, WriteKind]>> = {
  POST:   ['insert',  'insert'],
  PUT:    ['replace', 'upsertReplace'],
  MERGE:  ['merge',   'upsertMerge'],
  PATCH:  ['merge',   'upsertMerge'],
  DELETE: ['delete',  'delete'],
}

function writeKind(request: Request): WriteKind {
  const method = effectiveMethod(request)
  const kinds = Object.hasOwn(KINDS, method) ? KINDS[method] : undefined
  if (kinds === undefined) throw new StorageError('MethodNotAllowed')
  return kinds[hasIfMatch(request) ? 0 : 1]
}

export function decodeWrite(request: Request, body: Uint8Array): EntityWrite {
  const kind = writeKind(request)
  if (kind === 'insert') return decodeInsert(request, body)
  if (optionalHeader(request.headers, 'if-none-match') !== undefined) {
    throw new StorageError('InvalidInput')
  }
  const keys = entityKeys(request)
  if (kind === 'delete') return { ...keys, kind, ifMatch: requiredIfMatch(request) }
  checkJsonBody(request)
  const { partitionKey, rowKey, properties } = decodeEntity(body)
  const isOther =
    (partitionKey ?? keys.partitionKey) !== keys.partitionKey ||
    (rowKey ?? keys.rowKey) !== keys.rowKey
  if (isOther) throw new StorageError('InvalidInput')
  if (kind === 'upsertReplace' || kind === 'upsertMerge') return { ...keys, kind, properties }
  return { ...keys, kind, properties, ifMatch: requiredIfMatch(request) }
}

function decodeInsert(request: Request, body: Uint8Array): EntityWrite {
  checkJsonBody(request)
  const { partitionKey, rowKey, properties } = decodeEntity(body)
  if (partitionKey === undefined || rowKey === undefined) {
    throw new StorageError('PropertiesNeedValue')
  }
  // Refuses an unsupported format of the answer before anything is written.
  if (decodePrefer(request) !== 'return-no-content') decodeFormat(request)
  return { kind: 'insert', partitionKey, rowKey, properties }
}

/** `*` or one ETag, which is weak for entities. */
function requiredIfMatch({ headers }: Request): string {
  const text = optionalHeader(headers, 'if-match')?.trim()
  if (text === undefined || (text !== '*' && !/^W\/"[^"]*"$/.test(text))) {
    throw new StorageError('InvalidInput')
  }
  return text
}

/** A SAS for a range of keys can't write outside of it. */
export function checkWritable(identity: Identity, { partitionKey, rowKey }: EntityWrite): void {
  const range = keyRangeOf(identity)
  if (range !== undefined && !isInKeyRange(range, partitionKey, rowKey)) {
    throw new StorageError('AuthorizationFailure')
  }
}

export function writeAnswer(request: Request, write: EntityWrite, entity?: Entity): Answer {
  if (entity === undefined) return { status: 204, headers: TABLE_HEADERS }
  const etag = ['ETag', entityETag(entity.stamp)]
  if (write.kind !== 'insert') return { status: 204, headers: [...TABLE_HEADERS, ...etag] }
  return insertAnswer(request, entity, etag)
}

function insertAnswer(request: Request, entity: Entity, etag: readonly string[]): Answer {
  const { account, endpoint } = request
  const { table } = tableAddress(request)
  const location = `${endpoint}/${entityPath(table, entity)}`
  const preference = decodePrefer(request)
  const applied = preference === undefined ? [] : ['Preference-Applied', preference]
  if (preference === 'return-no-content') {
    const place = ['Location', location, 'DataServiceId', location]
    return { status: 204, headers: [...TABLE_HEADERS, ...applied, ...place, ...etag] }
  }
  const level = decodeFormat(request)
  const context = { account, endpoint, table, level, select: undefined }
  const headers = [...jsonHeaders(level), ...applied, 'Location', location, ...etag]
  return { status: 201, headers, body: encodeEntity(context, entity) }
}
