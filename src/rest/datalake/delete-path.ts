// Delete and Undelete of paths.
import type { Permission } from '../../auth/permission.ts'
import { formatHttpDate } from '../../http/protocol/date.ts'
import { requiredHeader } from '../../http/protocol/header.ts'
import { decodePercent } from '../../http/protocol/query.ts'
import type { Answer } from '../../http/door/operation.ts'
import { deletePath } from '../../storage/datalake/delete-path.ts'
import { namesOfPath } from '../../storage/blob/path/path-name.ts'
import { undeletePath } from '../../storage/datalake/undelete-path.ts'
import { invalidHeader } from '../../storage/shared/error.ts'
import { authorizeOther } from '../shared/other-resource.ts'
import { decodePathContinuation, encodePathContinuation } from './continuation.ts'
import { continuationHeaders } from './filesystem.ts'
import { isDirectory } from './path-answer.ts'
import {
  lakeGuard,
  optionalBooleanQuery,
  pathAddress,
  requireHierarchical,
  type LakeCall,
} from './service.ts'

/** With `paginated` or without it: only users' deletions of long trees take several requests. */
export async function runDeletePath(call: LakeCall): Promise<Answer> {
  const { request, service } = call
  optionalBooleanQuery(request, 'paginated')
  const continuation = decodePathContinuation(request)
  const deletion = {
    guard: lakeGuard(request),
    isRecursive: optionalBooleanQuery(request, 'recursive') ?? false,
    ...(continuation !== undefined && { continuation }),
  }
  const [address, moment] = [pathAddress(call), service.moment()]
  const deleted = await service.kv.write((tx) => deletePath(tx, address, deletion, moment))
  if (deleted.continuation !== undefined) {
    const headers = continuationHeaders(encodePathContinuation(deleted.continuation))
    return { status: 200, headers }
  }
  const { deletionId, isPermanent } = deleted
  const headers = [
    ...(deletionId === undefined ? [] : ['x-ms-deletion-id', String(deletionId)]),
    'x-ms-delete-type-permanent',
    String(isPermanent),
  ]
  return { status: 200, headers }
}

const SOURCE = 'x-ms-undelete-source'
const RESTORE_SOURCE: Permission = { resourceType: 'o', accountSas: 'w', serviceSas: 'w' }

export async function runUndeletePath(call: LakeCall): Promise<Answer> {
  const { request, service } = call
  requireHierarchical(call)
  const [address, moment] = [pathAddress(call), service.moment()]
  const undelete = { source: decodeSource(requiredHeader(request.headers, SOURCE), address.path) }
  // What was deleted gets another name, so a SAS has to cover the old one, too.
  const deleted = [address.container, namesOfPath(undelete.source.path).join('/')]
  await authorizeOther(call, { ...request, path: deleted }, RESTORE_SOURCE)
  const blob = await service.kv.write((tx) => undeletePath(tx, address, undelete, moment))
  const headers = [
    'x-ms-creation-time', formatHttpDate(blob.createdMs),
    'x-ms-resource-type', isDirectory(blob) ? 'directory' : 'file',
  ] // prettier-ignore
  return { status: 200, headers }
}

/** `{path}?deletionid={id}`, percent-encoded. Without a path, it is that of the request. */
function decodeSource(text: string, own: string) {
  const [, path = '', id] = /^\/?([^?]*)\?deletionid=(\d{1,18})$/i.exec(text) ?? []
  if (id === undefined) throw invalidHeader(SOURCE, text)
  return { path: path === '' ? own : decodePercent(path), deletionId: Number(id) }
}
