// Migrations of the store's format since version 1 (node/format.ts). A released migration never changes.
import type { Migration } from '../node/format.ts'
import { indexLeases } from './index-leases.ts'
import { renewMessageIds } from './queue/renew-ids.ts'

/** Format 2 to 3: map records may contain their bytes, which an older Lazuli would not find. */
const allowInlineMaps: Migration = async () => {}

/** Format 3 to 4: uncommitted blocks are under the id of their staging, where an older Lazuli would not find them. */
const allowStagings: Migration = async () => {}

export const MIGRATIONS: readonly Migration[] = [
  renewMessageIds,
  allowInlineMaps,
  allowStagings,
  indexLeases,
]
