// What has changed in the format of stores since version 1 (kv/format.ts). A migration stays as it is for ever.
import type { Migration } from '../kv/format.ts'
import { renewMessageIds } from './queue/renew-ids.ts'

export const MIGRATIONS: readonly Migration[] = [renewMessageIds]
