// Snapshot Blob, Delete Blob and Undelete Blob: decode once, call storage, encode.
import { decodeMetadata, optionalDateMs, optionalWord } from '../../http/protocol/header.ts'
import type { Answer, Request } from '../../http/door/operation.ts'
import type { BlobAt } from '../../storage/blob/blob.ts'
import { deleteBlob, type TierConditions } from '../../storage/blob/past/delete.ts'
import { snapshotBlob } from '../../storage/blob/past/snapshot.ts'
import { undeleteBlob } from '../../storage/blob/past/undelete.ts'
import { invalidQuery, StorageError } from '../../storage/shared/error.ts'
import { timestampOf } from '../../storage/shared/etag.ts'
import { validators } from '../shared/answer-header.ts'
import { snapshotEncryptionHeaders, versionHeaders } from './answer.ts'
import { blobGuard } from './header.ts'
import { blobAddress, blobAddressAt, type BlobCall } from './service.ts'

export async function runSnapshotBlob({ request, service }: BlobCall): Promise<Answer> {
  const given = decodeMetadata(request.rawHeaders)
  const metadata = given.length === 0 ? undefined : given
  const [address, guard, moment] = [blobAddress(request), blobGuard(request), service.moment()]
  const newIds = [service.newId(), service.newId()] as const
  const taken = await service.kv.write((tx) =>
    snapshotBlob(tx, address, guard, { metadata, newIds }, moment),
  )
  const { blob, version } = taken
  const headers = ['x-ms-snapshot', timestampOf(taken.snapshot), ...validators(blob)]
  if (version !== undefined) headers.push(...versionHeaders({ ...blob, version }))
  const { encryption } = blob
  const encrypted = snapshotEncryptionHeaders({
    ...(encryption && { encryption }),
    ...(metadata && { metadata }),
  })
  return { status: 201, headers: [...headers, ...encrypted] }
}

export async function runDeleteBlob({ request, service }: BlobCall): Promise<Answer> {
  const [address, guard, moment] = [blobAddressAt(request), blobGuard(request), service.moment()]
  const snapshots = optionalWord(request.headers, 'x-ms-delete-snapshots', ['include', 'only'])
  if (snapshots !== undefined && address.at !== undefined) throw onlyOnRoot(request, address.at)
  const type = request.query.get('deletetype')
  if (type !== undefined && type.toLowerCase() !== 'permanent') {
    throw invalidQuery('deletetype', type)
  }
  const tier = decodeTierConditions(request)
  const deletion = { guard, tier, isPermanent: type !== undefined, ...(snapshots && { snapshots }) }
  const { isPermanent } = await service.kv.write((tx) => deleteBlob(tx, address, deletion, moment))
  return { status: 202, headers: ['x-ms-delete-type-permanent', String(isPermanent)] }
}

function onlyOnRoot({ query }: Request, at: BlobAt): StorageError {
  if (!('version' in at)) return new StorageError('InvalidQueryParameterValue')
  const reason =
    'This operation is only allowed on the root blob. Version id should not be provided.'
  return invalidQuery('versionid', query.get('versionid') ?? '', reason)
}

function decodeTierConditions({ headers }: Request): TierConditions {
  const ifModifiedSinceMs = optionalDateMs(headers, 'x-ms-access-tier-if-modified-since')
  const ifUnmodifiedSinceMs = optionalDateMs(headers, 'x-ms-access-tier-if-unmodified-since')
  return {
    ...(ifModifiedSinceMs === undefined ? undefined : { ifModifiedSinceMs }),
    ...(ifUnmodifiedSinceMs === undefined ? undefined : { ifUnmodifiedSinceMs }),
  }
}

export async function runUndeleteBlob({ request, service }: BlobCall): Promise<Answer> {
  const [address, moment] = [blobAddress(request), service.moment()]
  await service.kv.write((tx) => undeleteBlob(tx, address, moment))
  return { status: 200, headers: [] }
}
