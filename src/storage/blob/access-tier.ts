// Access tiers as records and requests name them; the rules are tier.ts.

export type OnlineTier = 'Hot' | 'Cool' | 'Cold' | 'Smart'
export type BlockTier = OnlineTier | 'Archive'
// prettier-ignore
export type PageTier = 'P4' | 'P6' | 'P10' | 'P15' | 'P20' | 'P30' | 'P40' | 'P50' | 'P60' | 'P70' | 'P80'
export type AccessTier = BlockTier | PageTier

export type RehydratePriority = 'Standard' | 'High'

/** The way out of the archive. */
export type Rehydration = {
  readonly to: OnlineTier
  readonly priority: RehydratePriority
  readonly doneMs: number
}

/** The tier that somebody set, as the record has it. */
export type StoredTier = {
  readonly name: AccessTier
  readonly setMs: number
  readonly rehydration?: Rehydration
  /** Of the smart tier: the last access since it was set, to the day. */
  readonly accessedMs?: number
}
