// List Paths.
import { setImmediate } from 'node:timers/promises'
import { formatHttpDate } from '../../http/protocol/date.ts'
import { createTextWriter } from '../../http/protocol/text-writer.ts'
import type { Answer, Request } from '../../http/door/operation.ts'
import { derived } from '../../kv/derived.ts'
import { inTurns } from '../../kv/turn.ts'
import { accessOf } from '../../storage/blob/path/access.ts'
import type { Blob } from '../../storage/blob/record.ts'
import { listFlatPaths, type FlatItem } from '../../storage/datalake/list-flat.ts'
import { listPaths, type ListPaths } from '../../storage/datalake/list-paths.ts'
import { formatPermissions } from '../../storage/blob/access/permissions.ts'
import { decodePathContinuation, encodePathContinuation } from './continuation.ts'
import { bareETag, continuationHeaders } from './filesystem.ts'
import { isDirectory } from './path-answer.ts'
import {
  countQuery,
  isHierarchical,
  JSON_TYPE,
  optionalBooleanQuery,
  pathAddress,
  requiredQuery,
  type LakeCall,
} from './service.ts'

const LIST_COUNT_MAX = 5_000
const LONG_PAGE_COUNT = 1_000

export async function runListPaths(call: LakeCall): Promise<Answer> {
  const { request, service } = call
  const list = decodeListPaths(request)
  const [address, { nowMs }] = [pathAddress(call), service.moment()]
  const page = isHierarchical(call)
    ? await service.kv.read((tx) => listPaths(tx, address, list, nowMs))
    : await service.kv.read((tx) => listFlatPaths(tx, address, list, nowMs))
  // Encoding a long page takes about as long as reading it; let other requests run first.
  if (page.items.length > LONG_PAGE_COUNT) await setImmediate()
  const continuation = continuationHeaders(encodePathContinuation(page.next))
  const headers = [...continuation, ...JSON_TYPE]
  return { status: 200, headers, body: await pathsJson(page.items) }
}

const ITEM_BYTES_LIKELY = 320

async function pathsJson(items: readonly FlatItem[]): Promise<Uint8Array> {
  const json = createTextWriter(items.length * ITEM_BYTES_LIKELY + 64)
  json.add('{"paths":[')
  let isFirst = true
  await inTurns(items, (item) => {
    const next = nextItemJson(item)
    json.add(isFirst ? next.slice(1) : next)
    isFirst = false
  })
  json.add(']}\n')
  return json.bytes()
}

/** With the comma before it. A path has another name once a directory above it is renamed. */
function nextItemJson(item: FlatItem): string {
  const { path, blob } = item
  const make = () => `,${JSON.stringify(listedPath(item))}`
  if (blob === undefined) return make()
  const known = derived(blob, 'list path', () => ({ path, json: make() }))
  return known.path === path ? known.json : make()
}

function decodeListPaths(request: Request): ListPaths {
  requiredQuery(request, 'recursive')
  optionalBooleanQuery(request, 'upn')
  const [after, from] = [decodePathContinuation(request), request.query.get('beginfrom')]
  return {
    isRecursive: optionalBooleanQuery(request, 'recursive') ?? false,
    countMax: countQuery(request, 'maxResults', LIST_COUNT_MAX),
    start: after === undefined ? (from ? { from } : undefined) : { after },
  }
}

/** All values are texts, in the order of their names. There is no `isDirectory` for files, and flat accounts have no owners. */
function listedPath({ path, blob }: FlatItem) {
  if (blob === undefined) return { contentLength: '0', isDirectory: 'true', name: path }
  const access = blob.path === undefined ? undefined : accessOf(blob)
  return {
    ...encryptionFields(blob),
    contentLength: String(blob.lengthBytes),
    creationTime: access === undefined ? formatHttpDate(blob.createdMs) : fileTime(blob.createdMs),
    etag: bareETag(blob.stamp),
    ...(access && { expiryTime: blob.expiresMs === undefined ? '0' : fileTime(blob.expiresMs) }),
    ...(access && { group: access.group }),
    ...(isDirectory(blob) && { isDirectory: 'true' }),
    lastModified: formatHttpDate(blob.modifiedMs),
    name: path,
    ...(access && { owner: access.owner, permissions: formatPermissions(access) }),
  }
}

function encryptionFields({ encryption, encryptionContext }: Blob) {
  return {
    ...(encryption !== undefined &&
      'keySha256' in encryption && { CustomerProvidedKeySha256: encryption.keySha256 }),
    ...(encryptionContext !== undefined && { EncryptionContext: encryptionContext }),
    ...(encryption !== undefined && 'scope' in encryption && { EncryptionScope: encryption.scope }),
  }
}

/** In units of 100 ns since 1601. */
function fileTime(timeMs: number): string {
  return String((BigInt(Math.trunc(timeMs)) + 11_644_473_600_000n) * 10_000n)
}
