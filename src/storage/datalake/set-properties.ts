// Set Properties: the metadata and the content headers of a path, in one step.
import type { Step, Tx } from '../../kv/kv.ts'
import type { Moment } from '../../node/moment.ts'
import { setBlobMetadata, setBlobProperties } from '../blob/change.ts'
import type { BlobGuard } from '../blob/guard.ts'
import type { Blob } from '../blob/record.ts'
import { NO_CONDITIONS } from '../shared/condition.ts'
import type { ContentHeaders } from '../shared/content-headers.ts'
import type { Metadata } from '../shared/metadata.ts'
import { blobOfPath, type PathAddress } from './path-address.ts'

export type SetPathProperties = {
  readonly guard: BlobGuard
  /** Replaces all. */
  readonly metadata: Metadata
  /** Those that the request names; the others stay. */
  readonly headers: ContentHeaders
  readonly newId: number
}

export function* setPathProperties(
  tx: Tx,
  address: PathAddress,
  { guard, metadata, headers, newId }: SetPathProperties,
  moment: Moment,
): Step<Blob> {
  const place = blobOfPath(address, 'write')
  const blob = yield* setBlobMetadata(tx, place, guard, metadata, newId, moment)
  if (Object.keys(headers).length === 0) return blob
  // The conditions held before the first change.
  const again = { ...guard, conditions: NO_CONDITIONS }
  const set = { headers: { ...blob.headers, ...headers }, page: {}, newId }
  return yield* setBlobProperties(tx, place, again, set, moment)
}
