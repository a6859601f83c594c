// What keeps a blob's former states: versioning, and the days for which deleted things can be had back. It
// is read in the transaction that writes, so a change of the properties holds from the next write on.
import type { ReadTx, Step } from '../../kv/kv.ts'
import { getServiceProperties } from '../shared/service.ts'
import type { Blob } from './record.ts'

export type Protection = {
  readonly isVersioningEnabled: boolean
  /** undefined: a deleted blob is gone. */
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
 * The state that a write replaces stays as a version while versioning is on; and once more when it has been
 * turned off, since a version persists.
 */
export function isKeptAsVersion(current: Blob, protection: Protection): boolean {
  return protection.isVersioningEnabled || current.version !== undefined
}

/** When a blob was last accessed is shown only as long as it is tracked. */
export function shownAccess(blob: Blob, { isAccessTimeTracked }: Protection): Blob {
  if (blob.accessedMs === undefined || isAccessTimeTracked) return blob
  const { accessedMs: _accessedMs, ...shown } = blob
  return shown
}
