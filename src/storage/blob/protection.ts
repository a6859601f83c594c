// Account settings that keep former states of blobs: versioning, and the retention of deleted blobs and
// containers. Each write reads them in its transaction, so a change takes effect with the next write.
import type { ReadTx, Step } from '../../kv/kv.ts'
import { getServiceProperties } from '../shared/service/service.ts'
import type { Blob } from './record.ts'

const FLAT = {}

export type Protection = {
  readonly isVersioningEnabled: boolean
  /** Undefined: deleted blobs can't be restored. */
  readonly blobRetentionDays: number | undefined
  readonly allowPermanentDelete: boolean
  readonly containerRetentionDays: number | undefined
  readonly isAccessTimeTracked: boolean
}

/** In a hierarchical container, there are no versions, and deleted paths can be restored but not overwritten ones. */
export function* getProtection(
  tx: ReadTx,
  account: string,
  { spaceId }: { readonly spaceId?: number } = FLAT,
): Step<Protection> {
  const properties = yield* getServiceProperties(tx, { account, service: 'blob' })
  const { deleteRetentionPolicy: blobs, containerDeleteRetentionPolicy: containers } = properties
  return {
    isVersioningEnabled: properties.isVersioningEnabled && spaceId === undefined,
    blobRetentionDays: blobs.enabled ? blobs.days : undefined,
    allowPermanentDelete: blobs.enabled && blobs.allowPermanentDelete === true,
    containerRetentionDays: containers.enabled ? containers.days : undefined,
    isAccessTimeTracked: properties.lastAccessTimeTrackingPolicy.enabled,
  }
}

/** A hierarchical container has no versions. */
export function withoutVersions(protection: Protection): Protection {
  return { ...protection, isVersioningEnabled: false }
}

/** What protects a blob that is overwritten. */
export function overwriteProtection(
  protection: Protection,
  { spaceId }: { readonly spaceId?: number },
): Protection {
  return spaceId === undefined ? protection : { ...protection, blobRetentionDays: undefined }
}

/**
 * With versioning on, a write keeps the replaced state as a version. After versioning is turned off, it still
 * does so once, if that state has a version id.
 */
export function isKeptAsVersion(current: Blob, protection: Protection): boolean {
  return protection.isVersioningEnabled || current.version !== undefined
}

/** The last access time is visible only while it is tracked. */
export function visibleAccess(blob: Blob, { isAccessTimeTracked }: Protection): Blob {
  if (blob.accessedMs === undefined || isAccessTimeTracked) return blob
  const { accessedMs: _accessedMs, ...visible } = blob
  return visible
}
