// The items of List Containers and List Blobs as XML, with the elements and the order that recordings of the service
// show. Most blobs have few of the possible properties, so a missing one costs only a comparison.
import { formatHttpDate } from '../../../http/protocol/date.ts'
import { derived } from '../../../kv/derived.ts'
import { withoutSignature } from '../../../http/protocol/signature-field.ts'
import { xmlTags } from './tags-xml.ts'
import { xmlElement, xmlEscape, xmlNameElement, xmlOptional } from '../../../http/protocol/xml.ts'
import type { Blob } from '../../../storage/blob/record.ts'
import type { ContainerItem } from '../../../storage/blob/container/container-list.ts'
import type { BlobEncryption } from '../../../storage/blob/encryption.ts'
import type { BlobItem } from '../../../storage/blob/list/list-page.ts'
import type { Staging } from '../../../storage/blob/content/staging.ts'
import { accessOf } from '../../../storage/blob/path/access.ts'
import type { PathState } from '../../../storage/blob/path/path-state.ts'
import { formatAcl } from '../../../storage/blob/access/acl-text.ts'
import { formatPermissions } from '../../../storage/blob/access/permissions.ts'
import { tierOf } from '../../../storage/blob/tier.ts'
import type { CopyState } from '../../../storage/shared/copy/copy-state.ts'
import { ACCOUNT_ENCRYPTION_KEY } from '../../../storage/shared/encryption-scope.ts'
import { etagOf, timestampOf } from '../../../storage/shared/etag.ts'
import { leaseStatus, type Lease } from '../../../storage/shared/lease.ts'
import type { Metadata } from '../../../storage/shared/metadata.ts'
import { remainingDays, type Deleted } from '../../../storage/shared/retention.ts'
import { containerVersion } from '../container.ts'

type Include = ReadonlySet<string>

export function containerXml(
  { name, container, deleted }: ContainerItem,
  include: Include,
  nowMs: number,
): string {
  const { defaultEncryptionScope: scope, denyEncryptionScopeOverride: deny } = container
  return (
    `<Container><Name>${xmlEscape(name)}</Name>` +
    (deleted === undefined
      ? ''
      : `<Deleted>true</Deleted><Version>${containerVersion(container.id)}</Version>`) +
    `<Properties><Last-Modified>${formatHttpDate(container.modifiedMs)}</Last-Modified>` +
    `<Etag>${etagOf(container.stamp)}</Etag>` +
    // The service reports the lease of a deleted container as expired, whether or not it had one.
    (deleted === undefined
      ? leaseXml(container.lease, nowMs)
      : '<LeaseStatus>unlocked</LeaseStatus><LeaseState>expired</LeaseState>') +
    xmlOptional('PublicAccess', container.publicAccess) +
    xmlElement('DefaultEncryptionScope', scope ?? ACCOUNT_ENCRYPTION_KEY) +
    `<DenyEncryptionScopeOverride>${deny ?? false}</DenyEncryptionScopeOverride>` +
    '<HasImmutabilityPolicy>false</HasImmutabilityPolicy><HasLegalHold>false</HasLegalHold>' +
    xmlElement('ImmutableStorageWithVersioningEnabled', String(container.spaceId === undefined)) +
    (deleted === undefined ? '' : deletedXml(deleted, nowMs)) +
    `</Properties>${include.has('metadata') ? metadataXml(container.metadata) : ''}</Container>`
  )
}

export function blobItemXml(item: BlobItem, include: Include, nowMs: number): string {
  if ('prefix' in item) return prefixXml(item, include, nowMs)
  if (isPlainItem(item) && include.size === 0) return plainItemXml(item)
  const name = nameXml(item)
  if ('staging' in item) return name + uncommittedXml(item.staging, nowMs) + END
  if ('past' in item) {
    const { past, stamp, deletionId } = item
    const deletion = deletionId === undefined ? '' : `<DeletionId>${deletionId}</DeletionId>`
    // A deleted path expires when its retention ends.
    const expiresMs = deletionId === undefined ? past.expiresMs : past.deleted?.untilMs
    const state = stateXml(past, '', past.deleted, include, nowMs)
    const properties = propertiesXml({ ...past, ...(expiresMs && { expiresMs }) }, state)
    const id = deletion + pastIdXml(past.kind, stamp, past.deleted)
    return name + id + properties + detailsXml(past, include)
  }
  const { blob, hasVersionsOnly = false } = item
  const id = hasVersionsOnly ? VERSIONS_ONLY : currentIdXml(blob)
  const state = stateXml(blob, leaseXml(blob.lease, nowMs), undefined, include, nowMs)
  // This name has no current blob, and therefore no length.
  const listed = hasVersionsOnly ? { ...blob, lengthBytes: 0 } : blob
  return name + id + propertiesXml(listed, state) + detailsXml(blob, include)
}

type PrefixItem = Extract<BlobItem, { readonly prefix: string }>

/** In a hierarchical namespace, a prefix is a directory and has properties. */
function prefixXml({ prefix, directory }: PrefixItem, include: Include, nowMs: number): string {
  const name = xmlNameElement('Name', prefix)
  if (directory === undefined) return `<BlobPrefix>${name}</BlobPrefix>`
  const state = stateXml(directory, leaseXml(directory.lease, nowMs), undefined, include, nowMs)
  return `<BlobPrefix>${name}${propertiesXml(directory, state)}</BlobPrefix>`
}

type PlainItem = { readonly name: string; readonly blob: Blob }

function isPlainItem(item: BlobItem): item is PlainItem {
  return 'blob' in item && item.hasVersionsOnly !== true && isPlain(item.blob)
}

function plainItemXml(item: PlainItem): string {
  const { name, blob } = item
  const known = derived(blob, 'list item', () => ({ name, xml: makePlainXml(item) }))
  return known.name === name ? known.xml : makePlainXml(item)
}

function makePlainXml(item: PlainItem): string {
  const { blob } = item
  return nameXml(item) + currentIdXml(blob) + propertiesXml(blob, PLAIN_STATE) + END
}

function nameXml({ name }: { readonly name: string }): string {
  return `<Blob>${xmlNameElement('Name', name)}`
}

const END = '<OrMetadata /></Blob>'

const VERSIONS_ONLY = '<HasVersionsOnly>true</HasVersionsOnly>'

/** Listed with or without `include=versions`. */
function currentIdXml({ version }: Blob): string {
  if (version === undefined) return ''
  return `<VersionId>${timestampOf(version)}</VersionId><IsCurrentVersion>true</IsCurrentVersion>`
}

function pastIdXml(kind: string, stamp: number, deleted: Deleted | undefined): string {
  const isDeleted = deleted === undefined ? '' : '<Deleted>true</Deleted>'
  if (kind === 'root') return isDeleted
  const element = kind === 'snapshot' ? 'Snapshot' : 'VersionId'
  return `<${element}>${timestampOf(stamp)}</${element}>${isDeleted}`
}

/** "List Blobs", on uncommitted blobs: without times, validators, content headers and metadata. */
function uncommittedXml({ lease }: Staging, nowMs: number): string {
  return (
    '<Properties><Content-Length>0</Content-Length><BlobType>BlockBlob</BlobType>' +
    '<AccessTier>Hot</AccessTier><AccessTierInferred>true</AccessTierInferred>' +
    `${leaseXml(lease, nowMs)}<ServerEncrypted>false</ServerEncrypted></Properties>`
  )
}

function detailsXml(blob: Blob, include: Include): string {
  if (include.size === 0) return END
  const metadata = include.has('metadata') ? blobMetadataXml(blob) : ''
  const tags = blob.tags !== undefined && include.has('tags') ? xmlTags(blob.tags) : ''
  return metadata + tags + END
}

/** `state` is the part after the content headers. */
function propertiesXml(blob: Blob, state: string): string {
  return (
    `<Properties><Creation-Time>${formatHttpDate(blob.createdMs)}</Creation-Time>` +
    `<Last-Modified>${formatHttpDate(blob.modifiedMs)}</Last-Modified>` +
    dateXml('Expiry-Time', blob.expiresMs) +
    (blob.path === undefined ? '' : resourceTypeXml(blob.path)) +
    // Without quotes, unlike everywhere else.
    `<Etag>${etagOf(blob.stamp).slice(1, -1)}</Etag>` +
    `<Content-Length>${blob.lengthBytes}</Content-Length>` +
    contentXml(blob) +
    dateXml('LastAccessTime', blob.accessedMs) +
    state
  )
}

/** Only in a hierarchical namespace. */
function resourceTypeXml({ isDirectory }: PathState): string {
  return `<ResourceType>${isDirectory === true ? 'directory' : 'file'}</ResourceType>`
}

function accessXml(blob: Blob, include: Include): string {
  if (blob.path === undefined || !include.has('permissions')) return ''
  const access = accessOf(blob)
  return (
    xmlElement('Owner', access.owner) +
    xmlElement('Group', access.group) +
    xmlElement('Permissions', formatPermissions(access)) +
    xmlElement('Acl', formatAcl(access.acl))
  )
}

const NO_LEASE = '<LeaseStatus>unlocked</LeaseStatus><LeaseState>available</LeaseState>'

/** The state of almost every blob in a long list; it does not depend on the time. */
const PLAIN_STATE =
  '<BlobType>BlockBlob</BlobType><AccessTier>Hot</AccessTier>' +
  `<AccessTierInferred>true</AccessTierInferred>${NO_LEASE}` +
  '<ServerEncrypted>false</ServerEncrypted></Properties>'

function isPlain(blob: Blob): boolean {
  const { type, tier, lease, copy, encryption, tags, immutability, legalHold } = blob
  return (
    type === 'BlockBlob' &&
    tier === undefined &&
    lease === undefined &&
    copy === undefined &&
    encryption === undefined &&
    tags === undefined &&
    immutability === undefined &&
    legalHold === undefined
  )
}

function stateXml(
  blob: Blob,
  lease: string,
  deleted: Deleted | undefined,
  include: Include,
  nowMs: number,
): string {
  return (
    typeXml(blob) +
    tierXml(blob, nowMs) +
    lease +
    (blob.copy === undefined ? '' : copyXml(blob.copy, include)) +
    encryptionXml(blob.encryption) +
    (deleted === undefined ? '' : deletedXml(deleted, nowMs)) +
    (blob.tags === undefined ? '' : `<TagCount>${blob.tags.length}</TagCount>`) +
    (blob.isSealed === true ? '<Sealed>true</Sealed>' : '') +
    `${retentionXml(blob, include)}${accessXml(blob, include)}</Properties>`
  )
}

function contentXml({ headers }: Blob): string {
  return (
    (headers.contentType === undefined
      ? '<Content-Type>application/octet-stream</Content-Type>'
      : xmlElement('Content-Type', headers.contentType)) +
    (headers.contentEncoding === undefined
      ? '<Content-Encoding />'
      : xmlElement('Content-Encoding', headers.contentEncoding)) +
    (headers.contentLanguage === undefined
      ? '<Content-Language />'
      : xmlElement('Content-Language', headers.contentLanguage)) +
    (headers.contentMd5 === undefined
      ? '<Content-CRC64 /><Content-MD5 />'
      : `<Content-CRC64 /><Content-MD5>${headers.contentMd5}</Content-MD5>`) +
    (headers.cacheControl === undefined
      ? '<Cache-Control />'
      : xmlElement('Cache-Control', headers.cacheControl)) +
    (headers.contentDisposition === undefined
      ? '<Content-Disposition />'
      : xmlElement('Content-Disposition', headers.contentDisposition))
  )
}

function typeXml({ type, sequenceNumber = '0' }: Blob): string {
  if (type !== 'PageBlob') return `<BlobType>${type}</BlobType>`
  const element = 'x-ms-blob-sequence-number'
  return `<${element}>${sequenceNumber}</${element}><BlobType>PageBlob</BlobType>`
}

/** Append blobs have no tier. Page blobs have one only if it was set: standard disks have no tiers. */
function tierXml(blob: Blob, nowMs: number): string {
  if (blob.tier === undefined && blob.type !== 'BlockBlob') return ''
  const { name, isInferred, setMs, rehydration, smart } = tierOf(blob, nowMs)
  let xml = `<AccessTier>${name}</AccessTier>`
  if (isInferred) return `${xml}<AccessTierInferred>true</AccessTierInferred>`
  if (smart !== undefined) xml += `<SmartAccessTier>${smart.capacity}</SmartAccessTier>`
  if (rehydration !== undefined) {
    const { to, priority } = rehydration
    xml += `<ArchiveStatus>rehydrate-pending-to-${to.toLowerCase()}</ArchiveStatus>`
    xml += `<RehydratePriority>${priority}</RehydratePriority>`
  }
  return xml + dateXml('AccessTierChangeTime', setMs)
}

function leaseXml(lease: Lease | undefined, nowMs: number): string {
  if (lease === undefined) return NO_LEASE
  const { status, state, duration } = leaseStatus(lease, nowMs)
  return (
    `<LeaseStatus>${status}</LeaseStatus><LeaseState>${state}</LeaseState>` +
    xmlOptional('LeaseDuration', duration)
  )
}

/** IncrementalCopy is always listed, its snapshot also with `include=snapshots`, the rest with `include=copy`. */
function copyXml(copy: CopyState, include: Include): string {
  const { destinationSnapshot: snapshot } = copy
  const isCopyIncluded = include.has('copy')
  const isSnapshotShown = snapshot !== undefined && (isCopyIncluded || include.has('snapshots'))
  const incremental =
    (copy.isIncremental === true ? '<IncrementalCopy>true</IncrementalCopy>' : '') +
    // The SDKs look for DestinationSnapshot; this is what the service sends.
    (isSnapshotShown ? xmlElement('CopyDestinationSnapshot', timestampOf(snapshot)) : '')
  if (!isCopyIncluded) return incremental
  return (
    xmlElement('CopyId', copy.id) +
    xmlElement('CopySource', withoutSignature(copy.source)) +
    `<CopyStatus>${copy.status}</CopyStatus>` +
    `<CopyProgress>${copy.copiedBytes}/${copy.totalBytes}</CopyProgress>` +
    dateXml('CopyCompletionTime', copy.completedMs) +
    xmlOptional('CopyStatusDescription', copy.description) +
    incremental
  )
}

function encryptionXml(encryption: BlobEncryption | undefined): string {
  if (encryption === undefined) return '<ServerEncrypted>false</ServerEncrypted>'
  const key =
    'scope' in encryption
      ? xmlElement('EncryptionScope', encryption.scope)
      : xmlElement('CustomerProvidedKeySha256', encryption.keySha256)
  return `<ServerEncrypted>true</ServerEncrypted>${key}`
}

function deletedXml(deleted: Deleted, nowMs: number): string {
  const days = remainingDays(deleted, nowMs)
  const time = dateXml('DeletedTime', deleted.atMs)
  return `${time}<RemainingRetentionDays>${days}</RemainingRetentionDays>`
}

function retentionXml({ immutability, legalHold }: Blob, include: Include): string {
  let xml = ''
  if (immutability !== undefined && include.has('immutabilitypolicy')) {
    const mode = immutability.mode.toLowerCase()
    xml += dateXml('ImmutabilityPolicyUntilDate', immutability.untilMs)
    xml += `<ImmutabilityPolicyMode>${mode}</ImmutabilityPolicyMode>`
  }
  if (legalHold === true && include.has('legalhold')) xml += '<LegalHold>true</LegalHold>'
  return xml
}

function dateXml(element: string, timeMs: number | undefined): string {
  return timeMs === undefined ? '' : `<${element}>${formatHttpDate(timeMs)}</${element}>`
}

/** Metadata encrypted with a customer-provided key is hidden: a list request carries no key. */
function blobMetadataXml({ metadata, encryption }: Blob): string {
  const isSecret = encryption !== undefined && 'keySha256' in encryption && metadata.length > 0
  return isSecret ? '<Metadata Encrypted="true" />' : metadataXml(metadata)
}

function metadataXml(metadata: Metadata): string {
  if (metadata.length === 0) return '<Metadata />'
  let items = ''
  for (const [name, value] of metadata) items += `<${name}>${xmlEscape(value)}</${name}>`
  return `<Metadata>${items}</Metadata>`
}
