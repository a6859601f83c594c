// Access tiers. The record stores the tier that was set. Rehydration takes time, so the current tier is
// computed from the record and the clock, and no job has to complete it.
import { invalidHeader, StorageError } from '../shared/error.ts'
import type {
  AccessTier,
  BlockTier,
  OnlineTier,
  PageTier,
  RehydratePriority,
  Rehydration,
  StoredTier,
} from './access-tier.ts'
import type { Blob, BlobType } from './record.ts'
import { capacityTier, isAccessNoted, isMoved, type CapacityTier } from './smart-tier.ts'

/** The tier of a blob, as clients see it. */
export type TierState = {
  readonly name: AccessTier
  /** None was set, so this is the account's default. */
  readonly isInferred: boolean
  readonly setMs?: number
  readonly rehydration?: Rehydration
  /** Smart tier only: the tier that the blob is in, and the last access, which determines it. */
  readonly smart?: { readonly capacity: CapacityTier; readonly accessedMs: number }
}

const DEFAULT_TIER: AccessTier = 'Hot'

export function tierOf(blob: Blob, nowMs: number): TierState {
  const { tier } = blob
  if (tier === undefined) return { name: DEFAULT_TIER, isInferred: true }
  const { name, setMs, rehydration, accessedMs = setMs } = tier
  if (rehydration === undefined) return tierSince(blob, name, setMs, accessedMs, nowMs)
  const { to, doneMs } = rehydration
  if (doneMs > nowMs) return { name, setMs, rehydration, isInferred: false }
  return tierSince(blob, to, doneMs, doneMs, nowMs)
}

function tierSince(
  { lengthBytes }: Blob,
  name: AccessTier,
  setMs: number,
  accessedMs: number,
  nowMs: number,
): TierState {
  if (name !== 'Smart') return { name, setMs, isInferred: false }
  const capacity = capacityTier(lengthBytes, accessedMs, nowMs)
  return { name, setMs, isInferred: false, smart: { capacity, accessedMs } }
}

/** The tier of a blob after it was read; undefined if nothing changes. */
export function tierAfterAccess(blob: Blob, nowMs: number): StoredTier | undefined {
  if (blob.tier === undefined || !isMoved(blob.lengthBytes)) return undefined
  const { name, setMs = nowMs, smart } = tierOf(blob, nowMs)
  if (smart === undefined || isAccessNoted(smart.accessedMs, nowMs)) return undefined
  return { name, setMs, accessedMs: nowMs }
}

/** The tier of a blob after a write that names none: it is kept, and counts as accessed. */
export function tierAfterReplace(blob: Blob, nowMs: number): StoredTier | undefined {
  if (blob.tier === undefined) return undefined
  const { name, setMs = nowMs, smart } = tierOf(blob, nowMs)
  return { name, setMs, ...(smart !== undefined && { accessedMs: nowMs }) }
}

/** Archived bytes can be neither read nor changed. */
export function checkOnline(blob: Blob, nowMs: number): void {
  if (blob.tier === undefined) return
  const { name, rehydration } = tierOf(blob, nowMs)
  if (name !== 'Archive') return
  throw new StorageError(rehydration === undefined ? 'BlobArchived' : 'BlobBeingRehydrated')
}

const ONLINE_TIERS: readonly string[] = ['Hot', 'Cool', 'Cold', 'Smart']
const BLOCK_TIERS: readonly string[] = [...ONLINE_TIERS, 'Archive']
// prettier-ignore
const PAGE_TIERS: readonly string[] = ['P4', 'P6', 'P10', 'P15', 'P20', 'P30', 'P40', 'P50', 'P60', 'P70', 'P80']

export function decodeAccessTier(text: string): AccessTier {
  const lower = text.toLowerCase()
  const found = [...BLOCK_TIERS, ...PAGE_TIERS].find((tier) => tier.toLowerCase() === lower)
  if (found === undefined) throw invalidHeader('x-ms-access-tier', text)
  return found as AccessTier
}

export function isOnlineTier(tier: AccessTier | undefined): tier is OnlineTier {
  return tier !== undefined && ONLINE_TIERS.includes(tier)
}

function isPageTier(tier: AccessTier): tier is PageTier {
  return PAGE_TIERS.includes(tier)
}

/** Block blobs have the tiers of standard storage, page blobs those of premium disks, append blobs none. */
export function checkTierOfType(tier: AccessTier, type: BlobType): void {
  if (type === 'AppendBlob') throw new StorageError('InvalidBlobType')
  if (isPageTier(tier) !== (type === 'PageBlob')) throw new StorageError('InvalidBlobTier')
}

/** The request of a Set Blob Tier. */
export type SetTier = {
  readonly name: AccessTier
  /** Only for rehydration. */
  readonly priority?: RehydratePriority
}

export type TierChange = {
  readonly tier: StoredTier
  /** The blob is being rehydrated: 202 instead of 200. */
  readonly isPending: boolean
}

/** The tier that a blob has after Set Blob Tier. */
export function changedTier(blob: Blob, { name, priority }: SetTier, nowMs: number): TierChange {
  checkTierOfType(name, blob.type)
  if (isPageTier(name)) return changedPageTier(blob, name, nowMs)
  return changedBlockTier(blob, name, priority, nowMs)
}

function changedBlockTier(
  blob: Blob,
  name: BlockTier,
  priority: RehydratePriority | undefined,
  nowMs: number,
): TierChange {
  const current = tierOf(blob, nowMs)
  if (current.rehydration !== undefined) {
    const rehydration = withPriority(current.rehydration, name, priority, nowMs)
    return {
      tier: { name: 'Archive', setMs: current.setMs ?? nowMs, rehydration },
      isPending: true,
    }
  }
  if (current.name !== 'Archive' || name === 'Archive') {
    return { tier: onlineTier(current, name, nowMs), isPending: false }
  }
  // Snapshots and versions can only be rehydrated by copying them (AzureStorageExplorer#3439, "Rehydrate blobs").
  if ('kind' in blob) throw new StorageError('BlobOperationNotSupported')
  const rehydration = rehydrationTo(name, priority ?? 'Standard', nowMs)
  return {
    tier: { name: 'Archive', setMs: current.setMs ?? nowMs, rehydration },
    isPending: true,
  }
}

/** Setting the same tier again keeps its time and, for the smart tier, the last access. */
function onlineTier(current: TierState, name: BlockTier, nowMs: number): StoredTier {
  if (current.name !== name) return { name, setMs: nowMs }
  const { setMs = nowMs, smart } = current
  return { name, setMs, ...(smart !== undefined && { accessedMs: smart.accessedMs }) }
}

const HOUR_MS = 60 * 60 * 1_000

/**
 * The maximum that the documentation gives ("Blob rehydration from the archive tier"). A shorter time would
 * hide bugs in clients that don't wait long enough; tests that don't want to wait can move the clock.
 */
const REHYDRATION_MS: Readonly<Record<RehydratePriority, number>> = {
  Standard: 15 * HOUR_MS,
  High: HOUR_MS,
}

/** A rehydration that starts now. */
export function rehydrationTo(
  to: Rehydration['to'],
  priority: RehydratePriority,
  nowMs: number,
): Rehydration {
  return { to, priority, doneMs: nowMs + REHYDRATION_MS[priority] }
}

/** During rehydration the target is fixed, and the priority can only be raised. */
function withPriority(
  pending: Rehydration,
  name: BlockTier,
  priority: RehydratePriority | undefined,
  nowMs: number,
): Rehydration {
  if (name !== pending.to) throw new StorageError('BlobBeingRehydrated')
  if (priority !== 'High' || pending.priority === 'High') return pending
  const faster = rehydrationTo(pending.to, 'High', nowMs)
  return { ...faster, doneMs: Math.min(faster.doneMs, pending.doneMs) }
}

const GIB = 2 ** 30
/** The disk size of each tier ("High-performance Premium Storage", page blobs). */
// prettier-ignore
const PAGE_TIER_GIB: Readonly<Record<PageTier, number>> = {
  P4: 32, P6: 64, P10: 128, P15: 256, P20: 512, P30: 1_024, P40: 2_048, P50: 4_096, P60: 8_192, P70: 16_384, P80: 32_768,
}

/** A page blob must fit into its tier, and its tier can't be lowered. */
function changedPageTier(blob: Blob, name: PageTier, nowMs: number): TierChange {
  const current = blob.tier
  if (PAGE_TIER_GIB[name] * GIB < blob.lengthBytes) {
    throw new StorageError('BlobTierInadequateForContentLength')
  }
  if (current === undefined) return { tier: { name, setMs: nowMs }, isPending: false }
  if (PAGE_TIERS.indexOf(name) < PAGE_TIERS.indexOf(current.name)) {
    throw new StorageError('CannotChangeToLowerTier')
  }
  const setMs = current.name === name ? current.setMs : nowMs
  return { tier: { name, setMs }, isPending: false }
}
