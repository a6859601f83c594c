// A page of List Blobs as Apache Arrow: one row per item, one column per property. The SDKs determine names and types
// of the columns; a row has the same values as the XML of the item (list-xml.ts).
import { withoutSignature } from '../../../http/protocol/signature-field.ts'
import type { Blob } from '../../../storage/blob/record.ts'
import type { BlobItem, BlobPage } from '../../../storage/blob/list/list-page.ts'
import type { Staging } from '../../../storage/blob/content/staging.ts'
import { tierOf, type TierState } from '../../../storage/blob/tier.ts'
import type { CopyState } from '../../../storage/shared/copy/copy-state.ts'
import { etagOf, timestampOf } from '../../../storage/shared/etag.ts'
import { leaseStatus, type LeaseStatus } from '../../../storage/shared/lease.ts'
import { remainingDays, type Deleted } from '../../../storage/shared/retention.ts'
import { encodeArrowStream, type ArrowType, type ArrowValue } from './arrow.ts'
import { encodeBlobMarker } from './list-marker.ts'

type Include = ReadonlySet<string>

/** The values of a row. A prefix has only a name; an uncommitted blob has no `blob`. */
type Row = {
  readonly name: string
  readonly isPrefix: boolean
  readonly blob?: Blob
  readonly staging?: Staging
  readonly snapshot?: number
  readonly version?: number
  readonly isCurrent?: boolean
  readonly hasVersionsOnly?: boolean
  readonly deleted?: Deleted | undefined
  readonly lease?: LeaseStatus
  readonly tier?: TierState | undefined
  /** Only with `include=copy`; the column IncrementalCopy does not depend on it. */
  readonly copy?: CopyState | undefined
  readonly nowMs: number
}

/** Recorded. */
const UNCOMMITTED_TIER: TierState = { name: 'Hot', isInferred: true }

type Column = readonly [
  name: string,
  type: ArrowType,
  of: (row: Row, include: Include) => ArrowValue,
]

/**
 * Omits columns without values: readers look columns up by name, and most blobs have few of the possible properties.
 */
export function encodeArrowPage(
  { items, next }: BlobPage,
  include: Include,
  nowMs: number,
): Promise<Uint8Array> {
  const rows = items.map((item) => rowOf(item, include, nowMs))
  const columns = COLUMNS.map(([name, type, of]) => {
    return { name, type, values: rows.map((row) => of(row, include)) }
  })
  const used = columns.filter(({ name, values }) => {
    return name === 'Name' || values.some((value) => value !== undefined)
  })
  const metadata = new Map([['NumberOfRecords', String(rows.length)]])
  const marker = encodeBlobMarker(next)
  if (marker !== undefined) metadata.set('NextMarker', marker)
  return encodeArrowStream(used, metadata)
}

function rowOf(item: BlobItem, include: Include, nowMs: number): Row {
  if ('prefix' in item) return { name: item.prefix, isPrefix: true, nowMs }
  const { name } = item
  const row = { name, isPrefix: false, nowMs }
  if ('staging' in item) {
    const { staging } = item
    return { ...row, staging, lease: leaseStatus(staging.lease, nowMs), tier: UNCOMMITTED_TIER }
  }
  if ('past' in item) {
    const { past, stamp } = item
    const withState = { ...row, ...stateOf(past, include, nowMs), deleted: past.deleted }
    if (past.kind === 'root') return withState
    return past.kind === 'snapshot'
      ? { ...withState, snapshot: stamp }
      : { ...withState, version: stamp }
  }
  const { blob, hasVersionsOnly } = item
  const withState = {
    ...row,
    ...stateOf(blob, include, nowMs),
    lease: leaseStatus(blob.lease, nowMs),
  }
  // This name has no current blob, and therefore no length.
  if (hasVersionsOnly === true) {
    return { ...withState, blob: { ...blob, lengthBytes: 0 }, hasVersionsOnly }
  }
  if (blob.version === undefined) return withState
  return { ...withState, version: blob.version, isCurrent: true }
}

/** Append blobs have no tier. Page blobs have one only if it was set: standard disks have no tiers. */
function stateOf(blob: Blob, include: Include, nowMs: number): Pick<Row, 'blob' | 'tier' | 'copy'> {
  const hasTier = blob.tier !== undefined || blob.type === 'BlockBlob'
  const tier = hasTier ? tierOf(blob, nowMs) : undefined
  return { blob, tier, copy: include.has('copy') ? blob.copy : undefined }
}

// prettier-ignore
const COLUMNS: readonly Column[] = [
  ['Name', 'text', ({ name }) => name],
  ['ResourceType', 'text', ({ isPrefix }) => (isPrefix ? 'blobprefix' : undefined)],
  ['Deleted', 'boolean', ({ deleted }) => trueIf(deleted !== undefined)],
  ['Snapshot', 'text', ({ snapshot }) => timeOf(snapshot)],
  ['VersionId', 'text', ({ version }) => timeOf(version)],
  ['IsCurrentVersion', 'boolean', ({ isCurrent }) => isCurrent],
  ['HasVersionsOnly', 'boolean', ({ hasVersionsOnly }) => hasVersionsOnly],
  ['Metadata', 'map', (row, include) => (include.has('metadata') ? metadataOf(row) : undefined)],
  ['Encrypted', 'boolean', (row, include) => trueIf(include.has('metadata') && isSecret(row))],
  ['Tags', 'map', ({ blob }, include) => (include.has('tags') ? blob?.tags : undefined)],
  ['Creation-Time', 'seconds', ({ blob }) => blob?.createdMs],
  ['Last-Modified', 'seconds', ({ blob }) => blob?.modifiedMs],
  // Without quotes, as in the XML of a list.
  ['Etag', 'text', ({ blob }) => blob && etagOf(blob.stamp).slice(1, -1)],
  ['Content-Length', 'uint64', ({ blob, staging }) => blob?.lengthBytes ?? (staging && 0)],
  ['Content-Type', 'text', ({ blob }) => blob && (blob.headers.contentType ?? 'application/octet-stream')],
  ['Content-Encoding', 'text', ({ blob }) => blob?.headers.contentEncoding],
  ['Content-Language', 'text', ({ blob }) => blob?.headers.contentLanguage],
  ['Content-MD5', 'text', ({ blob }) => blob?.headers.contentMd5],
  ['Content-Disposition', 'text', ({ blob }) => blob?.headers.contentDisposition],
  ['Cache-Control', 'text', ({ blob }) => blob?.headers.cacheControl],
  ['x-ms-blob-sequence-number', 'uint64', ({ blob }) => sequenceNumberOf(blob)],
  ['BlobType', 'text', ({ blob, staging }) => blob?.type ?? (staging && 'BlockBlob')],
  ['AccessTier', 'text', ({ tier }) => tier?.name],
  ['AccessTierInferred', 'boolean', ({ tier }) => trueIf(tier?.isInferred === true)],
  ['AccessTierChangeTime', 'seconds', ({ tier }) => tier?.setMs],
  ['SmartAccessTier', 'text', ({ tier }) => tier?.smart?.capacity],
  ['ArchiveStatus', 'text', ({ tier }) => archiveStatusOf(tier)],
  ['RehydratePriority', 'text', ({ tier }) => tier?.rehydration?.priority],
  ['LeaseStatus', 'text', ({ lease }) => lease?.status],
  ['LeaseState', 'text', ({ lease }) => lease?.state],
  ['LeaseDuration', 'text', ({ lease }) => lease?.duration],
  ['CopyId', 'text', ({ copy }) => copy?.id],
  ['CopySource', 'text', ({ copy }) => copy && withoutSignature(copy.source)],
  ['CopyStatus', 'text', ({ copy }) => copy?.status],
  ['CopyProgress', 'text', ({ copy }) => copy && `${copy.copiedBytes}/${copy.totalBytes}`],
  ['CopyCompletionTime', 'seconds', ({ copy }) => copy?.completedMs],
  ['CopyStatusDescription', 'text', ({ copy }) => copy?.description],
  ['IncrementalCopy', 'boolean', ({ blob }) => blob?.copy?.isIncremental],
  ['CopyDestinationSnapshot', 'text', destinationSnapshotOf],
  ['ServerEncrypted', 'boolean', ({ blob, staging }) => (blob ?? staging) && blob?.encryption !== undefined],
  ['CustomerProvidedKeySha256', 'text', ({ blob }) => keySha256Of(blob)],
  ['EncryptionScope', 'text', ({ blob }) => scopeOf(blob)],
  ['DeletedTime', 'seconds', ({ deleted }) => deleted?.atMs],
  ['RemainingRetentionDays', 'uint64', ({ deleted, nowMs }) => deleted && remainingDays(deleted, nowMs)],
  ['TagCount', 'uint64', ({ blob }) => blob?.tags?.length],
  ['Expiry-Time', 'seconds', ({ blob }) => blob?.expiresMs],
  ['Sealed', 'boolean', ({ blob }) => blob?.isSealed],
  ['LastAccessTime', 'seconds', ({ blob }) => blob?.accessedMs],
  ['ImmutabilityPolicyUntilDate', 'seconds', (row, include) => policyOf(row, include)?.untilMs],
  ['ImmutabilityPolicyMode', 'text', (row, include) => policyOf(row, include)?.mode.toLowerCase()],
  ['LegalHold', 'boolean', ({ blob }, include) => (include.has('legalhold') ? blob?.legalHold : undefined)],
]

/** Of an incremental copy. A list with snapshots has it even without `include=copy`. */
function destinationSnapshotOf({ blob, copy }: Row, include: Include): string | undefined {
  const source = include.has('snapshots') ? blob?.copy : copy
  return timeOf(source?.destinationSnapshot)
}

function trueIf(is: boolean): true | undefined {
  return is ? true : undefined
}

function timeOf(stamp: number | undefined): string | undefined {
  return stamp === undefined ? undefined : timestampOf(stamp)
}

/** Metadata encrypted with a customer-provided key is hidden: a list request carries no key. */
function isSecret({ blob }: Row): boolean {
  return keySha256Of(blob) !== undefined && blob !== undefined && blob.metadata.length > 0
}

function metadataOf(row: Row): ArrowValue {
  return isSecret(row) ? undefined : row.blob?.metadata
}

function sequenceNumberOf(blob: Blob | undefined): bigint | undefined {
  return blob?.type === 'PageBlob' ? BigInt(blob.sequenceNumber ?? '0') : undefined
}

function archiveStatusOf(tier: TierState | undefined): string | undefined {
  const to = tier?.rehydration?.to
  return to === undefined ? undefined : `rehydrate-pending-to-${to.toLowerCase()}`
}

function keySha256Of(blob: Blob | undefined): string | undefined {
  const encryption = blob?.encryption
  return encryption !== undefined && 'keySha256' in encryption ? encryption.keySha256 : undefined
}

function scopeOf(blob: Blob | undefined): string | undefined {
  const encryption = blob?.encryption
  return encryption !== undefined && 'scope' in encryption ? encryption.scope : undefined
}

function policyOf({ blob }: Row, include: Include): Blob['immutability'] {
  return include.has('immutabilitypolicy') ? blob?.immutability : undefined
}
