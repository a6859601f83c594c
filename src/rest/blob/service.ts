// What the Blob service's operations work with, and how a request names a container or a blob.
import { hasPermission } from '../../auth/authorize.ts'
import type { Identity } from '../../auth/identity.ts'
import type { AuthWorld } from '../../auth/world.ts'
import type { ExtentStore } from '../../extent/extent.ts'
import type { CopyPattern } from '../../http/copy-source.ts'
import type { Call, Level, Request } from '../../http/operation.ts'
import type { BlobAddress } from '../../storage/blob/blob.ts'
import type { ContainerAddress } from '../../storage/blob/container.ts'
import type { CopyPlace } from '../../storage/blob/pending-copy.ts'
import type { FileKv } from '../../storage/file/open.ts'
import { invalidQuery, StorageError } from '../../storage/error.ts'
import { parseTimestamp } from '../../storage/etag.ts'
import { canonicalBlobName, checkBlobName, checkContainerName } from '../../storage/name.ts'
import type { AccountService } from '../service.ts'

export type BlobService = AccountService & {
  readonly extents: ExtentStore
  readonly recycle: ExtentStore['recycle']
  newId(): number
  /** For requests within a request: the parts of a batch, the source of a copy. */
  world(): AuthWorld
  readonly copySources: CopySources
  readonly copyJobs: CopyJobQueue
}

/** What copies from a URL need of the server around them. */
export type CopySources = {
  /** `--allowCopyFrom` */
  readonly patterns: readonly CopyPattern[]
  /** `--disableProductStyleUrl` */
  readonly pathStyleOnly: boolean
  /** Ends reading from elsewhere, when the server closes. */
  readonly signal: AbortSignal
  /** Where the services listen. */
  listens(): readonly ListenAddress[]
  /** What a request for a source is authenticated in. */
  world(service: SourceServiceName): AuthWorld
  readonly files: SourceFiles
}

/** The services that have something to copy. */
export type SourceServiceName = 'blob' | 'file'

/** How files are read: with what SMB clients hold open, and after waiting for what they cache. */
export type SourceFiles = {
  readonly kv: FileKv
  after(delayMs: number, then: () => void): () => void
}

export type ListenAddress = {
  readonly service: string
  readonly host: string
  readonly port: number
}

/** Copies from elsewhere, which go on when their request has been answered. */
export type CopyJobQueue = {
  /** Asked before a copy is promised. */
  checkFree(): void
  begin(place: CopyPlace): void
  /** The copy was aborted: its job has nothing to do any more. */
  cancel(place: CopyPlace): void
}

export type BlobCall = Call<BlobService>

/** The container that a path of one segment without `restype` leaves out. */
const ROOT = '$root'

export function levelOf(request: Request): Level {
  const [container, blob] = request.path
  if (container === undefined) return 'service'
  if (blob !== undefined) return 'object'
  return request.query.has('restype') ? 'container' : 'object'
}

export function containerAddress(request: Request): ContainerAddress {
  const container = request.path[0] ?? ''
  checkContainerName(container)
  return { account: request.account, container }
}

/** The current blob. Snapshots and versions can be read and deleted; to change one is an error. */
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
  if (snapshot) return { ...address, at: { snapshot: stampOf('snapshot', snapshot) } }
  return version ? { ...address, at: { version: stampOf('versionid', version) } } : address
}

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,7})?Z$/

/** What is a time but none of ours names nothing that is there. */
function stampOf(name: string, text: string): number {
  const stamp = parseTimestamp(text)
  if (stamp !== undefined) return stamp
  throw TIMESTAMP.test(text) ? new StorageError('BlobNotFound') : invalidQuery(name, text)
}

function blobPlace(request: Request): BlobAddress {
  const [first = '', second] = request.path
  // In $root a name has no slash, so neither has the path that leaves `$root` out.
  if (second === undefined && request.rawPath.endsWith('/')) throw new StorageError('InvalidUri')
  const [container, given] = second === undefined ? [ROOT, first] : [first, second]
  checkContainerName(container)
  const blob = canonicalBlobName(given)
  checkBlobName(blob)
  return { account: request.account, container, blob }
}

/** To write tags with a blob takes `t` besides; an empty header counts too (goofys#816). */
export function checkTagPermission(identity: Identity, { headers }: Request): void {
  if (headers['x-ms-tags'] === undefined || hasPermission(identity, 't')) return
  throw new StorageError('AuthorizationPermissionMismatch')
}

/** A SAS with `c` and without `w` may create blobs, but not replace them. */
export function isCreateOnly(identity: Identity): boolean {
  return !hasPermission(identity, 'w')
}
