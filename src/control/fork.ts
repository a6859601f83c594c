// The store of a fork: the records of a saved state in memory, and the extents that it reads from the store where the state is.
import type { SweptExtentStore } from '../extent/extent.ts'
import { SharedExtents } from '../extent/shared-extents.ts'
import type { EventKv, Kv } from '../kv/kv.ts'
import { openMemoryKv } from '../kv/memory-kv.ts'
import type { Moment } from '../node/moment.ts'
import type { FileEvent } from '../storage/file/open/open.ts'
import { forkState } from '../storage/saved/fork-state.ts'
import type { SavedState } from '../storage/saved/saved-state.ts'

export type ForkedStore = { readonly kv: EventKv<FileEvent>; readonly shared: SharedExtents }

export type ForkOrigin = {
  readonly kvBehindGate: Kv
  readonly extents: SweptExtentStore
  moment(): Moment
}

/** Whoever gets it closes both parts. No sweep may run meanwhile. */
export async function forkStore(origin: ForkOrigin, { id }: SavedState): Promise<ForkedStore> {
  const { kvBehindGate: from, extents, moment } = origin
  const kv = openMemoryKv<FileEvent>()
  const shared = new SharedExtents(extents)
  try {
    await forkState({ from, stateId: id, into: kv, shared, stamp: moment().stamp })
  } catch (error) {
    shared.close()
    await kv.close()
    throw error
  }
  return { kv, shared }
}
