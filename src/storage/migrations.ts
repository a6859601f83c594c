// What has changed in the format of stores since version 1 (node/format.ts). A migration stays as it is for ever.
import type { Migration } from '../node/format.ts'
import { renewMessageIds } from './queue/renew-ids.ts'

/** From format 2 to 3: a record of a map may have its bytes behind it, which an older Lazuli would not find. */
const allowInlineMaps: Migration = async () => {}

export const MIGRATIONS: readonly Migration[] = [renewMessageIds, allowInlineMaps]
