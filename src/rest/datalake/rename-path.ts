// Rename: Create Path with the old path in a header, which may carry a SAS of its own.
import type { Permission } from '../../auth/permission.ts'
import type { AuthRequest } from '../../auth/request.ts'
import {
  decodeConditions,
  optionalGuid,
  optionalHeader,
  requiredHeader,
} from '../../http/protocol/header.ts'
import { parseQuery } from '../../http/protocol/query.ts'
import { withoutSignature } from '../../http/protocol/signature-field.ts'
import { resolvePath } from '../../http/door/resource-path.ts'
import type { Answer } from '../../http/door/operation.ts'
import { renameBlob } from '../../storage/datalake/rename-blob.ts'
import { renamePath, type RenamePath } from '../../storage/datalake/rename-path.ts'
import { invalidHeader, StorageError } from '../../storage/shared/error.ts'
import { validators } from '../shared/answer-header.ts'
import { authorizeOther } from '../shared/other-resource.ts'
import { isCreateOnly } from '../blob/service.ts'
import { decodeContentHeaders } from './path-header.ts'
import { isHierarchical, lakeGuard, pathAddress, wordQuery, type LakeCall } from './service.ts'

const SOURCE = 'x-ms-rename-source'
const SOURCE_LENGTH_MAX = 8 * 1024
/** Permission to move, or to delete, which a move includes. */
const REMOVE_SOURCE: Permission = { resourceType: 'o', accountSas: 'md', serviceSas: 'md' }

export async function runRenamePath(call: LakeCall): Promise<Answer> {
  const { service } = call
  const rename = await decodeRename(call)
  const [address, moment, newId] = [pathAddress(call), service.moment(), service.newId()]
  const blob = isHierarchical(call)
    ? await service.kv.write((tx) => renamePath(tx, address, rename, moment))
    : await service.kv.write((tx) => renameBlob(tx, address, rename, newId, moment))
  return { status: 201, headers: validators(blob) }
}

async function decodeRename(call: LakeCall): Promise<RenamePath> {
  const { request, identity } = call
  if ((request.body.lengthBytes ?? 0) > 0) throw new StorageError('ContentLengthMustBeZero')
  checkNoneOfNewPaths(request)
  const source = sourceRequest(call)
  await authorizeOther(call, source, REMOVE_SOURCE)
  const leaseId = optionalGuid(request.headers, 'x-ms-source-lease-id')
  const conditions = decodeConditions(request.headers, 'x-ms-source-')
  const address = pathAddress({ ...call, request: { ...request, path: source.path } })
  return {
    mode: wordQuery(request, 'mode', ['legacy', 'posix'] as const) ?? 'posix',
    source: { address, conditions, ...(leaseId !== undefined && { leaseId }) },
    guard: lakeGuard(request),
    createOnly: isCreateOnly(identity),
    headers: decodeContentHeaders(request),
  }
}

/** Headers of Create Path that don't apply: a rename keeps what the path has. */
const OF_NEW_PATHS = [
  'x-ms-properties',
  'x-ms-owner',
  'x-ms-group',
  'x-ms-permissions',
  'x-ms-umask',
  'x-ms-acl',
  'x-ms-expiry-option',
  'x-ms-encryption-context',
  'x-ms-proposed-lease-id',
]

function checkNoneOfNewPaths({ headers }: LakeCall['request']): void {
  const name = OF_NEW_PATHS.find((each) => optionalHeader(headers, each) !== undefined)
  if (name !== undefined) throw new StorageError('UnsupportedHeader', { HeaderName: name })
}

/**
 * `/{filesystem}/{path}[?{SAS}]`, percent-encoded. Without a SAS of its own, it has that of the request. Clients with the account
 * in the path put it in front here, too.
 */
function sourceRequest({ request }: LakeCall): AuthRequest {
  const text = requiredHeader(request.headers, SOURCE)
  const refusal = invalidHeader(SOURCE, withoutSignature(text).slice(0, SOURCE_LENGTH_MAX))
  if (text.length > SOURCE_LENGTH_MAX || !text.startsWith('/')) throw refusal
  const question = text.indexOf('?')
  const rawPath = question < 0 ? text : text.slice(0, question)
  const sent = parseQuery(question < 0 ? '' : text.slice(question + 1))
  const query = sent.has('sig') ? sent : request.query
  const own = `/${request.account}/`
  const hasAccount = rawPath.startsWith(own) && rawPath.slice(own.length).includes('/')
  const resource = rawPath.slice(hasAccount ? own.length : 1)
  const path = resolvePath('dfs', resource, { ...request, query })
  if (path.length < 2) throw refusal
  return { ...request, method: 'DELETE', rawPath, path, query }
}
