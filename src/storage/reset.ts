// Empties a store, an account, a service or a single container, queue, table or share, in a few bounded transactions.
// Others see each container either as it was or not at all. Encryption scopes stay: like accounts, they are given by
// whoever runs the server.
import { resetContainers } from './blob/container/reset.ts'
import type { FileKv } from './file/open/open.ts'
import { resetShares } from './file/share/reset.ts'
import { resetQueues } from './queue/reset.ts'
import { resetTables } from './table/reset.ts'
import { heldNamesRange, type HeldKind } from './shared/held-name.ts'
import { removeRange } from './shared/remove-range.ts'
import { resetServiceProperties } from './shared/service/service.ts'
import type { StorageService } from './shared/service/service-properties.ts'

export type ResetScope = {
  readonly services: readonly StorageService[]
  /** undefined: of all accounts. */
  readonly account?: string | undefined
  /** Of one container, queue, table or share of the account; its service keeps its properties. */
  readonly name?: string | undefined
}

type Reset = (kv: FileKv, ...names: readonly string[]) => Promise<number>

const RESETS: Readonly<Record<StorageService, readonly [HeldKind, Reset]>> = {
  blob: ['container', resetContainers],
  queue: ['queue', resetQueues],
  table: ['table', resetTables],
  file: ['share', resetShares],
}

/** Returns how many containers, queues, tables and shares it removed. `kv`: that of the File service. */
export async function resetStore(kv: FileKv, scope: ResetScope): Promise<number> {
  const { services, account, name } = scope
  const names = [account, name].filter((each) => each !== undefined)
  let count = 0
  for (const service of services) {
    const [kind, reset] = RESETS[service]
    count += await reset(kv, ...names)
    await removeRange(kv, heldNamesRange(kind, account, name))
  }
  if (name === undefined) await kv.write((tx) => resetServiceProperties(tx, services, account))
  return count
}
