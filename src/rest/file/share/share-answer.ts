// Headers of shares in requests and answers.
import { formatHttpDate } from '../../../http/protocol/date.ts'
import {
  metadataHeaders,
  optionalBoolean,
  optionalHeader,
  optionalInt,
  optionalWord,
} from '../../../http/protocol/header.ts'
import { leaseHeaders } from '../../shared/lease-header.ts'
import type { Request } from '../../../http/door/operation.ts'
import { StorageError } from '../../../storage/shared/error.ts'
import type { ShareOrSnapshot } from '../../../storage/file/share/share-change.ts'
import {
  isPremium,
  nextQuotaDowngradeMs,
  performanceOf,
  QUOTA_GIB_MAX,
  type ShareProvision,
} from '../../../storage/file/share/share-provision.ts'
import { validators } from '../../shared/answer-header.ts'

const TIERS = ['TransactionOptimized', 'Hot', 'Cool', 'Premium'] as const
const PROTOCOLS = ['SMB', 'NFS'] as const
const SQUASHES = ['NoRootSquash', 'RootSquash', 'AllSquash'] as const
const QUOTA_GIB = { min: 1, max: QUOTA_GIB_MAX }

/** Paid performance and directory leases are not supported. */
const UNSUPPORTED = [
  'x-ms-share-paid-bursting-enabled',
  'x-ms-share-paid-bursting-max-iops',
  'x-ms-share-paid-bursting-max-bandwidth-mibps',
  'x-ms-share-provisioned-iops',
  'x-ms-share-provisioned-bandwidth-mibps',
  'x-ms-enable-smb-directory-lease',
]

export function decodeProvision({ headers, loose }: Request): ShareProvision {
  for (const name of UNSUPPORTED) {
    const value = optionalHeader(headers, name)?.toLowerCase()
    if (value === undefined || value === 'false' || loose) continue
    throw new StorageError('UnsupportedHeader', { HeaderName: name, HeaderValue: value })
  }
  const quotaGib = optionalInt(headers, 'x-ms-share-quota', QUOTA_GIB)
  const accessTier = optionalWord(headers, 'x-ms-access-tier', TIERS)
  const enabledProtocol = optionalWord(headers, 'x-ms-enabled-protocols', PROTOCOLS)
  const rootSquash = optionalWord(headers, 'x-ms-root-squash', SQUASHES)
  const virtualAccess = optionalBoolean(headers, VIRTUAL_DIRECTORY)
  return {
    ...(quotaGib !== undefined && { quotaGib }),
    ...(accessTier !== undefined && { accessTier }),
    ...(enabledProtocol !== undefined && { enabledProtocol }),
    ...(rootSquash !== undefined && { rootSquash }),
    ...(virtualAccess !== undefined && { snapshotVirtualDirectoryAccess: virtualAccess }),
  }
}

const VIRTUAL_DIRECTORY = 'x-ms-enable-snapshot-virtual-directory-access'

/** Headers of Create, Restore and Set Share Properties. */
export function changedHeaders(share: ShareOrSnapshot): string[] {
  return [
    ...validators(share),
    'x-ms-share-quota',
    String(share.quotaGib),
    ...(isPremium(share) ? provisionedHeaders(share) : []),
  ]
}

function provisionedHeaders(share: ShareOrSnapshot): string[] {
  const { iops, bandwidthMibps, burstIops, burstCredits } = performanceOf(share)
  return [
    'x-ms-share-provisioned-iops', String(iops),
    'x-ms-share-provisioned-bandwidth-mibps', String(bandwidthMibps),
    'x-ms-share-included-burst-iops', String(burstIops),
    'x-ms-share-max-burst-credits-for-iops', String(burstCredits),
    NEXT_DOWNGRADE, formatHttpDate(nextQuotaDowngradeMs(share)),
  ] // prettier-ignore
}

const NEXT_DOWNGRADE = 'x-ms-share-next-allowed-quota-downgrade-time'

/** Headers of Get Share Properties, for a share or a snapshot. */
export function propertiesHeaders(share: ShareOrSnapshot, nowMs: number): string[] {
  return [
    ...changedHeaders(share),
    ...leaseHeaders(share.lease, nowMs),
    'x-ms-has-immutability-policy', 'false',
    'x-ms-has-legal-hold', 'false',
    ...(isPremium(share) ? throughputHeaders(share) : []),
    'x-ms-access-tier', share.accessTier,
    ...tierChangeHeaders(share),
    ...(isPremium(share) ? ['x-ms-enabled-protocols', share.enabledProtocol] : []),
    ...nfsHeaders(share),
    ...metadataHeaders(share.metadata),
  ] // prettier-ignore
}

/** Only premium shares have these, and a choice of protocol (recorded). */
function throughputHeaders(share: ShareOrSnapshot): string[] {
  const { ingressMibps, egressMibps } = performanceOf(share)
  return [
    'x-ms-share-provisioned-ingress-mbps', String(ingressMibps),
    'x-ms-share-provisioned-egress-mbps', String(egressMibps),
    'x-ms-share-paid-bursting-enabled', 'false',
  ] // prettier-ignore
}

function tierChangeHeaders({ accessTierChangedMs }: ShareOrSnapshot): string[] {
  if (accessTierChangedMs === undefined) return []
  return ['x-ms-access-tier-change-time', formatHttpDate(accessTierChangedMs)]
}

/** For shares, not for snapshots ("Get Share Properties"). */
function nfsHeaders(share: ShareOrSnapshot): string[] {
  const { rootSquash, snapshotVirtualDirectoryAccess } = share
  if ('snapshot' in share || rootSquash === undefined) return []
  return [
    'x-ms-root-squash', rootSquash,
    VIRTUAL_DIRECTORY, String(snapshotVirtualDirectoryAccess ?? true),
  ] // prettier-ignore
}
