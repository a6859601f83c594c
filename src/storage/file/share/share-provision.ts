// Provisioning of a share: quota, access tier and protocols. Here, one account may have both standard shares, billed by
// use, and premium shares, whose performance depends on their size ("Understanding Azure Files billing",
// provisioned v1).
import { StorageError } from '../../shared/error.ts'
import type { ShareAccessTier, EnabledProtocol, RootSquash, Share } from './share.ts'

export const QUOTA_GIB_MAX = 102_400
const QUOTA_GIB_DEFAULT = 5_120
const PREMIUM_QUOTA_GIB_MIN = 100
const DAY_MS = 24 * 60 * 60 * 1_000

/** The requested values. Those left out keep their current value, or get the default. */
export type ShareProvision = {
  readonly quotaGib?: number
  readonly accessTier?: ShareAccessTier
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

/** Create Share. NFS requires a premium share; root squash and the `.snapshots` directory require NFS. */
export function provisionShare(request: ShareProvision, nowMs: number): Provisioned {
  const enabledProtocol = request.enabledProtocol ?? 'SMB'
  const isNfs = enabledProtocol === 'NFS'
  const accessTier = request.accessTier ?? (isNfs ? 'Premium' : 'TransactionOptimized')
  const quotaGib = request.quotaGib ?? QUOTA_GIB_DEFAULT
  checkProvision({ enabledProtocol, accessTier, quotaGib }, request)
  return {
    quotaGib,
    accessTier,
    accessTierChangedMs: nowMs,
    enabledProtocol,
    ...(isNfs && {
      rootSquash: request.rootSquash ?? 'NoRootSquash',
      snapshotVirtualDirectoryAccess: request.snapshotVirtualDirectoryAccess ?? true,
    }),
  }
}

/** Set Share Properties. A share can't move between premium and the other tiers. */
export function reprovisionShare(
  share: Share,
  request: ShareProvision,
  nowMs: number,
): Provisioned {
  const { enabledProtocol } = share
  const accessTier = request.accessTier ?? share.accessTier
  const quotaGib = request.quotaGib ?? share.quotaGib
  if ((accessTier === 'Premium') !== isPremium(share)) {
    throw new StorageError('FileShareAccessTierTransitionNotAllowed')
  }
  checkProvision({ enabledProtocol, accessTier, quotaGib }, request)
  if (quotaGib < share.quotaGib && nowMs < nextQuotaDowngradeMs(share)) {
    throw new StorageError('ContainerQuotaDowngradeNotAllowed')
  }
  const { rootSquash, snapshotVirtualDirectoryAccess } = { ...share, ...request }
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
  request: ShareProvision,
): void {
  const isPremiumTier = accessTier === 'Premium'
  if (isPremiumTier && quotaGib < PREMIUM_QUOTA_GIB_MIN) {
    throw invalid('x-ms-share-quota', String(quotaGib))
  }
  if (enabledProtocol === 'NFS') {
    if (!isPremiumTier) throw invalid('x-ms-access-tier', accessTier)
    return
  }
  if (request.rootSquash !== undefined) throw invalid('x-ms-root-squash', request.rootSquash)
  const virtual = request.snapshotVirtualDirectoryAccess
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

/** The quota of a premium share can be lowered a day after it was last raised; a standard share's at any time. */
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

/** The performance that the service provisions for a premium share of this size. Lazuli does not throttle to it. */
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
