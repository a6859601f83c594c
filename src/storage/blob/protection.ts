// Account settings that keep former states of blobs: versioning, and the retention of deleted blobs and
// containers. Each write reads them in its transaction, so a change takes effect with the next write.
import type { ReadTx, Step } from '../../kv/kv.ts'
import { getServiceProperties } from '../shared/service/service.ts'
import type { Blob } from './record.ts'

export type Protection = {
  readonly isVersioningEnabled: boolean
  /** Undefined: deleted blobs can't be restored. */
  readonly blobRetentionDays: number | undefined
  readonly allowPermanentDelete: boolean
  readonly containerRetentionDays: number | undefined
  readonly isAccessTimeTracked: boolean
}

export function* getProtection(tx: ReadTx, account: string): Step<Protection> {
  const properties = yield* getServiceProperties(tx, { account, service: 'blob' })
  const { deleteRetentionPolicy: blobs, containerDeleteRetentionPolicy: containers } = properties
  return {
    isVersioningEnabled: properties.isVersioningEnabled,
    blobRetentionDays: blobs.enabled ? blobs.days : undefined,
    allowPermanentDelete: blobs.enabled && blobs.allowPermanentDelete === true,
    containerRetentionDays: containers.enabled ? containers.days : undefined,
    isAccessTimeTracked: properties.lastAccessTimeTrackingPolicy.enabled,
  }
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
