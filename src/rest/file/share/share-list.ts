// List Shares: decodes the query and encodes the page as XML, with the elements and the order that recordings of the
// service show.
import { formatHttpDate } from '../../../http/protocol/date.ts'
import { decodeConditions } from '../../../http/protocol/header.ts'
import type { Answer, Request } from '../../../http/door/operation.ts'
import { isAtLeast } from '../../../http/door/version.ts'
import { XML_DECLARATION, xmlElement, xmlEscape, xmlOptional } from '../../../http/protocol/xml.ts'
import { checkNoConditions } from '../../../storage/shared/condition.ts'
import { ACCOUNT_ENCRYPTION_KEY } from '../../../storage/shared/encryption-scope.ts'
import { invalidQuery } from '../../../storage/shared/error.ts'
import { etagOf, timestampOf } from '../../../storage/shared/etag.ts'
import {
  listShares,
  type ShareItem,
  type SharePosition,
} from '../../../storage/file/share/share-list.ts'
import {
  isPremium,
  nextQuotaDowngradeMs,
  performanceOf,
} from '../../../storage/file/share/share-provision.ts'
import { leaseStatus } from '../../../storage/shared/lease.ts'
import {
  decodeInclude,
  decodeMaxResults,
  listEchoXml,
  metadataXml,
  serviceEndpointXml,
} from '../../shared/list-query.ts'
import type { FileCall } from '../service.ts'
import { shareVersion } from './share.ts'

const INCLUDES = new Set(['metadata', 'snapshots', 'deleted'])
const DAY_MS = 24 * 60 * 60 * 1_000
/** One more than the longest name: a longer prefix matches nothing, and keys have no room for it. */
const PREFIX_LENGTH_MAX = 64

export async function runListShares({ request, service }: FileCall): Promise<Answer> {
  checkNoConditions(decodeConditions(request.headers))
  const include = decodeInclude(request, INCLUDES)
  const list = {
    prefix: (request.query.get('prefix') ?? '').slice(0, PREFIX_LENGTH_MAX),
    after: decodeMarker(request),
    countMax: decodeMaxResults(request),
    isDeletedIncluded: include.has('deleted'),
    isSnapshotsIncluded: include.has('snapshots'),
  }
  const { nowMs } = service.moment()
  const page = await service.kv.read((tx) => listShares(tx, request.account, list, nowMs))
  let items = ''
  const show = { include, version: request.version, nowMs }
  for (const item of page.items) items += shareXml(item, show)
  const body =
    `${XML_DECLARATION}<EnumerationResults ServiceEndpoint="${serviceEndpointXml(request)}">` +
    `${listEchoXml(request)}<Shares>${items}</Shares>` +
    `${nextMarkerXml(page.next)}</EnumerationResults>`
  return { status: 200, headers: ['Content-Type', 'application/xml'], body }
}

type Show = {
  readonly include: ReadonlySet<string>
  readonly version: string
  readonly nowMs: number
}

function shareXml(item: ShareItem, { include, version, nowMs }: Show): string {
  const { name, share, deleted } = item
  const snapshot = 'snapshot' in share ? timestampOf(share.snapshot) : undefined
  return (
    `<Share><Name>${xmlEscape(name)}</Name>${xmlOptional('Snapshot', snapshot)}` +
    (deleted === undefined
      ? ''
      : `<Deleted>true</Deleted><Version>${shareVersion(share.id)}</Version>`) +
    `<Properties><Last-Modified>${formatHttpDate(share.modifiedMs)}</Last-Modified>` +
    `<Etag>${etagOf(share.stamp)}</Etag>` +
    (isAtLeast(version, '2020-02-10') ? leaseXml(item, nowMs) : '') +
    `<Quota>${share.quotaGib}</Quota>` +
    provisionXml(item, version) +
    (isAtLeast(version, '2019-12-12') ? ENCRYPTION : '') +
    (deleted === undefined ? '' : deletedXml(deleted, nowMs)) +
    `</Properties>${include.has('metadata') ? metadataXml(share.metadata) : ''}</Share>`
  )
}

const ENCRYPTION =
  `<DefaultEncryptionScope>${ACCOUNT_ENCRYPTION_KEY}</DefaultEncryptionScope>` +
  '<DenyEncryptionScopeOverride>false</DenyEncryptionScopeOverride>'

/** The service reports the lease of a deleted share as broken, whether or not it had one (recorded). */
function leaseXml({ share, deleted }: ShareItem, nowMs: number): string {
  if (deleted !== undefined) {
    return '<LeaseStatus>unlocked</LeaseStatus><LeaseState>broken</LeaseState>'
  }
  const { status, state, duration } = leaseStatus(share.lease, nowMs)
  return (
    `<LeaseStatus>${status}</LeaseStatus><LeaseState>${state}</LeaseState>` +
    xmlOptional('LeaseDuration', duration)
  )
}

function provisionXml({ share }: ShareItem, version: string): string {
  const changedMs = share.accessTierChangedMs
  return (
    (isAtLeast(version, '2020-02-10') ? protocolXml(share, version) : '') +
    (isAtLeast(version, '2019-12-12')
      ? `<AccessTier>${share.accessTier}</AccessTier>` +
        xmlOptional('AccessTierChangeTime', changedMs && formatHttpDate(changedMs))
      : '') +
    (isPremium(share) ? performanceXml(share, version) : '')
  )
}

function protocolXml(share: ShareItem['share'], version: string): string {
  const { enabledProtocol, rootSquash, snapshotVirtualDirectoryAccess } = share
  const protocol = isPremium(share) ? `<EnabledProtocols>${enabledProtocol}</EnabledProtocols>` : ''
  if ('snapshot' in share) return protocol
  const access = isAtLeast(version, '2023-08-03') ? snapshotVirtualDirectoryAccess : undefined
  return (
    protocol +
    xmlOptional('RootSquash', rootSquash) +
    xmlOptional('EnableSnapshotVirtualDirectoryAccess', access)
  )
}

function performanceXml(share: ShareItem['share'], version: string): string {
  const { iops, ingressMibps, egressMibps, bandwidthMibps, burstIops, burstCredits } =
    performanceOf(share)
  const nextDowngrade = formatHttpDate(nextQuotaDowngradeMs(share))
  // Each with the version that introduced it.
  const elements = [
    ['2019-07-07', 'ProvisionedIops', iops],
    ['2019-07-07', 'ProvisionedIngressMBps', ingressMibps],
    ['2019-07-07', 'ProvisionedEgressMBps', egressMibps],
    ['2021-06-08', 'ProvisionedBandwidthMiBps', bandwidthMibps],
    ['2019-07-07', 'NextAllowedQuotaDowngradeTime', nextDowngrade],
    ['2024-11-04', 'PaidBurstingEnabled', false],
    ['2025-01-05', 'IncludedBurstIops', burstIops],
    ['2025-01-05', 'MaxBurstCreditsForIops', burstCredits],
  ] as const
  return elements
    .filter(([since]) => isAtLeast(version, since))
    .map(([, name, value]) => xmlElement(name, String(value)))
    .join('')
}

/** Rounds days up. */
function deletedXml({ atMs, untilMs }: NonNullable<ShareItem['deleted']>, nowMs: number): string {
  const days = Math.max(0, Math.ceil((untilMs - nowMs) / DAY_MS))
  return (
    `<DeletedTime>${formatHttpDate(atMs)}</DeletedTime>` +
    `<RemainingRetentionDays>${days}</RemainingRetentionDays>`
  )
}

// A marker is opaque to clients: base64 of the last item's id (of a deleted share), snapshot and name.

function nextMarkerXml(next: SharePosition | undefined): string {
  if (next === undefined) return '<NextMarker />'
  const { name, deletedId, snapshot } = next
  const text = `${deletedId ?? ''}:${snapshot ?? ''}:${name}`
  return `<NextMarker>${Buffer.from(text).toString('base64url')}</NextMarker>`
}

const MARKER = /^(\d{0,16}):(\d{0,16}):([a-z0-9-]{1,63})$/

function decodeMarker({ query }: Request): SharePosition | undefined {
  const marker = query.get('marker')
  if (marker === undefined || marker === '') return undefined
  const text = Buffer.from(marker, 'base64url').toString('utf8')
  const [, id = '', snapshot = '', name = ''] = MARKER.exec(text) ?? []
  const numbers = [Number(id), Number(snapshot)]
  if (name === '' || !numbers.every((number) => Number.isSafeInteger(number))) {
    throw invalidQuery('marker', marker)
  }
  return {
    name,
    ...(id !== '' && { deletedId: Number(id) }),
    ...(snapshot !== '' && { snapshot: Number(snapshot) }),
  }
}
