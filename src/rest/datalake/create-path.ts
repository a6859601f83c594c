// Create Path: files and directories. With x-ms-rename-source it is a rename (rename-path.ts).
import type { Answer } from '../../http/door/operation.ts'
import { createPath, type CreatePath } from '../../storage/datalake/create-path.ts'
import { invalidQuery, StorageError } from '../../storage/shared/error.ts'
import { NO_METADATA } from '../../storage/shared/metadata.ts'
import { decodeExpiry, EXPIRY_OPTION } from '../blob/immutability.ts'
import { isCreateOnly } from '../blob/service.ts'
import { writtenPathHeaders } from './path-answer.ts'
import {
  decodeContentHeaders,
  decodeEncryptionContext,
  decodeNewAccess,
  decodeNewLease,
  hasAccessHeaders,
} from './path-header.ts'
import { decodeProperties } from './property.ts'
import {
  isHierarchical,
  lakeGuard,
  pathAddress,
  requiredQuery,
  wordQuery,
  type LakeCall,
} from './service.ts'

export async function runCreatePath(call: LakeCall): Promise<Answer> {
  const { request, service } = call
  if ((request.body.lengthBytes ?? 0) > 0) throw new StorageError('ContentLengthMustBeZero')
  const create = decodeCreate(call)
  const [address, moment] = [pathAddress(call), service.moment()]
  const blob = await service.kv.write((tx) => createPath(tx, address, create, moment))
  return { status: 201, headers: writtenPathHeaders(blob) }
}

function decodeCreate(call: LakeCall): CreatePath {
  const { request, identity, service } = call
  const kind = wordQuery(request, 'resource', ['file', 'directory'] as const)
  if (kind === undefined) throw invalidQuery('resource', requiredQuery(request, 'resource'))
  const lease = decodeNewLease(request)
  const hasExpiry = request.headers[EXPIRY_OPTION] !== undefined
  const encryptionContext = decodeEncryptionContext(request)
  if (hasAccessHeaders(request) && !isHierarchical(call)) {
    throw new StorageError('HierarchicalNamespaceNotEnabled')
  }
  return {
    kind,
    isAppendBlob: wordQuery(request, 'blobtype', ['appendblob', 'blockblob']) === 'appendblob',
    guard: lakeGuard(request),
    createOnly: isCreateOnly(identity),
    headers: decodeContentHeaders(request),
    metadata: decodeProperties(request) ?? NO_METADATA,
    ...(hasAccessHeaders(request) && { access: decodeNewAccess(request) }),
    ...(hasExpiry && { expiry: decodeExpiry(request) }),
    ...(lease && { lease }),
    ...(encryptionContext !== undefined && { encryptionContext }),
    newId: service.newId(),
  }
}
