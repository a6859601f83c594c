// Get and Set Access Control, Check Access, and recursive changes.
import { hasPermission } from '../../auth/authorize.ts'
import { requiredHeader } from '../../http/protocol/header.ts'
import type { Answer, Request } from '../../http/door/operation.ts'
import {
  checkAccess,
  getAccessControl,
  setAccessControl,
  setAccessControlRecursive,
  type FailedChange,
} from '../../storage/datalake/access-control.ts'
import type { RecursiveChange } from '../../storage/blob/access/acl-change.ts'
import {
  parseAcl,
  parseAclEntries,
  parseAclEntryNames,
  parseRwx,
} from '../../storage/blob/access/acl-text.ts'
import { ERRORS, invalidQuery, missingHeader, StorageError } from '../../storage/shared/error.ts'
import { validators } from '../shared/answer-header.ts'
import { decodePathContinuation, encodePathContinuation } from './continuation.ts'
import { continuationHeaders } from './filesystem.ts'
import { aclHeaders, ownerHeaders } from './path-answer.ts'
import { decodeAccess } from './path-header.ts'
import {
  countQuery,
  jsonText,
  lakeGuard,
  optionalBooleanQuery,
  pathAddress,
  requiredQuery,
  requireHierarchical,
  wordQuery,
  type LakeCall,
} from './service.ts'

export async function runGetAccessControl(call: LakeCall): Promise<Answer> {
  const { request, service } = call
  requireHierarchical(call)
  optionalBooleanQuery(request, 'upn')
  requireSingleSlashes(request)
  const [address, guard] = [pathAddress(call), lakeGuard(request, 'read')]
  const { nowMs } = service.moment()
  const { blob } = await service.kv.read((tx) => getAccessControl(tx, address, guard, nowMs))
  const headers = [...validators(blob), ...ownerHeaders(blob), ...aclHeaders(blob)]
  return { status: 200, headers }
}

/** Other operations take several slashes for one. */
function requireSingleSlashes({ path: [, name = ''] }: Request): void {
  if (name.includes('//')) throw new StorageError('InvalidUri')
}

export async function runCheckAccess(call: LakeCall): Promise<Answer> {
  const { request, service } = call
  requireHierarchical(call)
  const text = requiredQuery(request, 'fsAction')
  const permissions = parseRwx(text)
  if (permissions === undefined) throw invalidQuery('fsAction', text)
  const [address, guard] = [pathAddress(call), lakeGuard(request, 'read')]
  const { nowMs } = service.moment()
  const { blob } = await service.kv.read((tx) =>
    checkAccess(tx, address, guard, permissions, nowMs),
  )
  return { status: 200, headers: validators(blob) }
}

export async function runSetAccessControl(call: LakeCall): Promise<Answer> {
  const { request, service, identity } = call
  requireHierarchical(call)
  const change = decodeAccess(request)
  const isOwner = change.owner !== undefined || change.group !== undefined
  const isMode = change.mode !== undefined || change.acl !== undefined
  if (!isOwner && !isMode) throw missingHeader('x-ms-acl')
  const isCovered =
    (!isOwner || hasPermission(identity, 'o')) && (!isMode || hasPermission(identity, 'p'))
  if (!isCovered) throw new StorageError('AuthorizationPermissionMismatch')
  const [address, guard] = [pathAddress(call), lakeGuard(request)]
  const { nowMs } = service.moment()
  const blob = await service.kv.write((tx) => setAccessControl(tx, address, guard, change, nowMs))
  return { status: 200, headers: [...validators(blob), ...HIERARCHICAL] }
}

const HIERARCHICAL = ['x-ms-namespace-enabled', 'true'] as const

const RECORD_COUNT_MAX = 2_000

export async function runSetAccessControlRecursive(call: LakeCall): Promise<Answer> {
  const { request, service } = call
  requireHierarchical(call)
  const continuation = decodePathContinuation(request)
  const tree = {
    change: decodeRecursiveChange(request),
    countMax: countQuery(request, 'maxRecords', RECORD_COUNT_MAX),
    isForced: optionalBooleanQuery(request, 'forceFlag') ?? false,
    ...(continuation !== undefined && { continuation }),
  }
  const [address, { nowMs }] = [pathAddress(call), service.moment()]
  const changed = await service.kv.write((tx) =>
    setAccessControlRecursive(tx, address, tree, nowMs),
  )
  const body = {
    directoriesSuccessful: changed.directoryCount,
    failedEntries: changed.failures.map(failedEntry),
    failureCount: changed.failures.length,
    filesSuccessful: changed.fileCount,
  }
  const next = continuationHeaders(encodePathContinuation(changed.continuation))
  // The service sends no Content-Type.
  return { status: 200, headers: [...next, ...HIERARCHICAL], body: jsonText(body) }
}

function decodeRecursiveChange(request: Request): RecursiveChange {
  requiredQuery(request, 'mode')
  const mode = wordQuery(request, 'mode', ['set', 'modify', 'remove'] as const)
  const text = requiredHeader(request.headers, 'x-ms-acl')
  if (mode === 'modify') return { mode, entries: parseAclEntries(text) }
  if (mode === 'remove') return { mode, names: parseAclEntryNames(text) }
  return { mode: 'set', acl: parseAcl(text) }
}

function failedEntry({ path, isDirectory, code }: FailedChange) {
  const type = isDirectory ? 'DIRECTORY' : 'FILE'
  return { errorMessage: ERRORS[code][1], name: path, type }
}
