// What a share is provisioned with, and what follows from it: quota, access tier and protocols. One account has
// both kinds here, standard shares, which are billed by use, and premium ones, whose speed follows from
// their size ("Understanding Azure Files billing", provisioned v1).
import { StorageError } from '../../shared/error.ts'
import type { AccessTier, EnabledProtocol, RootSquash, Share } from './share.ts'

export const QUOTA_GIB_MAX = 102_400
const QUOTA_GIB_DEFAULT = 5_120
const PREMIUM_QUOTA_GIB_MIN = 100
const DAY_MS = 24 * 60 * 60 * 1_000

/** What a request asks for; what it leaves out stays as it is, or is the default. */
export type ShareProvision = {
  readonly quotaGib?: number
  readonly accessTier?: AccessTier
  readonly enabledProtocol?: EnabledProtocol
  readonly rootSquash?: RootSquash
  readonly snapshotVirtualDirectoryAccess?: boolean
}

type Provisioned = Pick<
  Share,
  | 'quotaGib'
  | 'quotaRaisedMs'
  | 'accessTier'
  | 'accessTierChangedMs'
  | 'enabledProtocol'
  | 'rootSquash'
  | 'snapshotVirtualDirectoryAccess'
>

/** Create Share. NFS is for premium shares, and squashing and the `.snapshots` directory are for NFS. */
export function provisionShare(asked: ShareProvision, nowMs: number): Provisioned {
  const enabledProtocol = asked.enabledProtocol ?? 'SMB'
  const isNfs = enabledProtocol === 'NFS'
  const accessTier = asked.accessTier ?? (isNfs ? 'Premium' : 'TransactionOptimized')
  const quotaGib = asked.quotaGib ?? QUOTA_GIB_DEFAULT
  checkProvision({ enabledProtocol, accessTier, quotaGib }, asked)
  return {
    quotaGib,
    accessTier,
    accessTierChangedMs: nowMs,
    enabledProtocol,
    ...(isNfs && {
      rootSquash: asked.rootSquash ?? 'NoRootSquash',
      snapshotVirtualDirectoryAccess: asked.snapshotVirtualDirectoryAccess ?? true,
    }),
  }
}

/** Set Share Properties. Between premium and the other tiers there is no way. */
export function reprovisionShare(share: Share, asked: ShareProvision, nowMs: number): Provisioned {
  const { enabledProtocol } = share
  const accessTier = asked.accessTier ?? share.accessTier
  const quotaGib = asked.quotaGib ?? share.quotaGib
  if ((accessTier === 'Premium') !== isPremium(share)) {
    throw new StorageError('FileShareAccessTierTransitionNotAllowed')
  }
  checkProvision({ enabledProtocol, accessTier, quotaGib }, asked)
  if (quotaGib < share.quotaGib && nowMs < nextQuotaDowngradeMs(share)) {
    throw new StorageError('ContainerQuotaDowngradeNotAllowed')
  }
  const { rootSquash, snapshotVirtualDirectoryAccess } = { ...share, ...asked }
  return {
    quotaGib,
    ...(quotaGib > share.quotaGib && { quotaRaisedMs: nowMs }),
    accessTier,
    ...(accessTier !== share.accessTier && { accessTierChangedMs: nowMs }),
    enabledProtocol,
    ...(rootSquash !== undefined && { rootSquash }),
    ...(snapshotVirtualDirectoryAccess !== undefined && { snapshotVirtualDirectoryAccess }),
  }
}

function checkProvision(
  { enabledProtocol, accessTier, quotaGib }: Required<Pick<Provisioned, Checked>>,
  asked: ShareProvision,
): void {
  const isPremiumTier = accessTier === 'Premium'
  if (isPremiumTier && quotaGib < PREMIUM_QUOTA_GIB_MIN) {
    throw invalid('x-ms-share-quota', String(quotaGib))
  }
  if (enabledProtocol === 'NFS') {
    if (!isPremiumTier) throw invalid('x-ms-access-tier', accessTier)
    return
  }
  if (asked.rootSquash !== undefined) throw invalid('x-ms-root-squash', asked.rootSquash)
  const virtual = asked.snapshotVirtualDirectoryAccess
  if (virtual !== undefined) {
    throw invalid('x-ms-enable-snapshot-virtual-directory-access', String(virtual))
  }
}

type Checked = 'enabledProtocol' | 'accessTier' | 'quotaGib'

function invalid(name: string, value: string): StorageError {
  return new StorageError('InvalidHeaderValue', { HeaderName: name, HeaderValue: value })
}

export function isPremium({ accessTier }: Pick<Share, 'accessTier'>): boolean {
  return accessTier === 'Premium'
}

/** A premium share can be made smaller a day after it was last made larger; a standard one at any time. */
export function nextQuotaDowngradeMs(
  share: Pick<Share, 'accessTier' | 'quotaRaisedMs' | 'accessTierChangedMs'>,
): number {
  if (!isPremium(share)) return 0
  const { quotaRaisedMs, accessTierChangedMs = 0 } = share
  return quotaRaisedMs === undefined ? accessTierChangedMs : quotaRaisedMs + DAY_MS
}

type Performance = {
  readonly iops: number
  readonly ingressMibps: number
  readonly egressMibps: number
  readonly bandwidthMibps: number
  readonly burstIops: number
  readonly burstCredits: number
}

const IOPS_MAX = 102_400
const MIBPS_MAX = 10_340
const HOUR_SECONDS = 3_600

/** What the service provisions for a premium share of this size; nothing here is slowed down to it. */
export function performanceOf({ quotaGib }: Pick<Share, 'quotaGib'>): Performance {
  const iops = Math.min(3_000 + quotaGib, IOPS_MAX)
  const burstIops = Math.min(Math.max(10_000, 3 * quotaGib), IOPS_MAX)
  const ingressMibps = 40 + Math.ceil((quotaGib * 4) / 100)
  const egressMibps = 60 + Math.ceil((quotaGib * 6) / 100)
  return {
    iops,
    ingressMibps,
    egressMibps,
    bandwidthMibps: Math.min(ingressMibps + egressMibps, MIBPS_MAX),
    burstIops,
    burstCredits: (burstIops - iops) * HOUR_SECONDS,
  }
}
