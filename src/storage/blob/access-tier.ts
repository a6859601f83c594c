// Access tiers, as requests name them and records store them. The rules are in tier.ts.

export type OnlineTier = 'Hot' | 'Cool' | 'Cold' | 'Smart'
export type BlockTier = OnlineTier | 'Archive'
// prettier-ignore
export type PageTier = 'P4' | 'P6' | 'P10' | 'P15' | 'P20' | 'P30' | 'P40' | 'P50' | 'P60' | 'P70' | 'P80'
export type AccessTier = BlockTier | PageTier

export type RehydratePriority = 'Standard' | 'High'

/** A move from the archive to an online tier. */
export type Rehydration = {
  readonly to: OnlineTier
  readonly priority: RehydratePriority
  readonly doneMs: number
}

/** A tier that was set explicitly, as the record stores it. */
export type StoredTier = {
  readonly name: AccessTier
  readonly setMs: number
  readonly rehydration?: Rehydration
  /** Smart tier only: the last access since the tier was set, to the day. */
  readonly accessedMs?: number
}
