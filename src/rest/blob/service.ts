// The dependencies of the Blob service's operations, and the addresses of containers and blobs in a request.
import { hasPermission } from '../../auth/authorize.ts'
import type { Identity } from '../../auth/identity.ts'
import type { Call, Level, Request } from '../../http/door/operation.ts'
import { ROOT_CONTAINER } from '../../http/door/resource-path.ts'
import type { BlobAddress } from '../../storage/blob/blob.ts'
import type { ContainerAddress } from '../../storage/blob/container/container.ts'
import type { CopyPlace } from '../../storage/blob/copy/pending-copy.ts'
import type { QueryThreads } from '../../query/run/query-threads.ts'
import { invalidQuery, StorageError } from '../../storage/shared/error.ts'
import { checkBlobName, checkContainerName } from '../../storage/shared/name.ts'
import type { CopyJobQueue } from '../shared/copy/copy-jobs.ts'
import type { ContentService, ReportRefusal } from '../shared/service.ts'
import { decodeSnapshotTime } from '../shared/snapshot-time.ts'

export type BlobService = ContentService & {
  readonly queryThreads: QueryThreads
  readonly copyJobs: CopyJobQueue<CopyPlace>
  /** For the parts of a batch. */
  readonly reportRefusal?: ReportRefusal
}

export type BlobCall = Call<BlobService>

export function blobLevel({ path: [container, blob] }: Request): Level {
  if (container === undefined) return 'service'
  return blob === undefined ? 'container' : 'object'
}

export function containerAddress(request: Request): ContainerAddress {
  const container = request.path[0] ?? ''
  checkContainerName(container)
  return { account: request.account, container }
}

/** The current blob. Refuses snapshots and versions, which can be read and deleted but not changed. */
export function blobAddress(request: Request): BlobAddress {
  for (const name of ['snapshot', 'versionid']) {
    const value = request.query.get(name)
    if (value) throw invalidQuery(name, value)
  }
  return blobPlace(request)
}

/** The current blob, or the snapshot or version that the query names. */
export function blobAddressAt(request: Request): BlobAddress {
  const address = blobPlace(request)
  const [snapshot, version] = [request.query.get('snapshot'), request.query.get('versionid')]
  if (snapshot && version) throw new StorageError('MutuallyExclusiveQueryParameters')
  if (snapshot)
    return {
      ...address,
      at: { snapshot: decodeSnapshotTime('snapshot', snapshot, 'BlobNotFound') },
    }
  return version
    ? { ...address, at: { version: decodeSnapshotTime('versionid', version, 'BlobNotFound') } }
    : address
}

function blobPlace(request: Request): BlobAddress {
  const [container = '', blob = ''] = request.path
  checkContainerName(container)
  // "Blobs in the root container can't include a forward slash in the name."
  if (container === ROOT_CONTAINER && blob.includes('/')) throw new StorageError('InvalidUri')
  checkBlobName(blob)
  const { account, access } = request
  return { account, container, blob, ...(access && { access }) }
}

/** Writing tags along with a blob also needs `t`, even if the header is empty (goofys#816). */
export function checkTagPermission(identity: Identity, { headers }: Request): void {
  if (headers['x-ms-tags'] === undefined || hasPermission(identity, 't')) return
  throw new StorageError('AuthorizationPermissionMismatch')
}

/** A SAS with `c` and without `w` may create blobs, but not replace them. */
export function isCreateOnly(identity: Identity): boolean {
  return !hasPermission(identity, 'w')
}
