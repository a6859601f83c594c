// Set Blob Expiry: the time at which a blob disappears. Readers ignore it from then on (findBlob), and the
// sweep removes it.
import type { Step, Tx } from '../../kv/kv.ts'
import { encodeRecord } from '../../kv/record.ts'
import { invalidHeader, StorageError } from '../shared/error.ts'
import { withLease } from '../shared/lease.ts'
import { expiresAtMs, findForUpdate, type BlobAddress } from './blob.ts'
import type { Blob } from './record.ts'
import { checkMutable, type BlobGuard } from './guard.ts'
import { dueKey } from './keys.ts'
import { forgetExpiry, blobPlaceOf, type BlobPlace } from './past/past.ts'

export type Expiry =
  | { readonly option: 'NeverExpire' }
  | { readonly option: 'RelativeToCreation' | 'RelativeToNow'; readonly afterMs: number }
  | { readonly option: 'Absolute'; readonly atMs: number }

/** The end of the year 9999: a header can't show later times. */
const EXPIRY_MS_MAX = Date.UTC(10_000, 0) - 1

/** Like the service, it leaves ETag and Last-Modified as they are. */
export function* setBlobExpiry(
  tx: Tx,
  address: BlobAddress,
  guard: BlobGuard,
  expiry: Expiry,
  nowMs: number,
): Step<Blob> {
  const target = yield* findForUpdate(tx, address, guard, nowMs)
  const { blob: current, bytes } = target.stored
  checkMutable(current, nowMs)
  checkMayExpire(current.path?.isDirectory === true)
  const expiresMs = expiryMs(expiry, current.createdMs, nowMs)
  const { expiresMs: _before, ...changed } = withLease(current, target.lease)
  const blob: Blob = { ...changed, ...(expiresMs !== undefined && { expiresMs }) }
  const place = blobPlaceOf(address, target)
  forgetExpiry(tx, place, current)
  scheduleExpiry(tx, place, blob)
  tx.put(target.key, encodeRecord(blob, bytes))
  return blob
}

/** Only files expire: a directory would take along what is below it. */
export function checkMayExpire(isDirectory: boolean): void {
  if (isDirectory) throw new StorageError('ExpiryNotSupportedForDirectory')
}

export function expiryMs(expiry: Expiry, createdMs: number, nowMs: number): number | undefined {
  if (expiry.option === 'NeverExpire') return undefined
  const sinceMs = expiry.option === 'RelativeToNow' ? nowMs : createdMs
  const atMs = 'atMs' in expiry ? expiry.atMs : sinceMs + expiry.afterMs
  if (atMs > nowMs && atMs <= EXPIRY_MS_MAX) return atMs
  const value = 'atMs' in expiry ? new Date(expiry.atMs).toUTCString() : String(expiry.afterMs)
  throw invalidHeader('x-ms-expiry-time', value)
}

/**
 * Schedules the sweep's check whether the blob has expired. It looks at the blob then, so a superfluous check
 * is harmless.
 */
export function scheduleExpiry(tx: Tx, { containerId, blob: name }: BlobPlace, blob: Blob): void {
  const atMs = expiresAtMs(blob)
  if (atMs !== undefined) tx.put(dueKey(atMs, 'expiry', containerId, name), encodeRecord({}))
}
