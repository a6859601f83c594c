// Access tiers. The tier that was set stands in the record; leaving the archive takes time on the clock,
// so what a blob's tier is now is computed from the record and the time, and no job has to finish it.
import { invalidHeader, StorageError } from '../error.ts'
import type { Blob, BlobType } from './blob.ts'

export type BlockTier = 'Hot' | 'Cool' | 'Cold' | 'Archive'
// prettier-ignore
export type PageTier = 'P4' | 'P6' | 'P10' | 'P15' | 'P20' | 'P30' | 'P40' | 'P50' | 'P60' | 'P70' | 'P80'
export type AccessTier = BlockTier | PageTier

export type RehydratePriority = 'Standard' | 'High'

/** The way out of the archive. */
export type Rehydration = {
  readonly to: 'Hot' | 'Cool' | 'Cold'
  readonly priority: RehydratePriority
  readonly doneMs: number
}

/** What a client sees of a blob's tier. */
export type TierState = {
  readonly name: AccessTier
  /** The account's default, because none was set. */
  readonly isInferred: boolean
  readonly setMs?: number
  readonly rehydration?: Rehydration
}

const DEFAULT_TIER: AccessTier = 'Hot'

export function tierOf(blob: Blob, nowMs: number): TierState {
  const { tier } = blob
  if (tier === undefined) return { name: DEFAULT_TIER, isInferred: true }
  const { name, setMs, rehydration } = tier
  if (rehydration === undefined) return { name, setMs, isInferred: false }
  if (rehydration.doneMs > nowMs) return { name, setMs, rehydration, isInferred: false }
  return { name: rehydration.to, setMs: rehydration.doneMs, isInferred: false }
}

/** Bytes in the archive can't be read, nor changed. */
export function checkOnline(blob: Blob, nowMs: number): void {
  if (blob.tier === undefined) return
  const { name, rehydration } = tierOf(blob, nowMs)
  if (name !== 'Archive') return
  throw new StorageError(rehydration === undefined ? 'BlobArchived' : 'BlobBeingRehydrated')
}

const BLOCK_TIERS: readonly string[] = ['Hot', 'Cool', 'Cold', 'Archive']
// prettier-ignore
const PAGE_TIERS: readonly string[] = ['P4', 'P6', 'P10', 'P15', 'P20', 'P30', 'P40', 'P50', 'P60', 'P70', 'P80']

/** A tier by its name, in any case. */
export function decodeAccessTier(text: string): AccessTier {
  const lower = text.toLowerCase()
  const found = [...BLOCK_TIERS, ...PAGE_TIERS].find((tier) => tier.toLowerCase() === lower)
  if (found === undefined) throw invalidHeader('x-ms-access-tier', text)
  return found as AccessTier
}

export function isPageTier(tier: AccessTier): tier is PageTier {
  return PAGE_TIERS.includes(tier)
}

/** Block blobs have the tiers of standard storage, page blobs those of disks, append blobs none. */
export function checkTierOfType(tier: AccessTier, type: BlobType): void {
  if (type === 'AppendBlob') throw new StorageError('InvalidBlobType')
  if (isPageTier(tier) !== (type === 'PageBlob')) throw new StorageError('InvalidBlobTier')
}
