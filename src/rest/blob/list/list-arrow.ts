// A page of List Blobs as Apache Arrow: a row for each item, a column for each property. Names and types of the
// columns are those that the SDKs read; a row shows what the XML of the same item shows (list-xml.ts).
import { withoutSignature } from '../../../http/protocol/signature-field.ts'
import type { Blob } from '../../../storage/blob/record.ts'
import type { BlobItem, BlobPage } from '../../../storage/blob/list/list-page.ts'
import type { Staging } from '../../../storage/blob/content/staging.ts'
import { tierOf, type TierState } from '../../../storage/blob/tier.ts'
import type { CopyState } from '../../../storage/shared/copy-state.ts'
import { etagOf, timestampOf } from '../../../storage/shared/etag.ts'
import { leaseStatus, type LeaseStatus } from '../../../storage/shared/lease.ts'
import { remainingDays, type Deleted } from '../../../storage/shared/retention.ts'
import { encodeArrowStream, type ArrowType, type ArrowValue } from './arrow.ts'
import { encodeBlobMarker } from './list-marker.ts'

type Include = ReadonlySet<string>

/** What the columns are made of. A prefix has its name alone, an uncommitted blob no `blob`. */
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
  /** The whole state with `include=copy`; whether a copy is incremental is always shown. */
  readonly copy?: CopyState | undefined
  readonly nowMs: number
}

/** Seen in recorded lists. */
const UNCOMMITTED_TIER: TierState = { name: 'Hot', isInferred: true }

type Column = readonly [
  name: string,
  type: ArrowType,
  of: (row: Row, include: Include) => ArrowValue,
]

/**
 * A column that no row has a value for is left out, since readers look columns up by their name, and most
 * blobs have little of what there may be.
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
    const shown = { ...row, ...shownOf(past, include, nowMs), deleted: past.deleted }
    if (past.kind === 'root') return shown
    return past.kind === 'snapshot' ? { ...shown, snapshot: stamp } : { ...shown, version: stamp }
  }
  const { blob, hasVersionsOnly } = item
  const shown = { ...row, ...shownOf(blob, include, nowMs), lease: leaseStatus(blob.lease, nowMs) }
  // Such an entry stands for a name that has no current blob, and so no length.
  if (hasVersionsOnly === true) {
    return { ...shown, blob: { ...blob, lengthBytes: 0 }, hasVersionsOnly }
  }
  if (blob.version === undefined) return shown
  return { ...shown, version: blob.version, isCurrent: true }
}

/** Append blobs have no tier; page blobs only one that was set, since standard disks have none. */
function shownOf(blob: Blob, include: Include, nowMs: number): Pick<Row, 'blob' | 'tier' | 'copy'> {
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
  // Without quotes here, and in the XML of a list.
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

/** Of an incremental copy; a list of snapshots shows it too, without the rest of the copy. */
function destinationSnapshotOf({ blob, copy }: Row, include: Include): string | undefined {
  const shown = include.has('snapshots') ? blob?.copy : copy
  return timeOf(shown?.destinationSnapshot)
}

function trueIf(is: boolean): true | undefined {
  return is ? true : undefined
}

function timeOf(stamp: number | undefined): string | undefined {
  return stamp === undefined ? undefined : timestampOf(stamp)
}

/** What was encrypted with a customer's key can't be read without it, and a list has none. */
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
